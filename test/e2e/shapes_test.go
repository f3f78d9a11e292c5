package e2e

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// shape is the life of a cluster of some shape: installed, used, installed again in vain, and removed without a trace.
// between runs while it lives. kubelets are the first so many nodes.
func shape(t *testing.T, name string, nodes []stand.Node, kubelets int, between func(*stand.Stand, string)) {
	t.Helper()
	s := newLab(t, len(nodes))
	file, err := s.Deploy(name+".yaml", name, nodes)
	must(t, "deploy.yaml", err)
	before := untouched(t, s, len(nodes))
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(t.Context()))
	must(t, "use", s.Works(t.Context(), kubelets))
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), name)
	if between != nil {
		between(s, file)
	}
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, len(nodes)) })
}

// changedLive makes a change that restarts every control plane while a client asks the API through the load balancer
// twice a second, each time on a new connection and without a second try: no call fails, and systemd kills nothing. The
// absence of each server is reported by the run.
func changedLive(t *testing.T, s *stand.Stand, cluster, balancer string, args ...string) {
	t.Helper()
	api := callAPI(t, s, cluster, balancer)
	try(t, s, 0, args...)
	if calls, failed := api.end(s); len(failed) > 0 || calls < 10 {
		t.Errorf("%d calls of the API during %v, failed: %v", calls, args, failed)
	}
	absences(t, s, cluster)
	killed, err := s.Each(t.Context(), 5,
		`journalctl -q -o short-iso SYSLOG_IDENTIFIER=systemd | grep -E '(etcd|kube[a-z-]*|containerd|eggo-lb)\.service: .*(SIGKILL|timed out|timeout)' || true`)
	must(t, "journals", err)
	for _, k := range killed {
		if strings.Contains(k, ".service") {
			t.Errorf("systemd killed: %s", k)
		}
	}
	must(t, "use after "+strings.Join(args, " "), s.Works(t.Context(), 5))
}

// absences wants the newest run to have reported how long each API server and each member of etcd was away.
func absences(t *testing.T, s *stand.Stand, cluster string) {
	t.Helper()
	runs, err := stand.Runs(s.State(), cluster)
	must(t, "event logs", err)
	reported := map[string]bool{}
	for _, r := range runs[len(runs)-1] {
		if n, ok := r.Event.(event.Notice); ok && strings.HasPrefix(n.Text.Key, "notice.away") {
			a := n.Text.Args
			reported[a["component"]+" "+a["node"]] = true
			s.Say("%s on %s was unavailable for %s s (%s)", a["component"], a["node"], a["seconds"], n.Text.Key)
		}
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		for _, c := range []string{"etcd", "kube-apiserver"} {
			if !reported[c+" "+n] {
				t.Errorf("nobody reported how long %s on %s was away", c, n)
			}
		}
	}
}

// anotherBuild rolls out a bundle of the same versions with other bytes of etcd, kube-apiserver and kubelet: afterwards
// these run, and the version that they took the place of is gone.
func anotherBuild(t *testing.T, s *stand.Stand, file, cluster, balancer string) {
	t.Helper()
	ctx := t.Context()
	path, err := s.Rebuild(ctx, "etcd", "kube-apiserver", "kubelet")
	must(t, "another build", err)
	a, err := bundle.Open(path)
	must(t, "another build", err)
	other, err := s.Vary(file, "rebuilt.yaml", s.Bundle, path)
	must(t, "deploy.yaml", err)
	changedLive(t, s, cluster, balancer, "deploy", "-f", other)
	for _, n := range []string{"n1", "n2", "n3", "n4", "n5"} {
		for _, m := range a.Manifest().Members {
			if m.Name != "kubelet" && (m.Name != "etcd" && m.Name != "kube-apiserver" || n > "n3") {
				continue
			}
			out, err := s.Lab.Run(ctx, n, "sha256sum </proc/$(systemctl show -p MainPID --value "+m.Name+
				")/exe; ls -d /opt/eggo/"+m.Name+"-*")
			must(t, m.Name+" on "+n, err)
			if want := m.SHA256 + "  -\n/opt/eggo/" + m.Name + "-" + m.SHA256[:12] + "\n"; out != want {
				t.Errorf("%s on %s: the process and the versions are\n%swant\n%s", m.Name, n, out, want)
			}
		}
	}
	try(t, s, 0, "deploy", "-f", other)
	noChange(t, s.State(), cluster)
}

// TestThreeControlPlanes is the cluster that most users want: etcd on the three control planes, a load balancer that
// shares a worker's machine, and another worker.
func TestThreeControlPlanes(t *testing.T) {
	turn(t, 0)
	shape(t, "three", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "me"},
		{Name: "n4", Roles: "nl"}, {Name: "n5", Roles: "n"}}, 5,
		func(s *stand.Stand, file string) {
			changedLive(t, s, "three", "n4", "certs", "renew", "-f", file)
			try(t, s, 0, "certs", "list", "-f", file)
			anotherBuild(t, s, file, "three", "n4")
		})
}

// TestEtcdOfItsOwn has etcd on other machines than the control planes, some of them with other roles.
func TestEtcdOfItsOwn(t *testing.T) {
	full(t)
	shape(t, "apart", []stand.Node{{Name: "n1", Roles: "m"}, {Name: "n2", Roles: "m"}, {Name: "n3", Roles: "m"},
		{Name: "n4", Roles: "ne"}, {Name: "n5", Roles: "ne"},
		{Name: "n6", Roles: "el"}}, 5, nil)
}
