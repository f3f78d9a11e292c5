package operation

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Of the notices of a dry run a plan has those of preflight's last step.
func TestThePlanHasTheNoticesOfPreflight(t *testing.T) {
	t.Parallel()
	c := &collector{all: []event.Event{
		event.Notice{Step: "preflight.bundle-amd64", Text: event.M("trust.unsigned")},
		event.Notice{Step: "preflight.verdict", Text: event.M("notice.upgrade-gap", "node", "m1")},
	}}
	if got := c.beforehand(); len(got) != 1 || got[0].Key != "notice.upgrade-gap" {
		t.Errorf("%+v", got)
	}
}
