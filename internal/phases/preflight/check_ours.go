package preflight

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkOurs is about a node that carries this cluster's name. The name alone proves little, it has a default: what
// counts is that the authorities are ours, for to continue with others would end a cluster that works. They are written
// on the jump host before anything of theirs reaches a node, so that an installation that was cut off always finds
// them. Where they are not ours, that alone is told.
func checkOurs() Check {
	return Check{
		Name: "ours", Needs: Ours,
		Codes: []string{"preflight.state-elsewhere", "state.read", "preflight.renamed", "preflight.runtime-change",
			"preflight.version"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if out := authorityFindings(in, n, f, false); out != nil {
				return out
			}
			var out []event.Finding
			if f.NodeName != "" && f.NodeName != n.Name {
				out = append(out, Finding(event.Error, n.Name, "preflight.renamed", "was", event.Clean(f.NodeName)))
			}
			turns := in.Change != nil && f.Joined && !in.Undo
			if others := in.others(f); len(others) > 0 && inventory.IsKubelet(n) && !turns {
				out = append(out, Finding(event.Error, n.Name, "preflight.runtime-change", "is",
					strings.Join(others, ", "), "want", in.Runtime))
			}
			if b := in.BundleFor(n, f); in.Upgrade == nil && b != nil && f.Kubelet != "" &&
				b.Manifest().Kubernetes != "" && f.Kubelet != b.Manifest().Kubernetes {
				out = append(out, Finding(event.Error, n.Name, "preflight.version", "is", event.Clean(f.Kubelet),
					"bundle", b.Manifest().Kubernetes))
			}
			return out
		},
	}
}
