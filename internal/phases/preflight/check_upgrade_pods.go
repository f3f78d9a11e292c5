package preflight

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradePods says what a drain takes away: pods that nobody makes again, and workloads of a single pod, which are
// away until it runs elsewhere.
func checkUpgradePods() Check {
	return Check{
		Name: "upgrade-pods", Codes: []string{"upgrade.pods-bare", "upgrade.pods-single"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			var bare []string
			count, moving := map[string]int{}, map[string]bool{}
			for _, p := range in.has().Pods {
				switch {
				case p.Owner != "" && p.Kind != "Job":
					count[p.Workload()]++
					moving[p.Workload()] = moving[p.Workload()] || in.moves(p)
				case p.Owner == "" && in.moves(p):
					bare = append(bare, p.FullName())
				}
			}
			var single []string
			for name, n := range count {
				if n == 1 && moving[name] {
					single = append(single, name)
				}
			}
			var out []event.Finding
			if len(bare) > 0 {
				out = append(out, Finding(event.Warning, "", "upgrade.pods-bare", "pods", few(bare), "count",
					strconv.Itoa(len(bare))))
			}
			if len(single) > 0 {
				out = append(out, Finding(event.Warning, "", "upgrade.pods-single", "workloads", few(single), "count",
					strconv.Itoa(len(single))))
			}
			return out
		},
	}
}

// has is what the API server has; nothing when that is not known.
func (in *Input) has() objects.Cluster {
	has, _ := in.living()
	if has == nil {
		return objects.Cluster{}
	}
	return *has
}

// moves says whether the pod goes elsewhere in its node's turn.
func (in *Input) moves(p *objects.Pod) bool {
	i := slices.IndexFunc(in.Cluster.Nodes, func(n config.Node) bool { return n.Name == p.Node })
	return !p.Stays() && i >= 0 && in.drained(in.Cluster.Nodes[i])
}

// drained says whether the node is emptied in its turn: one that has the version has had it, and the pods of one stay
// where no other takes them.
func (in *Input) drained(n config.Node) bool {
	turn := in.changes(n)
	if in.Upgrade != nil {
		f := in.Fact(n.Name)
		turn = in.limited(n) && (f == nil || f.Kubelet != in.Upgrade.To)
	}
	return turn && slices.ContainsFunc(in.has().Nodes,
		func(o objects.Node) bool { return o.Open && o.Name != n.Name })
}

// few are the first of names in their order, each once, and that there are more.
func few(names []string) string {
	const most = 8
	once := map[string]bool{}
	for _, name := range names {
		once[event.Clean(name)] = true
	}
	list := slices.Sorted(maps.Keys(once))
	if len(list) > most {
		list = append(list[:most], "…")
	}
	return strings.Join(list, ", ")
}
