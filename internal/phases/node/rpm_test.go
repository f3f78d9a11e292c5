package node_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// rpms puts packages into the database of a machine, with their files; what the text of one says is as the simulated
// rpm has it.
func rpms(t *testing.T, sim *phasestest.Node, packages map[string]string) {
	t.Helper()
	for name, text := range packages {
		write(t, sim.State("rpm/"+name), text)
		for line := range strings.Lines(text) {
			if w := strings.Fields(line); len(w) == 3 && w[0] == "file" && !strings.HasPrefix(w[1], "d") {
				place(t, sim, w[2], "of "+name)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func there(sim *phasestest.Node, paths ...string) (out []string) {
	for _, p := range paths {
		if _, err := os.Lstat(sim.Path(p)); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Of what we installed, that which something else has come to need stays, with what it needs itself, and is told.
func TestRPMsThatSomethingElseNeedsAreKept(t *testing.T) {
	sim, n, _ := machine(t)
	rpms(t, sim, map[string]string{
		"containerd.x86_64": "needs runc.x86_64\nfile -rwxr-xr-x /usr/bin/containerd\n",
		"runc.x86_64":       "needs libseccomp.x86_64\nfile -rwxr-xr-x /usr/bin/runc\n",
		"libseccomp.x86_64": "file -rwxr-xr-x /usr/lib/libseccomp.so\n",
		"socat.x86_64":      "file -rwxr-xr-x /usr/bin/socat\n", "podman.x86_64": "needs runc.x86_64\n",
	})
	var recs []node.Record
	for _, p := range []string{"libseccomp", "runc", "containerd", "socat", "never-came"} {
		recs = append(recs, node.Record{Kind: "rpm", Key: p + ".x86_64", Was: "absent"})
	}
	for range 2 { // a cleanup may run again
		kept, err := n.Undo(t.Context(), event.M("change.undo-packages"), recs, true, "package", "rpm")
		if err != nil || !slices.Equal(kept, []string{"package libseccomp.x86_64", "package runc.x86_64"}) {
			t.Fatal(kept, err)
		}
	}
	if got := there(sim, "/usr/bin/containerd", "/usr/bin/runc", "/usr/lib/libseccomp.so",
		"/usr/bin/socat"); !slices.Equal(got, []string{"/usr/bin/runc", "/usr/lib/libseccomp.so"}) {
		t.Error("there is", got)
	}
}

// A transaction that was cut off is taken back: what got in, what has no owner yet, and nothing that was there before
// us or is not ours.
func TestARPMTransactionThatWasCutOffIsTakenBack(t *testing.T) {
	sim, n, _ := machine(t)
	place(t, sim, "/etc/runc/own.conf", "of the administrator")
	if _, err := n.Change(t.Context(), node.Change{Desc: event.M("change.claim"), Script: "cat >$D/node\n",
		Stdin: []byte("mine\n")}); err != nil {
		t.Fatal(err)
	}
	rpms(t, sim, map[string]string{"libseccomp.x86_64": "file -rwxr-xr-x /usr/lib/libseccomp.so\n",
		"bash.x86_64": "file -rwxr-xr-x /usr/bin/bash\n"})
	place(t, sim, "/var/lib/eggo-node/repo/libseccomp-1-1.x86_64.rpm",
		"name libseccomp.x86_64\nfile -rwxr-xr-x /usr/lib/libseccomp.so\n")
	place(t, sim, "/var/lib/eggo-node/repo/runc-1-1.x86_64.rpm",
		"name runc.x86_64\nfile -rwxr-xr-x /usr/bin/runc\nfile -rwxr-xr-x /usr/bin/bash\nfile drwxr-xr-x /opt/runc\n"+
			"file -rw-r--r-- /opt/runc/a\nfile drwxr-xr-x /etc/runc\n")
	place(t, sim, "/var/lib/eggo-node/dnf/begun", "libseccomp.x86_64\nrunc.x86_64\n")
	place(t, sim, "/usr/bin/runc;5f3a", "half of it")
	if err := os.Symlink("../sbin/not-yet", sim.Path("/opt/runc;5f3a")); err != nil {
		t.Fatal(err)
	}
	place(t, sim, "/opt/runc/a", "whole")
	place(t, sim, "/usr/bin/runc", "whole")
	write(t, sim.State("rpm-broken"), "")
	if _, err := n.Change(t.Context(), node.Change{Desc: event.M("change.mend-packages"),
		Script: node.RPM + "fixrpm\n"}); err != nil {
		t.Fatal(err)
	}
	got := there(sim, "/usr/lib/libseccomp.so", "/usr/bin/runc;5f3a", "/usr/bin/runc", "/opt/runc/a", "/opt/runc;5f3a",
		"/opt/runc", "/var/lib/eggo-node/dnf/begun", "/usr/bin/bash", "/etc/runc/own.conf")
	if want := []string{"/usr/bin/bash", "/etc/runc/own.conf"}; !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	if _, err := os.Stat(sim.State("rpm-broken")); err == nil {
		t.Error("a database that cannot be read was not fixed")
	}
	if _, err := os.Stat(sim.State("rpm/bash.x86_64")); err != nil {
		t.Error("somebody else's package is gone")
	}
}
