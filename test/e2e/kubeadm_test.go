package e2e

import (
	"strings"
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
	nodes := []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "n"}}
	plain := s.Bundle
	file := byKubeadm(t, s, "pods", nodes)
	before := untouched(t, s, 2)
	without, err := s.Vary(file, "without.yaml", s.Bundle, plain)
	must(t, "deploy.yaml", err)
	if err := try(t, s, 5, "deploy", "-f", without).Has("kubeadm", "registry.k8s.io/kube-apiserver"); err != nil {
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
	if err := try(t, s, 5, "deploy", "-f", services).Has("kubeadm", "binary"); err != nil {
		t.Errorf("a driver that is changed is not refused: %v", err)
	}
	try(t, s, 0, "status", "-f", file)
	try(t, s, 0, "certs", "renew", "-f", file)
	must(t, "use after the certificates were renewed", s.Works(ctx, 2))
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}
