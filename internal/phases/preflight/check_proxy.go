package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkProxy compares a node with what kube-proxy needs for Services by IPVS: the module ip_vs, and the program ipset,
// which the image of a kube-proxy that is a pod has in it.
func checkProxy() Check {
	return Check{
		Name: "proxy", Codes: []string{"preflight.proxy-module", "preflight.proxy-ipset"}, When: kubelets,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !in.IPVS {
				return nil
			}
			var out []event.Finding
			if f.NoIPVS {
				out = append(out, Finding(event.Error, n.Name, "preflight.proxy-module", "module", "ip_vs"))
			}
			if f.NoIPSetProgram && !in.Cluster.ByKubeadm() && !in.brings(n, "ipset") {
				out = append(out, Finding(event.Error, n.Name, "preflight.proxy-ipset"))
			}
			return out
		},
	}
}

// brings reports whether a package of the bundle is installed on a node: for one of its roles, or because deploy.yaml
// lists it for one. A bundle that was not staged has a finding of its own.
func (in *Input) brings(n config.Node, name string) bool {
	b := in.BundleOf(n)
	if b == nil {
		return true
	}
	if slices.ContainsFunc(b.Manifest().Install, func(p bundle.Package) bool {
		return p.Name == name && slices.ContainsFunc(p.Roles, n.Has)
	}) {
		return true
	}
	return slices.ContainsFunc(n.Roles, func(role bundle.Role) bool {
		return slices.ContainsFunc(in.Cluster.Packages[role], func(p config.Package) bool {
			return p.Name == name && p.Type == "pkg" && p.In(b.Manifest())
		})
	})
}
