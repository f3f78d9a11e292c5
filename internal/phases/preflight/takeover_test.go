package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// takingOver makes a check of an imported node that prints out.
func takingOver(t *testing.T, c Check, n config.Node, out string, spoil func(in *Input)) []event.Finding {
	t.Helper()
	in, f := newInput(), nodestest.Good(n)
	f.Cluster, f.RecordKinds, f.TheirKubelet = "mine", []string{"imported"}, true
	in.Cluster.Eggo.Imported, in.Cluster.Eggo.Driver, in.Runtime = true, "kubeadm", "containerd"
	in.SetFact(n.Name, f)
	in.SetNode(n.Name, node.New(says{out: out}, nil))
	spoil(in)
	return RunOn(t.Context(), in, []Check{c}, n, f)
}

// A control plane gets no other version with the take-over, whatever its kubelet says.
func TestVersionsOfAControlPlaneThatIsToBeTakenOver(t *testing.T) {
	const own = "etcd registry.k8s.io/etcd:3.6.5-0\nkube-apiserver registry.k8s.io/kube-apiserver:v1.34.2\n" +
		"kube-controller-manager registry.k8s.io/kube-controller-manager:v1.34.2\n" +
		"kube-scheduler registry.k8s.io/kube-scheduler:v1.34.2\n"
	other := []string{"error preflight.takeover-version"}
	for name, c := range map[string]struct {
		old, fresh string
		want       []string
	}{
		"the bundle's":                   {"", "", nil},
		"etcd of an older patch":         {"3.6.5-0", "3.6.4-0", nil},
		"etcd of a newer patch":          {"3.6.5-0", "3.6.9-0", nil},
		"a build of one's own":           {"apiserver:v1.34.2", "apiserver:v1.34.2-acme.1", nil},
		"another registry":               {"registry.k8s.io/kube-apiserver", `"10.0.0.1:5000/k8s/kube-apiserver`, nil},
		"upgraded API server":            {"apiserver:v1.34.2", "apiserver:v1.35.4", other},
		"old scheduler":                  {"scheduler:v1.34.2", "scheduler:v1.34.1", other},
		"controller manager by a digest": {"manager:v1.34.2", "manager@sha256:00", other},
		"newer etcd":                     {"3.6.5-0", "3.7.0-0", []string{"error preflight.takeover-etcd"}},
		"etcd of an unknown version":     {"etcd:3.6.5-0", "etcd:latest", []string{"error preflight.takeover-etcd"}},
		"etcd too old":                   {"3.6.5-0", "3.5.21-0", []string{"error upgrade.etcd-through"}},
		"etcd that can be upgraded":      {"3.6.5-0", "3.5.26-0", nil},
		"taken over":                     {own, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := takingOver(t, checkTakeoverVersions(), master, strings.Replace(own, c.old, c.fresh, 1),
				func(in *Input) {
					m := nodestest.Manifest()
					m.Images = append(m.Images, bundle.Image{Name: "registry.k8s.io/etcd:3.6.5-0"})
					in.SetBundle("amd64", nodestest.Box{Is: m})
				})
			if codes := nodestest.Codes(got); !slices.Equal(codes, c.want) {
				t.Errorf("%q, want %q", codes, c.want)
			}
		})
	}
}

// A kubelet whose configuration was changed on its node is not taken over without that.
func TestConfigurationOfAKubeletThatIsToBeTakenOver(t *testing.T) {
	const conf = "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: \"\"\nsyncFrequency: 0s\n" +
		"clusterDNS: [10.96.0.10]\n"
	for name, c := range map[string]struct{ node, cluster, want string }{
		"as kubeadm writes it": {conf, conf, ""},
		"what kubeadm sets by node": {strings.Replace(conf, `""`, "unix:///run/containerd/containerd.sock", 1) +
			"resolvConf: /run/systemd/resolve/resolv.conf\n", conf, ""},
		"none":                   {"", conf, ""},
		"more pods":              {conf + "maxPods: 250\n", conf, "maxPods: 250"},
		"more pods than others":  {conf + "maxPods: 250\n", conf + "maxPods: 200\n", "maxPods: 250"},
		"as all others":          {conf + "maxPods: 200\n", conf + "maxPods: 200\n", ""},
		"less than others":       {conf, conf + "maxPods: 200\n", "-maxPods: 200"},
		"a flag of deploy.yaml":  {conf + "podsPerCore: 9\n", conf, ""},
		"something turned off":   {conf + "cpuCFSQuota: false\n", conf, "cpuCFSQuota: false"},
		"a setting without flag": {conf + "shutdownGracePeriod: 30s\n", conf, "shutdownGracePeriod: 30s"},
		"for the terminal":       {conf + "evictionSoft: {a: \"\\e[2J\"}\n", conf, "evictionSoft: a=[2J"},
		"no ConfigMap":           {"kind: KubeletConfiguration\nmaxPods: 9\n", "", "maxPods: 9"},
	} {
		out := ""
		if c.node != "" {
			out = "file /var/lib/kubelet/config.yaml\nconf " +
				strings.ReplaceAll(strings.TrimSpace(c.node), "\n", "\nconf ")
		}
		got := takingOver(t, checkKubeletConfig(), worker, out, func(in *Input) {
			in.Theirs = theirs{objects: takeover.Cluster{Kubelet: c.cluster}}
			in.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kubelet",
				Args: map[string]string{"--pods-per-core": "9"}}}
		})
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", name, got)
		case c.want != "" && (len(got) != 1 || got[0].Fault.Code != "preflight.kubelet-config" ||
			got[0].Fault.Args["settings"] != c.want || got[0].Fault.Args["file"] != "/var/lib/kubelet/config.yaml"):
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
	in := takingOver(t, checkKubeletConfig(), worker, "file /x\nconf kind: KubeletConfiguration\n", func(in *Input) {
		in.Theirs = theirs{err: event.NewFault(event.ClassFailed, "kube.unreachable", nil)}
	})
	if got := nodestest.Codes(in); !slices.Equal(got, []string{"error kube.unreachable"}) {
		t.Errorf("%q", got)
	}
}
