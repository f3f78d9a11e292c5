package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The counter moves with each node that is logged in to and with each that is checked, and is gone at the end.
func TestNodesAreCounted(t *testing.T) {
	t.Parallel()
	said := new(bytes.Buffer)
	c := NewCounting(said, i18n.NewPrinter(i18n.English))
	emit := func(e event.Event) {
		if err := c.Emit(event.Record{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	var hosts []event.Host
	var steps []event.Step
	for i := range 60 {
		name := fmt.Sprintf("n%d", i)
		hosts = append(hosts, event.Host{Name: name})
		steps = append(steps, event.Step{ID: fmt.Sprint("check ", i), Phase: "preflight", Host: name})
	}
	emit(event.PlanMade{Hosts: hosts, Steps: append(steps, event.Step{ID: "verdict", Phase: "preflight"})})
	for _, h := range hosts {
		emit(event.HostState{Host: h.Name, State: "connected"})
	}
	emit(event.StepEnded{Step: "verdict"}) // of no node
	for _, s := range steps {
		emit(event.StepEnded{Step: s.ID})
	}
	for i := range 60 {
		for _, w := range []string{fmt.Sprintf("0 of 60 machines checked, %d connected", i+1),
			fmt.Sprintf("%d of 60 machines checked, 60 connected", i+1)} {
			if !strings.Contains(said.String(), w) {
				t.Errorf("%q was not said:\n%s", w, said)
			}
		}
	}
	if !strings.HasSuffix(said.String(), "\r\x1b[K") {
		t.Errorf("the counter stays: %q", said.String()[said.Len()-80:])
	}
}
