package host

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What is offered to whoever types a name. What cannot be read is not known, and no error.

// KnownClusters are the names of the clusters.
func (h *Host) KnownClusters(ctx context.Context) []string {
	names, _ := h.store().Known(ctx)
	return names
}

// KnownRuns are the runs of a cluster, or of all, the newest first: with a tab the cluster and the verb behind it.
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

// KnownPlan is what a run was to do; the newest where none is named.
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

// KnownNodes are those of a deploy.yaml, or of a cluster; where none is named, those of all clusters and of the usual
// deploy.yaml.
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

// KnownSigners are those whose bundles are installed.
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
