package phases_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A cluster that kubeadm has made by hand is taken over in an order in which its API servers always understand its
// kubelets: the files of others are kept before ours come, and kubelets come before the control plane.
func TestTheOrderInWhichAnImportedClusterIsTakenOver(t *testing.T) {
	c, problems := config.Load([]byte("cluster-id: sim\nusername: root\nprivate-key-path: /root/.ssh/id_rsa\n"+
		"masters: [{name: m1, ip: 192.0.2.11}, {name: m2, ip: 192.0.2.12}]\nnodes: [{name: w1, ip: 192.0.2.21}]\n"+
		"network: {podcidr: 10.200.0.0/16, plugin: flannel}\npackage-src: {type: tar.gz, x86src: /bundle.tar.gz}\n"+
		"eggo: {driver: kubeadm, imported: true}\n"), "deploy.yaml")
	if c == nil {
		t.Fatal(problems)
	}
	env := phases.Env{Cluster: c, Now: time.Now, StateDir: t.TempDir(), Emit: func(event.Event) error { return nil }}
	p := phases.Deploy(env)
	if lacks := untitled(p); len(lacks) > 0 {
		t.Error("no title:", lacks)
	}
	before := closures(p)
	for step, want := range map[string][]string{
		"infrastructure.programs-node/w1":     {"infrastructure.take-over/w1"},
		"infrastructure.take-over-kubelet/w1": {"infrastructure.take-over/w1", "infrastructure.programs-node/w1"},
		"etcd.start/m1": {"infrastructure.take-over-kubelet/m1", "infrastructure.take-over-kubelet/m2",
			"infrastructure.take-over-kubelet/w1"},
		"control-plane.apiserver/m2": {"infrastructure.take-over-kubelet/w1"},
		"addons.dns":                 {"addons.manifests"},
	} {
		if before[step] == nil {
			t.Errorf("there is no %s", step)
		}
		for _, w := range want {
			if !before[step][w] {
				t.Errorf("%s does not wait for %s", step, w)
			}
		}
	}
	for _, s := range p.Steps {
		if strings.HasPrefix(s.ID, "addons.network/") {
			t.Error(s.ID, "the network is somebody else's")
		}
	}
	c.Eggo.Driver = config.DriverBinary // as the original eggo's
	before = closures(phases.Deploy(env))
	for step, needed := range map[string]string{
		"etcd.start/m1":              "infrastructure.take-over-kubelet/w1",
		"control-plane.apiserver/m2": "infrastructure.take-over-kubelet/m1",
		"bootstrap.proxy/w1":         "infrastructure.take-over/w1",
	} {
		if !before[step][needed] {
			t.Errorf("%s does not wait for %s: %v", step, needed, before[step] != nil)
		}
	}
	c.Eggo.Imported = false
	for _, s := range phases.Deploy(env).Steps {
		if slices.Contains([]string{"infrastructure.take-over/w1", "infrastructure.take-over-kubelet/w1"}, s.ID) {
			t.Error(s.ID, "in a cluster that was not imported")
		}
	}
}
