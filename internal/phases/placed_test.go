package phases_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/phasestest"
)

// What a machine makes of a place is found out on it, right before anything is written there.
func TestAPlaceIsLookedAtOnTheMachine(t *testing.T) {
	t.Parallel()
	listed := func(l *phasestest.Lab, dst string) {
		l.Cluster.Packages[bundle.Worker] = []config.Package{{Name: "kube-flannel.yml", Type: "file", Dst: dst, Addition: true}}
	}
	for name, c := range map[string]struct {
		spoil      func(t *testing.T, l *phasestest.Lab, w *phasestest.Node)
		code, what string
	}{
		"a link out of the list": {func(t *testing.T, _ *phasestest.Lab, w *phasestest.Node) {
			must(t, os.MkdirAll(w.Path("/etc/sudoers.d"), 0o755), os.MkdirAll(w.Path("/opt/cni"), 0o755), os.Symlink(w.Path("/etc/sudoers.d"), w.Path("/opt/cni/bin")))
		}, "node.outside-whitelist", "/etc/sudoers.d"},
		"a link within the list": {func(t *testing.T, _ *phasestest.Lab, w *phasestest.Node) {
			must(t, os.RemoveAll(w.Path("/usr/local/bin")), os.Symlink("../bin", w.Path("/usr/local/bin")))
		}, "node.outside-whitelist", "/usr/bin"},
		"a directory that others may change": {func(t *testing.T, l *phasestest.Lab, w *phasestest.Node) {
			listed(l, "/root/.eggo/site")
			must(t, os.MkdirAll(w.Path("/root/.eggo"), 0o755), os.Chmod(w.Path("/root/.eggo"), 0o777))
		}, "node.place-open", "/root/.eggo"},
		"a file in its way": {func(t *testing.T, l *phasestest.Lab, w *phasestest.Node) {
			listed(l, "/root/.eggo/site")
			must(t, os.MkdirAll(w.Path("/root"), 0o755), os.WriteFile(w.Path("/root/.eggo"), nil, 0o600))
		}, "node.place-open", "/root/.eggo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			c.spoil(t, l, l.Nodes["w1"])
			_, sum, err := run(t, l, phases.Deploy)
			if err == nil {
				t.Fatal("it was taken")
			}
			record, _ := os.ReadFile(l.Nodes["w1"].Path("/var/lib/eggo-node/record"))
			for line := range strings.Lines(string(record)) {
				if strings.HasPrefix(line, "emptied") && strings.Contains(line, "/opt/cni/bin\t") {
					t.Errorf("a cleanup would empty what the link leads to: %s", line)
				}
			}
			for _, f := range sum.Failed {
				if f.Fault != nil && f.Fault.Code == c.code && f.Fault.Args["is"] == c.what && f.Fault.Node == "w1" {
					return
				}
			}
			t.Errorf("%v %+v", err, sum.Failed)
		})
	}
}

// A unit may come from a bundle, when deploy.yaml names it, but not in the place of another one.
func TestAUnitHidesNoOther(t *testing.T) {
	t.Parallel()
	sim, err := phasestest.NewNode(t.TempDir(), "n1", "192.0.2.1")
	units := sim.Path("/usr/local/lib/systemd/system")
	must(t, err, os.MkdirAll(units, 0o755), os.WriteFile(filepath.Join(units, "sshd.service"), nil, 0o600), os.Symlink("/dev/null", sim.Path("/run/systemd/system/masked.service")))
	nd := node.New(sim, func(event.Event) error { return nil })
	for file, want := range map[string]string{
		"/etc/systemd/system/site.service":    "",
		"/usr/lib/systemd/system/site.timer":  "",
		"/etc/systemd/system/own.service":     "", // in its own place: whose it is the record says, when it is written
		"/etc/systemd/system/sshd.service":    "node.place-unit",
		"/etc/systemd/system/masked.service":  "node.place-unit",
		"/usr/lib/systemd/system/own.service": "node.place-unit",
		"/etc/systemd/system/etcd.service":    "place.ours",
	} {
		got := ""
		if err := phases.CheckTarget(t.Context(), nd, file); err != nil {
			got = event.AsFault(err).Code
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
