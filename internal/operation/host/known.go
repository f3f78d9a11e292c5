package host

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Names that a shell completes. What cannot be read is not offered, and no error.

// KnownClusters returns the names of the clusters.
func (h *Host) KnownClusters(ctx context.Context) []string {
	names, _ := h.store().Known(ctx)
	return names
}

// KnownRuns returns the runs of a cluster, or of all, newest first: each with a tab, the cluster and the verb.
func (h *Host) KnownRuns(ctx context.Context, cluster string) []string {
	all, _ := operation.Overview(ctx, h.store())
	var out []string
	for _, c := range all {
		if cluster != "" && cluster != c.Name {
			continue
		}
		for _, r := range c.Runs {
			out = append(out, r.Run+"\t"+c.Name+" "+r.Verb)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// KnownPlan returns the plan of a run; the newest run if none is named.
func (h *Host) KnownPlan(ctx context.Context, cluster, run string) (plan event.PlanMade) {
	ref, err := operation.FindRun(ctx, h.store(), cluster, run)
	if err != nil {
		return plan
	}
	records, err := operation.Logs(ctx, h.store(), ref, operation.LogFilter{}, false)
	if err != nil {
		return plan
	}
	for rec, err := range records {
		if p, ok := rec.Event.(event.PlanMade); ok && err == nil {
			return p
		}
	}
	return plan
}

// KnownNodes returns the nodes of a deploy.yaml, or of a cluster; if neither is named, those of all clusters and of the
// usual deploy.yaml.
func (h *Host) KnownNodes(ctx context.Context, cluster, file string) []config.Node {
	in := func(file string) []config.Node {
		if c, _, err := config.LoadFile(file); err == nil && c != nil {
			return c.Nodes
		}
		return nil
	}
	if file != "" {
		return in(file)
	}
	all, _ := operation.Overview(ctx, h.store())
	var out []config.Node
	for _, c := range all {
		if cluster == "" || cluster == c.Name {
			out = append(out, c.Nodes...)
		}
	}
	if cluster == "" {
		out = append(out, in(UsualConfig(h.Getenv))...)
	}
	return out
}

// KnownSigners returns the signers whose bundles are installed.
func (h *Host) KnownSigners() []string {
	list, err := trust.In(h.Root).Load()
	if err != nil || list == nil {
		return nil
	}
	var out []string
	for _, l := range list.List() {
		out = append(out, l.Principals)
	}
	return out
}
