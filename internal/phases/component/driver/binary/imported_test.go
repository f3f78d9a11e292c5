package binary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// TestWhatTakesThePlaceOfTheOriginalsFiles: every file that a component has, and the kubeconfigs that are written
// later; the units and the binaries of the original lie elsewhere and stay.
func TestWhatTakesThePlaceOfTheOriginalsFiles(t *testing.T) {
	r := made(t, "eggo: {imported: true}\n")
	for _, n := range r.Cluster.Nodes {
		f := nodestest.Good(n)
		f.Cluster, f.RecordKinds, f.CgroupFS = "mine", []string{"imported"}, n.Name == "w1"
		r.SetFact(n.Name, f)
	}
	master, worker := r.Cluster.Nodes[0], r.Cluster.Nodes[1]
	paths, err := r.Replaces(master)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/etc/etcd/etcd.conf", "/etc/kubernetes/pki/etcd/peer.key",
		"/etc/kubernetes/pki/apiserver.crt", "/etc/kubernetes/encryption-config.yaml",
		"/etc/kubernetes/scheduler.conf", "/etc/kubernetes/kube-proxy.conf", "/etc/kubernetes/admin.conf",
		"/etc/kubernetes/kubelet.conf", "/etc/systemd/system/etcd.service"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not among %q", want, paths)
		}
	}
	if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, "/usr/") }) {
		t.Errorf("%q", paths)
	}
	if paths, err = r.Replaces(worker); err != nil || slices.ContainsFunc(paths, func(p string) bool {
		return strings.Contains(p, "etcd") || strings.Contains(p, "admin.conf")
	}) {
		t.Errorf("%v %q", err, paths)
	}
	for n, want := range map[string]string{"m1": "cgroupDriver: systemd\n", "w1": "cgroupDriver: cgroupfs\n"} {
		node := map[string]config.Node{"m1": master, "w1": worker}[n]
		s, err := r.service(driver.Kubelet, node)
		if text := fileOf(t, s, err, "kubelet.yaml"); !strings.Contains(text, want) {
			t.Errorf("%s: not %q in\n%s", n, want, text)
		}
	}
}

// TestWhatComponentsAreStartedWith: their flags and configurations, as preflight compares them.
func TestWhatComponentsAreStartedWith(t *testing.T) {
	r := made(t, "config-extra-args: [{name: kube-proxy, extra-args: {--proxy-mode: ipvs}}]\n")
	if err := os.MkdirAll(filepath.Join(r.StateDir, "pki", "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.StateDir, "pki", "etcd", "ca.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for c, want := range map[driver.Component][3]string{
		driver.Etcd:      {"ETCD_DATA_DIR", "/var/lib/etcd/default.etcd", ""},
		driver.APIServer: {"secure-port", "6443", ""},
		driver.Kubelet:   {"hostname-override", "m1", "kind: KubeletConfiguration\n"},
		driver.Proxy:     {"config", "", "mode: ipvs\n"},
		driver.CoreDNS:   {},
	} {
		flags, conf, err := r.StartedWith(t.Context(), c, r.Cluster.Nodes[0])
		if err != nil || flags[want[0]] != want[1] || !strings.Contains(conf, want[2]) || want[2] == "" && conf != "" {
			t.Errorf("%s: %q %v %v", c, conf, flags, err)
		}
	}
}
