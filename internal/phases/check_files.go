package phases

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
)

// judgeFiles finds files of somebody else where ours will be, and places that are not safe for them, before the run
// comes to them; all nodes are asked at once.
func (r *run) judgeFiles(ctx context.Context) []event.Finding {
	found := make([][]event.Finding, len(r.Cluster.Nodes))
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		nd, f, b := r.Node(n.Name), r.Fact(n.Name), r.BundleOf(n)
		if nd == nil || f == nil || b == nil || f.Cluster != "" && f.Cluster != r.Cluster.Name {
			continue // told already
		}
		wg.Go(func() { found[i] = append(r.foreignFiles(ctx, n, nd, b), r.judgeTargets(ctx, n, nd, b)...) })
	}
	wg.Wait()
	var all []event.Finding
	for _, list := range found {
		all = append(all, list...)
	}
	return all
}

func (r *run) foreignFiles(ctx context.Context, n config.Node, nd *node.Node, b Bundle) []event.Finding {
	paths := r.driver.Owns(n)
	if n.Has(bundle.LoadBalancer) {
		paths = append(paths, layout.UnitDir+balancer.Unit)
	}
	if nodes.IsKubelet(n) {
		paths = append(paths, r.runtimes.Runtime().Paths(n)...)
	}
	for _, m := range r.Members(n, b.Manifest()) {
		paths = append(paths, m.File)
		if m.Executed {
			paths = append(paths, m.Binary().File)
		}
	}
	out, err := nd.Query(ctx, fmt.Sprintf(`for p in %s; do
  if [ -e "$p" ] || [ -L "$p" ]; then
    awk -F'\t' -v p="$p" '$1=="file" && $2==p {f=1} END {exit !f}' %s/record 2>/dev/null || printf '%%s\n' "$p"
  fi
done
`, node.QuoteAll(paths), node.Dir))
	if err != nil {
		return []event.Finding{{Host: n.Name, Severity: event.Error, Fault: *event.AsFault(err)}}
	}
	if files := strings.Fields(event.Clean(strings.ReplaceAll(out, "\n", " "))); len(files) > 0 {
		return []event.Finding{finding(event.Error, n.Name, "foreign-files", "files", strings.Join(files, ", "))}
	}
	return nil
}

// judgeTargets finds what CheckTargets would refuse on a node.
func (r *run) judgeTargets(ctx context.Context, n config.Node, nd *node.Node, b Bundle) []event.Finding {
	// told already
	list := slices.DeleteFunc(r.Members(n, b.Manifest()),
		func(p payload.Placed) bool { return payload.PlaceFault(p) != nil })
	if nodes.IsKubelet(n) {
		list = append(list, r.PluginPlace())
	}
	faults, err := r.TargetFaults(ctx, nd, list)
	if err != nil {
		faults = append(faults, event.AsFault(err).On(n.Name))
	}
	var out []event.Finding
	for _, f := range faults {
		out = append(out, event.Finding{Host: n.Name, Severity: event.Error, Fault: *f})
	}
	return out
}
