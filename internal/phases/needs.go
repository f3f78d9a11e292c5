package phases

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// executed are the names of the binaries that services of ours on the node execute. All others lie at their places as
// files.
func (r *run) executed(n config.Node) []string {
	out := r.driver.Executes(n)
	if nodes.IsKubelet(n) {
		out = append(out, r.runtimes.Runtime().Executes()...)
	}
	return out
}
