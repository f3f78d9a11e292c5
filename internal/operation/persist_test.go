package operation

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// secretsOn are the names of certificates, keys and kubeconfigs that the nodes of a simulation have.
func secretsOn(t *testing.T, f *fakes) []string {
	t.Helper()
	var out []string
	for _, n := range f.lab.Nodes {
		err := filepath.WalkDir(n.Path("/etc"), func(path string, _ fs.DirEntry, err error) error {
			switch filepath.Ext(path) {
			case ".crt", ".key", ".conf":
				if strings.Contains(path, "kubernetes") || strings.Contains(path, "etcd") {
					out = append(out, filepath.Base(path))
				}
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return out
}

// What a run must not lose is safe before a node depends on it, and what cannot be made safe reaches no node.
func TestPersistBeforeANode(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	on := map[phases.Kept][]string{} // what the nodes had when a part was persisted first
	f.saw = func(what phases.Kept) {
		if _, again := on[what]; !again {
			on[what] = secretsOn(t, f)
		}
	}
	for _, what := range []phases.Kept{phases.KeptConfig, phases.KeptPKI, phases.KeptAdminConf, ""} {
		f.fail = what
		h, err := Start(t.Context(), deployOf(f), d)
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Wait(t.Context())
		have := secretsOn(t, f)
		if what == "" {
			if err != nil || res.Outcome != event.Changed {
				t.Errorf("%+v %v", res, err)
			}
			continue
		}
		if err == nil || res.Outcome != event.Failed {
			t.Errorf("%s cannot be persisted, and the run ends with %+v %v", what, res, err)
		}
		if slices.Contains(have, "admin.conf") || what != phases.KeptAdminConf && len(have) > 0 {
			t.Errorf("%s cannot be persisted, and nodes have %q", what, have)
		}
	}
	for _, what := range []phases.Kept{phases.KeptConfig, phases.KeptPKI} {
		if have, ok := on[what]; !ok || len(have) > 0 {
			t.Errorf("%s: persisted %v, when nodes had %q", what, ok, have)
		}
	}
	if have, ok := on[phases.KeptAdminConf]; !ok || slices.Contains(have, "admin.conf") || len(have) == 0 {
		t.Errorf("admin.conf: persisted %v, when nodes had %q", ok, have)
	}
}
