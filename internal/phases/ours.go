package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// ownUnits are the units that the node's roles get.
func ownUnits(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, "etcd")
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	}
	if n.Has(bundle.LoadBalancer) {
		out = append(out, "eggo-lb")
	}
	if nodes.IsKubelet(n) {
		out = append(out, "kubelet", "kube-proxy")
	}
	for i, u := range out {
		out[i] = layout.UnitDir + u + ".service"
	}
	return out
}
