package operation

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Without a control host, nothing that a request names is executed, read or written there, and no run begins.
func TestStart_NoControlHost(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	d.ControlHost = false
	base := deployOf(f).Common
	hooked := base
	hooked.Hooks.After = []string{"/bin/true"}
	for want, q := range map[string]request.Request{
		"hooks":     request.Deploy{Common: hooked},
		"probe":     request.Upgrade{Common: base, Bundles: []string{"/b"}, Probe: "touch /tmp/x"},
		"out":       request.Snapshot{Common: base, Out: "/tmp/x"},
		"dir":       request.Backup{Common: base, Dir: "/tmp", Recipients: []string{"age1"}},
		"from-eggo": request.Import{Common: base, EggoDir: "/etc"},
	} {
		_, err := Start(t.Context(), q, d)
		if got := event.AsFault(err); got == nil || got.Code != "usage.no-control-host" || got.Args["what"] != want ||
			got.Class != event.ClassUsage {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := Plan(t.Context(), q, d); code(err) != "usage.no-control-host" {
			t.Errorf("plan, %s: %v", want, err)
		}
	}
	c, err := journal.At(f.root, "sim")
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := c.Runs(); len(runs) > 0 || err != nil {
		t.Error(runs, err)
	}
	if _, err := load(t.Context(), request.Deploy{Common: base}, d); err != nil {
		t.Error("a request without them: ", err)
	}
}
