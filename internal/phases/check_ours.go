package phases

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/runtimes"
)

// judgeOurs looks at a node that carries this cluster's name. The name alone proves little, it has a default: what
// counts is that the authorities are ours, for to go on with others would end a cluster that works. They are written on
// the jump host before anything of theirs reaches a node, so that an installation that was cut off always finds them.
func (r *run) judgeOurs(n config.Node, f *facts.Facts) []event.Finding {
	if out := r.judgeAuthority(n, f, false); out != nil {
		return out
	}
	var out []event.Finding
	if f.NodeName != "" && f.NodeName != n.Name {
		out = append(out, finding(event.Error, n.Name, "renamed", "was", event.Clean(f.NodeName)))
	}
	if f.OwnRuntime != "" && nodes.IsKubelet(n) && f.OwnRuntime != runtimes.Name(r.Cluster) {
		out = append(out, finding(event.Error, n.Name, "runtime-change", "is", f.OwnRuntime, "want",
			runtimes.Name(r.Cluster)))
	}
	if b := r.BundleFor(n, f); b != nil && f.Kubelet != "" && b.Manifest().Kubernetes != "" &&
		f.Kubelet != b.Manifest().Kubernetes {
		out = append(out, finding(event.Error, n.Name, "version", "is", event.Clean(f.Kubelet), "bundle",
			b.Manifest().Kubernetes))
	}
	return out
}
