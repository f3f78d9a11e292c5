package binary

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// TestUnitsOfTheRolesOfANode: what a node runs, in the order of its start, which binaries that needs, and which units
// must be ours alone. CoreDNS is the exception of the last: a unit of that name may have been there before.
func TestUnitsOfTheRolesOfANode(t *testing.T) {
	const master, kubelet = "kube-apiserver kube-controller-manager kube-scheduler", "kubelet kube-proxy"
	for _, c := range []struct {
		roles      []bundle.Role
		dns        string
		runs, owns string
	}{
		{[]bundle.Role{bundle.Etcd}, "pod", "etcd", "etcd"},
		{[]bundle.Role{bundle.ControlPlane}, "pod", master + " " + kubelet, master + " " + kubelet},
		{[]bundle.Role{bundle.Worker}, "pod", kubelet, kubelet},
		{[]bundle.Role{bundle.LoadBalancer}, "pod", "", ""},
		{[]bundle.Role{bundle.Worker, bundle.ControlPlane, bundle.Etcd}, "pod",
			"etcd " + master + " " + kubelet, "etcd " + master + " " + kubelet},
		{[]bundle.Role{bundle.ControlPlane, bundle.Etcd}, "binary",
			"etcd " + master + " coredns " + kubelet, "etcd " + master + " " + kubelet},
		{[]bundle.Role{bundle.Worker, bundle.Etcd}, "binary", "etcd " + kubelet, "etcd " + kubelet},
	} {
		r := made(t, "service: {dns: {corednstype: "+c.dns+"}}\n")
		n := config.Node{Name: "n1", Roles: c.roles}
		if got := strings.Join(r.Executes(n), " "); got != c.runs {
			t.Errorf("%v with %s runs %q, want %q", c.roles, c.dns, got, c.runs)
		}
		if got := units(r.Components(n)); got != unitNames(c.runs) {
			t.Errorf("%v with %s has the units %q, want %q", c.roles, c.dns, got, unitNames(c.runs))
		}
		var owned []string
		for _, file := range r.Owns(n) {
			owned = append(owned, path.Base(file))
		}
		if got := strings.Join(owned, " "); got != unitNames(c.owns) {
			t.Errorf("%v with %s owns %q, want %q", c.roles, c.dns, got, unitNames(c.owns))
		}
		for _, u := range strings.Fields(units(r.Components(n))) { // status and support may not miss one
			if !slices.Contains(r.SupportUnits(), u) {
				t.Errorf("support does not ask of %s", u)
			}
		}
	}
}

// unitNames are the units of components, in the same order.
func unitNames(components string) string {
	var out []string
	for _, c := range strings.Fields(components) {
		out = append(out, c+".service")
	}
	return strings.Join(out, " ")
}
