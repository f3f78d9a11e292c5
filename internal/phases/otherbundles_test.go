package phases_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// An upgrade is continued with bundles of its versions in other places, and remembers these. One of another version is
// refused before a node is touched.
func TestAnUpgradeContinuesWithBundlesElsewhere(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	o.Probe = "false" // it ends in the soak
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("the soak did not fail")
	}
	other, err := l.Release("v1.35.9")
	must(t, err)
	const moved = "/bundle-v1.35.4-moved.tar.gz"
	must(t, os.Rename(filepath.Join(l.Dir, "bundle-v1.35.4.tar.gz"), filepath.Join(l.Dir, moved)))
	for path, code := range map[string]string{other: "upgrade.bundle-version", moved: ""} {
		o.Begun, err = upgrade.ReadBegun(l.StateDir())
		must(t, err)
		o.Hops = []upgrade.Hop{{Version: "v1.35.4", Source: sourceOf(l, path)}}
		o.Begun.Hops = o.Hops
		b, _, _ := run(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) })
		is, err := upgrade.ReadBegun(l.StateDir())
		must(t, err)
		if kept := is.Hops[0].Source.Bundles["amd64"] == path; kept != (code == "") ||
			code != "" && !slices.Contains(b.findings(), code) {
			t.Errorf("%s: %v, found %v", path, is.Hops, b.findings())
		}
	}
	// As after a commit and a restore: what goes forward does not emulate again, and has no way back again.
	is, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	is.Hops[0].Source, is.Committed, is.Restored = sourceOf(l, moved), true, true
	must(t, is.Write(l.StateDir()))
	o.Reached = func(context.Context, upgrade.Hop) error {
		if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Restored || !is.OnlyForward() {
			t.Errorf("%+v %v", is, err)
		}
		return nil
	}
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
}
