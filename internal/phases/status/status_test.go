package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
)

// says is a driver of which only the script for a status is asked.
type says struct{ driver.Driver }

func (says) StatusScript(config.Node) string { return "echo of the driver\n" }

func TestUnitsThatStatusAsksFor(t *testing.T) {
	worker := config.Node{Name: "w1", Roles: []bundle.Role{bundle.Worker}}
	member := config.Node{Name: "e1", Roles: []bundle.Role{bundle.Etcd, bundle.LoadBalancer}}
	for runtime, want := range map[string]string{"containerd": "containerd.service",
		"docker": "docker.service cri-dockerd.service", "isulad": "isulad.service"} {
		p := &payload.Payload{Nodes: inventory.New(&input.Env{Cluster: &config.Cluster{Runtime: runtime}},
			facts.Places{})}
		r := Gatherer{Driver: says{}, Runtime: (&runtimes.Runtimes{Payload: p}).Runtime(),
			Clients: &clients.Clients{Nodes: p.Nodes}}
		if got := r.script(worker); !strings.Contains(got, "u='"+want+"'") || !strings.Contains(got, "of the driver") ||
			strings.Contains(got, "eggo-lb.service") {
			t.Errorf("%s: %s", runtime, got)
		}
		if got := r.script(member); strings.Contains(got, want) || !strings.Contains(got, "u='eggo-lb.service'") {
			t.Errorf("%s: a node without a kubelet: %s", runtime, got)
		}
	}
}

// A control plane that was imported without a kubelet lacks nothing: only what it has is shown.
func TestAControlPlaneWithoutAKubelet(t *testing.T) {
	p := &payload.Payload{Nodes: inventory.New(&input.Env{Cluster: &config.Cluster{}},
		facts.Places{Unit: "kubelet.service"})}
	r := Gatherer{Runtime: (&runtimes.Runtimes{Payload: p}).Runtime(), Clients: &clients.Clients{Nodes: p.Nodes}}
	const out = "unit=containerd inactive\nunit=kube-scheduler failed\nunit=kubelet inactive\n" +
		"unit=kube-proxy inactive\n"
	for more, want := range map[string]int{"": 4, "absent=kubelet.service\n": 1} {
		var st Node
		st.parse(out + more)
		if r.forget(&st); len(st.Components) != want || want == 1 && st.Components[0].Name != "kube-scheduler" {
			t.Errorf("%q: %+v", more, st.Components)
		}
	}
}

func TestWhatANodeSaysOfItself(t *testing.T) {
	var st Node
	st.parse("unit=etcd active\nruns=etcd /opt/eggo/0123456789ab/bin/etcd (deleted)\nunit=kubelet failed\n" +
		"version=/opt/eggo/0123456789ab/bin/etcd\nversion=/opt/eggo/ba9876543210/bin/etcd\n" +
		"link=/opt/eggo/ba9876543210/bin/etcd\nbalancer=server 192.0.2.11:6443 down;\ncert=/x not one\nconf=/y ?\n" +
		"of no kind\n")
	if len(st.Components) != 2 || st.Components[0] != (Component{"etcd", "active", "0123456789ab"}) ||
		st.Components[1] != (Component{Name: "kubelet", State: "failed"}) {
		t.Errorf("%+v", st.Components)
	}
	if len(st.Binaries) != 1 || st.Binaries[0].Linked != "ba9876543210" || len(st.Binaries[0].Versions) != 2 {
		t.Errorf("%+v", st.Binaries)
	}
	if st.balancer != "server 192.0.2.11:6443 down;\n" || len(st.Certificates) != 0 {
		t.Errorf("%+v", st)
	}
}

// The version of etcd and of the kubelet is what they say of themselves, not the checksum of the binary; a member that
// does not answer, and other components, keep what is known.
func TestVersionsAreThoseOfReleases(t *testing.T) {
	of := func(node, kubelet string) Node {
		return Node{Node: node, Kubelet: kubelet, Components: []Component{{"etcd", "active", "etcd-0123456789ab"},
			{"kubelet", "active", "kubelet-0123456789ab"}, {"containerd", "active", "containerd-0123456789ab"}}}
	}
	s := Status{Nodes: []Node{of("m1", "v1.35.4"), of("m2", "")},
		Etcd: []Member{{Node: "m1", Version: "3.6.7"}, {Node: "m2"}}}
	s.release()
	var got []string
	for _, n := range s.Nodes {
		for _, c := range n.Components {
			got = append(got, c.Version)
		}
	}
	want := []string{"3.6.7", "v1.35.4", "containerd-0123456789ab", "etcd-0123456789ab", "kubelet-0123456789ab",
		"containerd-0123456789ab"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestImpaired_OnlyConditionsThatAreWrong(t *testing.T) {
	at := metav1.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	condition := func(c corev1.NodeConditionType, s corev1.ConditionStatus, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: c, Status: s, Message: message, LastTransitionTime: at}
	}
	got := impaired(corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue, "kubelet is posting ready status"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionTrue, "kubelet has \x07disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionUnknown, "Kubelet stopped posting node status."),
		condition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, "no route"),
		condition("example.com/Rebooted", corev1.ConditionTrue, "of another program"),
	}}})
	want := []Condition{{"DiskPressure", at.UTC(), "kubelet has disk pressure"},
		{"NetworkUnavailable", at.UTC(), "no route"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestHealthy_NodeWithPressureIsNot(t *testing.T) {
	s := Status{Nodes: []Node{{Reached: true, Registered: true, Ready: true,
		Components: []Component{{Name: string(driver.Kubelet), State: "active"}}}}}
	if !s.healthy(time.Now()) {
		t.Fatal("a node that is ready is not healthy")
	}
	if s.Nodes[0].Conditions = []Condition{{Type: "DiskPressure"}}; s.healthy(time.Now()) {
		t.Error("a node with DiskPressure is healthy")
	}
}
