package phases_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// What a machine makes of a place is found out on it, right before anything is written there.
func TestAPlaceIsInspectedOnTheMachine(t *testing.T) {
	t.Parallel()
	listed := func(l *phasestest.Lab, dst string) {
		l.Cluster.Packages[bundle.Worker] = []config.Package{{Name: "kube-flannel.yml", Type: "file", Dst: dst,
			Addition: true}}
	}
	for name, c := range map[string]struct {
		spoil      func(t *testing.T, l *phasestest.Lab, w *phasestest.Node)
		code, what string
	}{
		"a link out of the list": {func(t *testing.T, _ *phasestest.Lab, w *phasestest.Node) {
			must(t, os.MkdirAll(w.Path("/etc/sudoers.d"), 0o755), os.MkdirAll(w.Path("/opt/cni"), 0o755),
				os.Symlink(w.Path("/etc/sudoers.d"), w.Path("/opt/cni/bin")))
		}, "node.outside-whitelist", "/etc/sudoers.d"},
		"a link within the list": {func(t *testing.T, _ *phasestest.Lab, w *phasestest.Node) {
			must(t, os.RemoveAll(w.Path("/usr/local/bin")), os.Symlink("../bin", w.Path("/usr/local/bin")))
		}, "node.outside-whitelist", "/usr/bin"},
		"a directory that others may change": {func(t *testing.T, l *phasestest.Lab, w *phasestest.Node) {
			listed(l, "/root/.eggo/site")
			must(t, os.MkdirAll(w.Path("/root/.eggo"), 0o755), os.Chmod(w.Path("/root/.eggo"), 0o777))
		}, "node.place-open", "/root/.eggo"},
		"a directory that an ACL lets somebody change": {func(t *testing.T, l *phasestest.Lab, w *phasestest.Node) {
			listed(l, "/root/.eggo/site")
			must(t, os.MkdirAll(w.Path("/root/.eggo"), 0o755))
			letWrite(t, w.Path("/root/.eggo"), 1234)
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
			b, sum, err := run(t, l, phases.Deploy)
			if err == nil {
				t.Fatal("it was taken")
			}
			record, _ := os.ReadFile(l.Nodes["w1"].Path("/var/lib/eggo-node/record"))
			for line := range strings.Lines(string(record)) {
				if strings.HasPrefix(line, "emptied") && strings.Contains(line, "/opt/cni/bin\t") {
					t.Errorf("a cleanup would empty what the link leads to: %s", line)
				}
			}
			var found []event.Fault
			for _, f := range of[event.Finding](b) {
				if f.Severity == event.Error {
					found = append(found, f.Fault)
				}
			}
			if len(found) != 1 || found[0].Code != c.code || found[0].Args["is"] != c.what || found[0].Node != "w1" {
				t.Errorf("%+v", found)
			}
			if f := sum.Failed[0].Fault; f.Code != "preflight.failed" || len(of[event.Change](b)) > 0 {
				t.Errorf("%v after %d changes", f, len(of[event.Change](b)))
			}
		})
	}
}

// letWrite gives a user rights to a directory by an access control list, as setfacl -m u:UID:rwx does.
func letWrite(t *testing.T, dir string, uid uint32) {
	t.Helper()
	const owner, user, group, mask, other, nobody = 1, 2, 4, 16, 32, 1<<32 - 1
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, rights uint16
		id          uint32
	}{{owner, 7, nobody}, {user, 7, uid}, {group, 5, nobody}, {mask, 7, nobody}, {other, 5, nobody}} {
		acl = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(acl, e.tag), e.rights)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	if err := unix.Setxattr(dir, "system.posix_acl_access", acl, 0); err != nil {
		t.Skip("no access control lists here: ", err)
	}
}

// TestPlacesOfNodesThatAreInstalled: a link that an earlier version went through is recorded, and a directory to which
// a group without members may write, as Debian's /usr/local, is root's alone.
func TestPlacesOfNodesThatAreInstalled(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	w := l.Nodes["w1"]
	record := w.Path("/var/lib/eggo-node/record")
	must(t, os.Rename(w.Path("/opt/cni"), w.Path("/srv-cni")), os.Symlink(w.Path("/srv-cni"), w.Path("/opt/cni")))
	via := "via\t" + w.Path("/opt/cni/bin/loopback") + "\t" + w.Path("/srv-cni/bin") + "\n"
	staff := func(members string) {
		put(t, w.Path("/etc/group"), fmt.Sprintf("root:x:99990:\nme:x:99991:\nstaff:x:%d:%s\n", os.Getgid(), members))
	}
	must(t, os.Chmod(w.Path("/usr/local"), 0o2775), os.Chmod(w.Path("/usr/local/bin"), 0o2775))
	put(t, w.Path("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nme:x:1000:99991::/home/me:/bin/sh\n")
	was := readFile(t, record)
	for name, c := range map[string]struct {
		record, members, passwd string
		want                    []string
	}{
		"as the record says":       {was + via, "", "", nil},
		"root is in the group":     {was + via, "root", "", nil},
		"the link is not recorded": {was, "", "", []string{"node.outside-whitelist /opt/cni/bin"}},
		"the link leads elsewhere": {was + strings.Replace(via, "srv-cni", "srv", 1), "", "",
			[]string{"node.outside-whitelist /opt/cni/bin"}},
		"somebody is in the group": {was + via, "root,me", "", []string{"node.place-open /usr/local/bin"}},
		"it is somebody's group": {was + via, "", fmt.Sprintf("you:x:1001:%d::/:/bin/sh\n", os.Getgid()),
			[]string{"node.place-open /usr/local/bin"}},
	} {
		staff(c.members)
		put(t, record, c.record)
		put(t, w.Path("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n"+c.passwd)
		b, _, _ := run(t, l, func(e phases.Env) *engine.Plan {
			e.Accepted = func(context.Context) error { return errors.New("far enough") }
			return phases.Deploy(e)
		})
		var got []string
		for _, f := range of[event.Finding](b) {
			if f.Severity == event.Error {
				got = append(got, f.Fault.Code+" "+f.Fault.Args["path"])
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	staff("")
	put(t, w.Path("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")
	put(t, record, was+via)
	if err := phases.CheckTarget(t.Context(), node.New(w, func(event.Event) error { return nil }),
		"/opt/cni/bin/x"); err != nil {
		t.Error(err)
	}
	must(t, os.Chmod(w.Path("/opt"), 0o777)) // others could turn the link
	err := phases.CheckTarget(t.Context(), node.New(w, func(event.Event) error { return nil }), "/opt/cni/bin/x")
	if f := event.AsFault(err); f == nil || f.Code != "node.place-open" || f.Args["is"] != "/opt" {
		t.Errorf("the link can be turned: %v", err)
	}
	must(t, os.Chmod(w.Path("/opt"), 0o755), l.Rebuild("again"))
	deploy(t, l)
}

// A unit may come from a bundle, when deploy.yaml names it, but not in the place of another one.
func TestAUnitHidesNoOther(t *testing.T) {
	t.Parallel()
	sim, err := phasestest.NewNode(t.TempDir(), "n1", "192.0.2.1")
	units := sim.Path("/usr/local/lib/systemd/system")
	must(t, err, os.MkdirAll(units, 0o755), os.WriteFile(filepath.Join(units, "sshd.service"), nil, 0o600),
		os.Symlink("/dev/null", sim.Path("/run/systemd/system/masked.service")))
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
