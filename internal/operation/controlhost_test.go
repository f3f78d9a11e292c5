package operation

import (
	"os"
	"path/filepath"
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

// Where snapshots cannot be kept, what needs one is refused before a run begins, and a removal reports that it saves
// none.
func TestStart_NoSnapshots(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	d.NoSnapshots, d.NoBackups = true, true
	if refused, err := deployed(t, d, deployOf(f)); err != nil {
		t.Fatal(refused, err)
	}
	c, err := journal.At(f.root, "sim")
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.Runs()
	if err != nil {
		t.Fatal(err)
	}
	own := request.OfCluster("sim")
	for _, tc := range []struct {
		q    request.Request
		code string
	}{
		{request.NewUpgrade(own), "state.no-snapshots"}, {request.Back{Common: own}, "state.no-snapshots"},
		{request.Snapshot{Common: own}, "state.no-snapshots"},
		{request.Restore{Common: own, Snapshot: "/snapshots/a.db"}, "state.no-snapshots"},
		{request.Backup{Common: own, Recipients: []string{"age1"}}, "state.no-backups"},
	} {
		if _, err := Start(t.Context(), tc.q, d); code(err) != tc.code ||
			event.AsFault(err).Class != event.ClassPreflight {
			t.Errorf("%s: %v", tc.q.Verb(), err)
		}
	}
	if after, err := c.Runs(); err != nil || len(after) != len(before) {
		t.Error(after, err)
	}
	h, err := Start(t.Context(), request.Cleanup{Common: own}, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := false
	for r := range journal.Read(h.Run().Dir) {
		if n, is := r.Event.(event.Notice); is {
			told = told || n.Text.Key == "notice.no-snapshots"
		}
	}
	if _, err := os.Stat(filepath.Join(f.root, "sim", "snapshots")); !os.IsNotExist(err) || !told {
		t.Error("a snapshot was saved, or it was not reported:", err, told)
	}
}
