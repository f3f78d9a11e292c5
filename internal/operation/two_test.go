package operation

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Two operations run in one process, on two clusters; a second one on the same cluster is refused while the first runs.
func TestTwoClustersInOneProcess(t *testing.T) {
	begun, both := make(chan struct{}, 2), make(chan struct{})
	var handles []*Handle
	for range 2 {
		f, d := simulate(t, phasestest.Shape{Masters: 1})
		d.Sink = sinkFunc(func(r event.Record) error {
			if _, is := r.Event.(event.PlanMade); is { // neither goes on before both are at work
				begun <- struct{}{}
				<-both
			}
			return nil
		})
		h, err := Start(t.Context(), deployOf(f), d)
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, h)
		d.Sink = nil
		if _, err := Start(t.Context(), deployOf(f), d); event.AsFault(err) == nil ||
			event.AsFault(err).Class != event.ClassLocked {
			t.Error("a second run on the cluster:", err)
		}
	}
	for range handles {
		<-begun
	}
	close(both)
	for _, h := range handles {
		res, err := h.Wait(t.Context())
		if err != nil || res.Outcome != event.Changed || !res.Logged {
			t.Errorf("%+v %v", res, err)
		}
	}
	if handles[0].Run().Dir == handles[1].Run().Dir {
		t.Error("one directory for two runs:", handles[0].Run().Dir)
	}
}
