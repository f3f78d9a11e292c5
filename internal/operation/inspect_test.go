package operation

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func treeOf(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Inspections change nothing and lock nothing, here and on the nodes; after a deploy a plan has nothing to do.
func TestInspections(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	q := deployOf(f)
	before := treeOf(t, f.lab.Dir)
	pre, err := Preflight(t.Context(), q.Common, d)
	if err != nil || len(pre.Machines) != 1 || !pre.Machines[0].Reached || pre.Deploy.File != q.Source.File {
		t.Errorf("%+v %v", pre, err)
	}
	plan, err := Plan(t.Context(), q, d)
	if err != nil || plan.Steps == 0 || len(plan.Nodes) == 0 {
		t.Errorf("%+v %v", plan, err)
	}
	if after := treeOf(t, f.lab.Dir); !slices.Equal(after, before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	if len(f.locked) > 0 {
		t.Error(f.locked)
	}
	h, err := Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	own := request.Common{Source: request.Source{Cluster: "sim"}}
	plan, err = Plan(t.Context(), request.Deploy{Common: own}, d)
	if err != nil || plan.Steps != 0 || len(plan.Nodes) != 0 {
		t.Errorf("%+v %v", plan, err)
	}
	inv, err := Inventory(t.Context(), own, true, d)
	if err != nil || len(inv) != 1 || inv[0].Err != nil || inv[0].Files == 0 {
		t.Errorf("%+v %v", inv, err)
	}
	rows, err := Certificates(t.Context(), own, false, d)
	if err != nil || len(rows) == 0 || filepath.Dir(filepath.Dir(rows[0].At)) == "" {
		t.Errorf("%+v %v", rows, err)
	}
	offline, err := Certificates(t.Context(), own, true, d)
	if err != nil || len(offline) >= len(rows) {
		t.Errorf("%d of %d %v", len(offline), len(rows), err)
	}
}

// A plan refuses what the run would refuse.
func TestAPlanOfWhatIsRefused(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	hook := filepath.Join(t.TempDir(), "backup.sh")
	if err := os.WriteFile(hook, []byte("true\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	common := deployOf(f).Common
	limited := common
	limited.Limit = []string{"nobody"}
	hooked := common
	hooked.Limit, hooked.Hooks.Before = []string{"w1"}, []string{hook} // a hook of control planes
	for want, q := range map[string]request.Request{
		"usage.limit":               request.Deploy{Common: limited},
		"hook.nowhere":              request.Deploy{Common: hooked},
		"delete.last-control-plane": request.Delete{Common: common, Names: []string{"m1"}, Drain: request.DrainTimeout},
		"cleanup.unknown":           request.Cleanup{Common: common, Nodes: []string{"w9"}},
	} {
		_, err := Plan(t.Context(), q, d)
		if got := event.AsFault(err); got == nil || got.Code != want && got.Code != "delete.last-etcd" {
			t.Errorf("%s: %v", want, err)
		}
	}
}
