package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// executed are the names of the binaries that services of ours on the node execute. All others lie at their places as
// files.
func (r *run) executed(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, "etcd")
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, "kube-apiserver", "kube-controller-manager", "kube-scheduler")
		if r.DNSBinary() {
			out = append(out, "coredns")
		}
	}
	if nodes.IsKubelet(n) {
		out = append(append(out, "kubelet", "kube-proxy"), r.runtimes.Runtime().Executes()...)
	}
	return out
}
