package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// byKubeadm packs a bundle that has what kubeadm asks for, and writes a deploy.yaml of the nodes with that driver.
func byKubeadm(t *testing.T, s *stand.Stand, name string, nodes []stand.Node) string {
	t.Helper()
	example(t, s, "kubeadm.yaml", func(map[string]any) {})
	base, err := s.Deploy(name+".yaml", name, nodes)
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, name+"-pods.yaml", "eggo:\n", "eggo:\n  driver: kubeadm\n")
	must(t, "deploy.yaml", err)
	return file
}

// runsPods wants the components of a control plane to be static pods, and none of them a service.
func runsPods(t *testing.T, s *stand.Stand, node string, components ...string) {
	t.Helper()
	for _, c := range components {
		out, err := s.Lab.Run(t.Context(), node,
			"ls /etc/kubernetes/manifests/"+c+".yaml; systemctl is-active "+c+" || true")
		must(t, c+" of "+node, err)
		if !strings.Contains(out, c+".yaml") || strings.Contains(out, "\nactive") {
			t.Errorf("%s of %s is no static pod: %s", c, node, out)
		}
	}
}

// TestKubeadm is a control plane of static pods and a worker: refusals that touch nothing, an installation, a second
// deploy without a change, renewed certificates, a cleanup to the same listing.
func TestKubeadm(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	nodes := []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}
	plain := s.Bundle
	file := byKubeadm(t, s, "pods", nodes)
	before := untouched(t, s, 2)
	without, err := s.Vary(file, "without.yaml", s.Bundle, plain)
	must(t, "deploy.yaml", err)
	if err := try(t, s, 6, "deploy", "-f", without).Has("kubeadm", "registry.k8s.io/kube-apiserver"); err != nil {
		t.Error(err)
	}
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })

	try(t, s, 0, "deploy", "-f", file)
	runsPods(t, s, "n1", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "pods")
	services, err := s.Vary(file, "services.yaml", "driver: kubeadm", "driver: binary")
	must(t, "deploy.yaml", err)
	u := &upgraded{Stand: s, t: t, cluster: "pods", nodes: nodes}
	u.refused(5, []string{"deploy", "-f", services}, "kubeadm", "binary")
	try(t, s, 0, "status", "-f", file)
	must(t, "certificates", try(t, s, 0, "certs", "list", "-f", file).Has("admin.conf", "scheduler.conf", "n1", "n2"))
	try(t, s, 0, "certs", "renew", "-f", file)
	must(t, "use after the certificates were renewed", s.Works(ctx, 2))
	snapshotAndRestore(t, s, file, "pods", []string{"n1"}, 2)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// TestKubeadmEtcdOfItsOwn is a control plane of static pods whose etcd is a service of another machine.
func TestKubeadmEtcdOfItsOwn(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	file := byKubeadm(t, s, "apart", []stand.Node{{Name: "n1", Roles: "mn"}, {Name: "n2", Roles: "ne"}})
	before := untouched(t, s, 2)
	try(t, s, 0, "deploy", "-f", file)
	runsPods(t, s, "n1", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	out, err := s.Lab.Run(t.Context(), "n2", "systemctl is-active etcd; ls /etc/kubernetes/manifests || true")
	must(t, "etcd of n2", err)
	if !strings.HasPrefix(out, "active") || strings.Contains(out, "etcd") {
		t.Errorf("etcd of n2 is no service: %s", out)
	}
	snapshotAndRestore(t, s, file, "apart", []string{"n2"}, 2)
	try(t, s, 0, "certs", "renew", "-f", file)
	must(t, "use after the certificates were renewed", s.Works(t.Context(), 2))
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// planes is a cluster of three control planes of static pods behind a load balancer, with a workload.
func planes(t *testing.T, cluster string, machines int, nodes []stand.Node) *upgraded {
	t.Helper()
	u := newPlanes(t, cluster, machines, nodes)
	deploy(t, u.Stand, u.file)
	u.workload()
	return u
}

// newPlanes has the machines of planes before the cluster is installed.
func newPlanes(t *testing.T, cluster string, machines int, nodes []stand.Node) *upgraded {
	t.Helper()
	s := newLab(t, machines)
	u := &upgraded{Stand: s, t: t, cluster: cluster, nodes: nodes}
	var err error
	s.Bundle, err = s.PackKubeadm(t.Context(), minorOwn)
	must(t, "pack", err)
	base, err := s.Deploy(cluster+".yaml", cluster, nodes)
	must(t, "deploy.yaml", err)
	u.file, err = s.Vary(base, cluster+"-pods.yaml", "eggo:\n", "eggo:\n  driver: kubeadm\n")
	must(t, "deploy.yaml", err)
	u.before = untouched(t, s, machines)
	return u
}

// TestKubeadmControlPlanes: three control planes of static pods behind a load balancer. A worker joins, all machines go
// down at once, the first control plane leaves and joins again, a control plane and a worker leave; all of it is
// removed, and installed again.
func TestKubeadmControlPlanes(t *testing.T) {
	full(t)
	u := planes(t, "planes", 5, []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"},
		{Name: "n3", Roles: "mne"}, {Name: "n4", Roles: "nl"}})
	s := u.Stand
	s.Say("== a worker joins, and all machines go down at once")
	try(t, s, 0, "join", "--id", u.cluster, "--name", "n5", address(t, s, "n5"))
	u.nodes = append(u.nodes, stand.Node{Name: "n5", Roles: "n"})
	u.spread()
	downAtOnce(t, s, 5, 5)
	try(t, s, 0, "deploy", "--id", u.cluster)
	noChange(t, s.State(), u.cluster)

	s.Say("== the first control plane leaves, and an empty machine of its name takes its place")
	was := proxies(u, "n2", "n3", "n4", "n5")
	s.Admin = "n2"
	try(t, s, 0, "delete", "--id", u.cluster, "--yes", "--purge", "n1")
	absent(t, s, u.cluster, "n1")
	try(t, s, 0, "join", "--id", u.cluster, "--name", "n1", "--type", "master", address(t, s, "n1"))
	s.Admin = "n1"
	runsPods(t, s, "n1", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	if is := proxies(u, "n2", "n3", "n4", "n5"); is != was {
		t.Errorf("kube-proxy was restarted: it was\n%sand is\n%s", was, is)
	}
	u.healthy()
	try(t, s, 0, "deploy", "--id", u.cluster)
	noChange(t, s.State(), u.cluster)

	s.Say("== a control plane and a worker leave")
	try(t, s, 0, "delete", "--id", u.cluster, "--yes", "--purge", "n2")
	try(t, s, 0, "delete", "--id", u.cluster, "--yes", "--purge", "n5")
	absent(t, s, u.cluster, "n2")
	absent(t, s, u.cluster, "n5")
	try(t, s, 0, "deploy", "--id", u.cluster)
	noChange(t, s.State(), u.cluster)
	u.nodes = []stand.Node{u.nodes[0], u.nodes[2], u.nodes[3]}
	u.spread()
	try(t, s, 0, "cleanup", "--id", u.cluster, "--yes", "--purge")
	same(t, u.before, func() []lab.Snapshot { return snapshots(t, s, 5) })
	s.Say("== installed again")
	deploy(t, s, u.file)
	runsPods(t, s, "n2", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	try(t, s, 0, "cleanup", "-f", u.file, "--yes", "--purge")
	same(t, u.before, func() []lab.Snapshot { return snapshots(t, s, 5) })
}

// proxies are the processes of kube-proxy on nodes.
func proxies(u *upgraded, nodes ...string) string {
	u.t.Helper()
	var out strings.Builder
	for _, n := range nodes {
		text, err := u.Lab.Run(u.t.Context(), n, "pgrep -x kube-proxy")
		must(u.t, "kube-proxy of "+n, err)
		out.WriteString(n + " " + text)
	}
	return out.String()
}

// TestKubeadmUpgrade: while clients call the API through the load balancer, and a Service, ten times a second each,
// write and watch, control planes of static pods go to another minor version, back from its soak, and there again.
func TestKubeadmUpgrade(t *testing.T) {
	full(t)
	u := planes(t, "pods-up", 5, []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"},
		{Name: "n3", Roles: "me"}, {Name: "n4", Roles: "nl"}, {Name: "n5", Roles: "n"}})
	newer, err := u.PackKubeadm(t.Context(), minorAfter)
	must(t, "pack", err)
	c := u.clients()
	u.Say("== to another minor version, and back from its soak")
	u.until("soak.watch", u.args([]string{newer}, "--soak", "10m"), func(r *stand.Running) {
		u.run(minorAfter, controlPlane, "n1", "n2", "n3")
		u.run(minorOwn, everyKubelet, u.kubelets()...)
		u.kubectl("create", "configmap", "soaked", "--from-literal=x=1")
		must(t, "kill", r.Signal(syscall.SIGKILL))
		_, err := r.Wait()
		must(t, "upgrade", err)
	})
	u.unfinished()
	try(t, u.Stand, 0, "upgrade", "--back", "--id", u.cluster, "--yes")
	u.allRun(minorOwn)
	u.kubectl("get", "configmap", "soaked")
	u.Say("== there again, killed while a worker has its turn")
	u.killed("nodes.turn/n4", u.args([]string{newer}, "--soak", "20s"))
	u.more(0, "--soak", "20s")
	c.unharmed(t)
	u.reportAbsences()
	u.allRun(minorAfter)
	u.spread()
	u.healthy()
	u.gone()
}
