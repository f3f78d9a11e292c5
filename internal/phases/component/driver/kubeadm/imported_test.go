package kubeadm

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// imported has m1 a control plane that kubeadm alone has made, whose kubelet is started by a drop-in of a package.
func imported(t *testing.T) *Kubeadm {
	t.Helper()
	r := made(t, "")
	r.Cluster.Eggo.Imported = true
	f := nodestest.Good(r.named("m1"))
	f.Cluster, f.RecordKinds, f.KubeletDropIns = "mine", []string{"unit", "imported"}, []string{"10-kubeadm.conf"}
	r.SetFact("m1", f)
	return r
}

// TestAnImportedMemberKeepsItsData: they stay where kubeadm has put them, and so kubeadm reads of its ConfigMap.
func TestAnImportedMemberKeepsItsData(t *testing.T) {
	r := imported(t)
	for node, want := range map[string]string{"m1": "/var/lib/etcd", "m2": "/var/lib/etcd/default.etcd"} {
		if got := r.EtcdData(node); got != want {
			t.Errorf("%s: %s, want %s", node, got, want)
		}
	}
	text, err := r.configuration(driver.Etcd, r.named("m1"), "abc")
	if err != nil || !strings.Contains(string(text), "dataDir: /var/lib/etcd\n") ||
		!strings.Contains(string(text), "- name: data-dir\n      value: /var/lib/etcd\n") {
		t.Errorf("%v\n%s", err, text)
	}
	whole, err := r.whole(r.named("m1"))
	if err != nil || !strings.Contains(string(whole), "dataDir: /var/lib/etcd\n") ||
		!strings.Contains(string(whole), "hostPath: /etc/kubernetes/encryption-config.yaml") {
		t.Errorf("%v\n%s", err, whole)
	}
}

// TestWhatTakesThePlaceOfOthersFiles: every file that a component has, and the drop-in that would win over our unit.
func TestWhatTakesThePlaceOfOthersFiles(t *testing.T) {
	r := imported(t)
	n := r.named("m1")
	paths, err := r.Replaces(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/pki/apiserver.crt",
		"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/scheduler.conf", "/etc/kubernetes/kubelet.conf",
		"/etc/kubernetes/admin.conf",
		"/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not among %q", want, paths)
		}
	}
	files, err := r.services.KubeletFiles(n)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f node.File) bool { return strings.HasSuffix(f.Path, "/10-kubeadm.conf") })
	if i < 0 || strings.Contains(string(files[i].Data), "ExecStart") {
		t.Errorf("the drop-in still starts the kubelet: %d %v", i, files)
	}
	if paths, err = r.Replaces(r.named("w1")); err != nil || slices.ContainsFunc(paths,
		func(p string) bool { return strings.Contains(p, "manifests") || strings.Contains(p, "10-kubeadm") }) {
		t.Errorf("%v %q", err, paths)
	}
}
