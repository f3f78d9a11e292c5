package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// kept counts the snapshots of etcd on the jump host.
func kept(t *testing.T, s *stand.Stand, cluster string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.State(), cluster, "snapshots", "*.db"))
	must(t, "snapshots", err)
	return len(files)
}

// moved wants the newest run to have changed the membership of etcd so often, each time with a snapshot on the jump
// host before, and every machine to know who is there now.
func moved(t *testing.T, s *stand.Stand, cluster string, had, added, removed int, nodes ...stand.Node) {
	t.Helper()
	if n := kept(t, s, cluster) - had; added+removed > 0 && n < max(added, min(removed, 1)) {
		t.Errorf("%d snapshots of etcd were saved, want one before each change of membership", n)
	}
	runs, err := stand.Runs(s.State(), cluster)
	must(t, "event logs", err)
	saved, in, out := 0, 0, 0
	for _, r := range runs[len(runs)-1] {
		switch e := r.Event.(type) {
		case event.Notice:
			if e.Text.Key == "notice.snapshot" {
				saved++
			}
		case event.Change:
			switch e.Desc.Key {
			case "change.etcd-add":
				in++
			case "change.etcd-remove":
				out++
			default:
				continue
			}
			if saved == 0 || saved < in {
				t.Errorf("%s of %s had no snapshot before it", e.Desc.Key, e.Desc.Args["member"])
			}
		}
	}
	if in != added || out != removed {
		t.Errorf("members of etcd: %d came and %d went, want %d and %d", in, out, added, removed)
	}
	follows(t, s, nodes...)
}

// refused wants a command line to be refused by preflight for a reason, before anything is touched.
func refused(t *testing.T, s *stand.Stand, cluster, reason string, args ...string) {
	t.Helper()
	got := try(t, s, 5, args...)
	if err := got.Has(reason); err != nil {
		t.Errorf("%v\n%s", err, tail(got.Out, 30))
	}
	noChange(t, s.State(), cluster)
}

// joinFile writes a list of machines of one kind.
func joinFile(t *testing.T, s *stand.Stand, kind string, names ...string) string {
	t.Helper()
	text := kind + ":\n"
	for _, n := range names {
		text += fmt.Sprintf("- {name: %s, ip: %s}\n", n, address(t, s, n))
	}
	path := filepath.Join(s.Dir, "join.yaml")
	must(t, "join.yaml", os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestControlPlanesComeAndGo: one control plane with etcd on it becomes two and three, without a load balancer; then
// the first one leaves, by whose address all others reached the API, and the cluster goes on and shrinks to one.
func TestControlPlanesComeAndGo(t *testing.T) {
	full(t)
	const cluster = "control"
	s := newLab(t, 4)
	ctx := t.Context()
	n1, n2, n3, n4 := stand.Node{Name: "n1", Roles: "mne"}, stand.Node{Name: "n2", Roles: "n"},
		stand.Node{Name: "n3", Roles: "mne"}, stand.Node{Name: "n4", Roles: "me"}
	file, err := s.Deploy("control.yaml", cluster, []stand.Node{n1, n2})
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 4)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	follows(t, s, n1, n2)

	s.Say("== a second control plane: it bears no more than one, and that is said")
	had := kept(t, s, cluster)
	got := try(t, s, 0, "join", "--id", cluster, "--type", "master,worker", "--name", "n3", address(t, s, "n3"))
	if err := got.Has("config.etcd-even"); err != nil {
		t.Errorf("%v\n%s", err, got.Out)
	}
	moved(t, s, cluster, had, 1, 0, n1, n2, n3)
	s.Say("== a third one")
	had = kept(t, s, cluster)
	try(t, s, 0, "join", "--id", cluster, "--type", "master", "--name", "n4", address(t, s, "n4"))
	moved(t, s, cluster, had, 1, 0, n1, n2, n3, n4)
	must(t, "use", s.Works(ctx, 4))

	s.Say("== who would cost etcd its quorum stays")
	must(t, "power cut", s.Lab.Kill(ctx, "n4"))
	refused(t, s, cluster, "preflight.leave-quorum", "delete", "--id", cluster, "--yes", "n3")
	must(t, "power", s.Lab.Start(ctx, "n4"))
	must(t, "use", s.Works(ctx, 4))

	s.Say("== the first one leaves")
	had = kept(t, s, cluster)
	s.Admin = "n3"
	try(t, s, 0, "delete", "--id", cluster, "--yes", "--purge", "n1")
	absent(t, s, cluster, "n1")
	moved(t, s, cluster, had, 0, 1, n2, n3, n4)
	must(t, "use without the first one", s.WorksOn(ctx, "n2", "n3", "n4"))
	s.Say("== another one leaves")
	had = kept(t, s, cluster)
	try(t, s, 0, "delete", "--id", cluster, "--yes", "--purge", "n4")
	moved(t, s, cluster, had, 0, 1, n2, n3)
	must(t, "use with one that is left", s.WorksOn(ctx, "n2", "n3"))
	try(t, s, 0, "status", "--id", cluster)
	try(t, s, 0, "deploy", "--id", cluster)
	noChange(t, s.State(), cluster)
	try(t, s, 2, "delete", "--id", cluster, "--yes", "n3")
	try(t, s, 0, "cleanup", "--id", cluster, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 4) })
}

// TestMembersComeAndGo: etcd on machines of its own, three of them, becomes five by machines that have other roles, and
// three others again.
func TestMembersComeAndGo(t *testing.T) {
	full(t)
	const cluster = "members"
	s := newLab(t, 5)
	ctx := t.Context()
	n1, n2, n3, n4, n5 := stand.Node{Name: "n1", Roles: "m"}, stand.Node{Name: "n2", Roles: "ne"},
		stand.Node{Name: "n3", Roles: "mne"}, stand.Node{Name: "n4", Roles: "e"}, stand.Node{Name: "n5", Roles: "l"}
	file, err := s.Deploy("members.yaml", cluster, []stand.Node{n1, n2, n3, n4, n5})
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 5)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.WorksOn(ctx, "n1", "n2", "n3"))
	follows(t, s, n1, n2, n3, n4, n5)

	s.Say("== three members become five, one at a time, while a client calls the API")
	api := callAPI(t, s, cluster, "n5")
	had := kept(t, s, cluster)
	try(t, s, 0, "join", "--id", cluster, "-f", joinFile(t, s, "etcds", "n5", "n1"))
	n1.Roles, n5.Roles = "me", "le"
	moved(t, s, cluster, had, 2, 0, n1, n2, n3, n4, n5)

	s.Say("== who would cost etcd its quorum stays")
	stop := func(verb, node string) {
		_, err := s.Lab.Run(ctx, node, "systemctl "+verb+" etcd.service")
		must(t, verb+" etcd on "+node, err)
	}
	stop("stop", "n2")
	stop("stop", "n3")
	refused(t, s, cluster, "preflight.leave-quorum", "delete", "--id", cluster, "--yes", "n4")
	stop("start", "n3")
	stop("start", "n2")

	s.Say("== a machine that is nothing but a member leaves, then one that has a kubelet too")
	had = kept(t, s, cluster)
	if err := try(t, s, 0, "delete", "--id", cluster, "--yes", "--purge", "n4").Has("even number"); err != nil {
		t.Error(err)
	}
	moved(t, s, cluster, had, 0, 1, n1, n2, n3, n5)
	had = kept(t, s, cluster)
	try(t, s, 0, "join", "--id", cluster, "--type", "worker", "--name", "n4", address(t, s, "n4"))
	n4.Roles = "n"
	moved(t, s, cluster, had, 0, 0, n1, n2, n3, n4, n5)
	try(t, s, 0, "delete", "--id", cluster, "--yes", "--purge", "n2")
	absent(t, s, cluster, "n2")
	moved(t, s, cluster, had, 0, 1, n1, n3, n4, n5)
	must(t, "use", s.WorksOn(ctx, "n1", "n3", "n4"))
	if calls, failed := api.end(s); calls < 100 || len(failed) > 0 {
		t.Errorf("%d calls of the API while members came and went, failed: %v", calls, failed)
	}
	try(t, s, 0, "status", "--id", cluster)
	try(t, s, 0, "deploy", "--id", cluster)
	noChange(t, s.State(), cluster)
	try(t, s, 0, "cleanup", "--id", cluster, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 5) })
}
