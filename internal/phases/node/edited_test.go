package node_test

import (
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// A file that is not what its service was started with is told, also one that is gone; what was noted for another start
// is not heeded, nor is what no service has.
func TestEditedFilesAreTold(t *testing.T) {
	sim, n, _ := machine(t)
	place(t, sim, "/usr/bin/x", "#!/bin/sh\n")
	if err := os.Chmod(sim.Path("/usr/bin/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	const unit, conf, odd = "/etc/systemd/system/x.service", "/etc/eggo/x.yaml", "/etc/eggo/it's odd.yaml"
	s := node.Service{Unit: "x.service", Files: []node.File{
		{Path: unit, Mode: 0o644, Data: []byte("[Service]\nExecStart=/usr/bin/x\n")},
		{Path: conf, Mode: 0o600, Data: []byte("a: 1\n")}, {Path: odd, Mode: 0o600, Data: []byte("b: 1\n")}}}
	told := func(want ...string) {
		t.Helper()
		out, err := n.Query(t.Context(), node.Edited)
		if got := strings.TrimSpace(out); err != nil || got != strings.Join(want, "\n") {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	told()
	if err := n.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	told()
	place(t, sim, conf, "a: 2\n")
	if err := os.Remove(sim.Path(odd)); err != nil {
		t.Fatal(err)
	}
	place(t, sim, "/etc/eggo/other.yaml", "c: 1\n")
	told("edited=x "+conf, "edited=x "+odd)
	stamp := read(t, sim, node.Dir+"/applied/x.service")
	place(t, sim, node.Dir+"/applied/x.service", "of another version\n")
	told()
	place(t, sim, node.Dir+"/applied/x.service", stamp)
	told("edited=x "+conf, "edited=x "+odd)
	if err := n.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	told()
}
