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

// debs makes packages that are installed, with the files and the script after their removal that a text says.
func debs(t *testing.T, sim *phasestest.Node, packages map[string]string) {
	t.Helper()
	for name, text := range packages {
		write(t, sim.State("dpkg/"+name+".status"), "installed\n")
		files := ""
		for line := range strings.Lines(text) {
			switch kind, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); kind {
			case "file":
				place(t, sim, what, "of "+name)
				files += "644 " + what + "\n"
			case "postrm":
				write(t, filepath.Join(sim.Path(".."), "packages", name+".postrm"), what+"\n")
			}
		}
		write(t, filepath.Join(sim.Path(".."), "packages", name+".files"), files)
	}
}

// change makes a change with the prelude of accounts.
func change(t *testing.T, n *node.Node, script string) {
	t.Helper()
	if _, err := n.Change(t.Context(), node.Change{Desc: event.M("change.packages"),
		Script: node.Accounts + script}); err != nil {
		t.Fatal(err)
	}
}

// expel takes packages away and says what was kept.
func expel(t *testing.T, n *node.Node, names ...string) []string {
	t.Helper()
	var recs []node.Record
	for _, p := range names {
		recs = append(recs, node.Record{Kind: "package", Key: p, Was: "absent"})
	}
	kept, err := n.Undo(t.Context(), event.M("change.undo-packages"), recs, false, "package", "rpm")
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// Users and groups that came with packages leave with them; those that were there, people, and what somebody has taken
// into use stay.
func TestAccountsThatCameWithPackagesLeaveWithThem(t *testing.T) {
	sim, n, _ := machine(t)
	was := map[string]string{"/etc/passwd": read(t, sim, "/etc/passwd"), "/etc/group": read(t, sim, "/etc/group")}
	change(t, n, "census docker.io\n")
	debs(t, sim, map[string]string{"docker.io": "file /usr/bin/dockerd\n"})
	add := func(path, line string) { write(t, sim.Path(path), read(t, sim, path)+line+"\n") }
	add("/etc/group", "docker:x:103:")
	add("/etc/group", "used:x:104:me")
	add("/etc/passwd", "_rpc:x:105:104::/:/bin/false")
	add("/etc/passwd", "busy:x:106:104::/:/bin/false")
	// The installation is cut off here; the next one knows what was there before the first.
	change(t, n, "census docker.io\n")
	add("/etc/passwd", "you:x:1001:1001::/home/you:/bin/sh")
	change(t, n, "newcomers\n")
	if want := []string{"user _rpc absent", "user busy absent", "group docker absent",
		"group used absent"}; !slices.Equal(records(t, n), want) {
		t.Fatalf("recorded %q", records(t, n))
	}
	write(t, sim.State("busy-busy"), "")
	if kept := expel(t, n, "docker.io"); !slices.Equal(kept, []string{"user busy", "group used"}) {
		t.Fatalf("kept %q", kept)
	}
	if err := os.Remove(sim.State("busy-busy")); err != nil {
		t.Fatal(err)
	}
	write(t, sim.Path("/etc/group"), strings.ReplaceAll(read(t, sim, "/etc/group"), ":me", ":"))
	if kept := expel(t, n, "docker.io"); len(kept) > 0 {
		t.Fatalf("kept %q", kept)
	}
	for path, want := range was {
		if got := strings.ReplaceAll(read(t, sim, path), "you:x:1001:1001::/home/you:/bin/sh\n", ""); got != want {
			t.Errorf("%s is\n%s", path, got)
		}
	}
}

// The accounts of a package that stays stay too.
func TestAccountsOfAPackageThatIsKept(t *testing.T) {
	sim, n, _ := machine(t)
	change(t, n, "census docker.io\n")
	debs(t, sim, map[string]string{"docker.io": "file /usr/bin/dockerd\n"})
	write(t, sim.Path("/etc/group"), "docker:x:103:\n")
	change(t, n, "newcomers\n")
	write(t, sim.State("dpkg/other.needs"), "docker.io\n")
	if kept := expel(t, n, "docker.io"); !slices.Equal(kept, []string{"package docker.io"}) ||
		!strings.Contains(read(t, sim, "/etc/group"), "docker:") {
		t.Errorf("kept %q, groups %q", kept, read(t, sim, "/etc/group"))
	}
}

// A purge of Debian's would take directories that are not the package's own making: what was in them before the package
// came stays.
func TestWhatAPackageFoundStays(t *testing.T) {
	sim, n, _ := machine(t)
	place(t, sim, "/etc/nginx/nginx.conf", "of the administrator, for a program of his own")
	place(t, sim, "/var/lib/docker/volumes/data", "of years")
	write(t, sim.State("dpkg/keepalived.status"), "config-files\n")
	change(t, n, "census nginx-common docker.io keepalived conntrack\n")
	debs(t, sim, map[string]string{
		"nginx-common": "file /usr/share/nginx/x\npostrm rm -rf ./etc/nginx",
		"docker.io": "file /usr/bin/dockerd\npostrm if [ -e ./var/lib/docker/nuke-graph-directory.sh ]; then rm " +
			"-rf ./var/lib/docker; fi",
		"keepalived": "file /etc/keepalived.conf\n",
		"conntrack":  "file /etc/conntrack.conf\nfile /usr/sbin/conntrack\n",
	})
	place(t, sim, "/var/lib/docker/nuke-graph-directory.sh", "rm -rf")
	change(t, n, "newcomers\n")
	for range 2 {
		if kept := expel(t, n, "nginx-common", "docker.io", "keepalived", "conntrack"); len(kept) > 0 {
			t.Fatalf("kept %q", kept)
		}
	}
	all := []string{"/etc/nginx/nginx.conf", "/usr/share/nginx/x", "/var/lib/docker/volumes/data", "/usr/bin/dockerd",
		"/etc/keepalived.conf", "/etc/conntrack.conf", "/usr/sbin/conntrack"}
	if got := there(sim, all...); !slices.Equal(got,
		[]string{"/etc/nginx/nginx.conf", "/var/lib/docker/volumes/data", "/etc/keepalived.conf"}) {
		t.Errorf("there is %q", got)
	}
}
