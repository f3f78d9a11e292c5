package event_test

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
)

// kept is what a bus has published.
type kept []event.Record

func (k *kept) Emit(r event.Record) error {
	*k = append(*k, r)
	return nil
}

// Between two records is the time that really passed, whatever becomes of the clock; that it was set is said once.
func TestTimeThatPassedIsWhatWasMeasured(t *testing.T) {
	for _, by := range []time.Duration{15 * time.Second, -15 * time.Second, time.Hour, -24 * time.Hour} {
		begin := time.Now()
		passed, set := time.Duration(0), time.Duration(0)
		var got kept
		bus := event.NewBus(func() time.Time { return eventtest.Stepped(begin.Add(passed), set) }, &got)
		publish := func() {
			t.Helper()
			if err := bus.Emit(event.PhaseStarted{Phase: "p"}); err != nil {
				t.Fatal(err)
			}
		}
		publish()
		passed, set = time.Second, by
		publish()
		passed = 3 * time.Second
		publish()
		var at []time.Time
		var said []string
		for i, r := range got {
			if r.Seq != uint64(i+1) {
				t.Fatal("a gap")
			}
			if n, ok := r.Event.(event.Notice); ok {
				said = append(said, n.Text.Key+" "+n.Text.Args["by"])
				continue
			}
			at = append(at, r.Time)
		}
		if len(at) != 3 || at[1].Sub(at[0]) != time.Second || at[2].Sub(at[1]) != 2*time.Second {
			t.Errorf("set by %s: %v", by, at)
		}
		if len(said) != 1 || said[0] != "run.clock-set "+by.String() {
			t.Errorf("set by %s: said %v", by, said)
		}
	}
}
