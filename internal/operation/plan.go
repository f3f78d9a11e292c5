package operation

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// PlanResult is what a request would change.
type PlanResult struct {
	Cluster  string
	Steps    int // that would change something
	Nodes    []request.PlannedNode
	Notices  []event.Msg // what is to be known before it begins
	Findings []event.Finding
	Failed   []event.Fault // what kept it from inspecting nodes
	Bundles  []event.Msg   // and who signed them
}

// Plan is the dry run of a request: everything is inspected, and nothing changed. Where nodes could be inspected there
// is a result beside the error.
func Plan(ctx context.Context, of request.Request, d Deps) (*PlanResult, error) {
	i, err := inspectHere(ctx, of, d)
	if err != nil {
		return nil, err
	}
	defer i.close()
	if err := i.private(ctx); err != nil {
		return nil, err
	}
	if err := i.check(ctx); err != nil {
		return nil, err
	}
	w, err := i.shape(ctx)
	if err != nil {
		return nil, err
	}
	sum, err := i.run(ctx, func(e phases.Env) *engine.Plan { return phases.DryRun(e, w.plan) })
	return &PlanResult{
		Cluster: i.cluster.Name, Steps: len(sum.Changed), Nodes: i.seen.changes(sum),
		Notices: i.seen.beforehand(), Findings: i.seen.findings(), Failed: failures(sum),
		Bundles: i.bundles.Checked(),
	}, err
}

// beforehand are the notices of preflight's last step: what an operator has to know before anything is done.
func (c *collector) beforehand() []event.Msg {
	var out []event.Msg
	for _, e := range c.all {
		if n, ok := e.(event.Notice); ok && n.Step == "preflight.verdict" {
			out = append(out, n.Text)
		}
	}
	return out
}

// changes are what would be done, by node in the order of deploy.yaml, the control host first; nodes where nothing
// would be done are not in it.
func (c *collector) changes(sum engine.Summary) []request.PlannedNode {
	var made event.PlanMade
	byStep, unsure := map[string][]event.Msg{}, map[string]bool{}
	for _, e := range c.all {
		switch e := e.(type) {
		case event.PlanMade:
			made = e
		case event.Change:
			if !slices.ContainsFunc(byStep[e.Step], func(m event.Msg) bool {
				return m.Key == e.Desc.Key && maps.Equal(m.Args, e.Desc.Args)
			}) {
				byStep[e.Step] = append(byStep[e.Step], e.Desc)
			}
		case event.Notice:
			unsure[e.Step] = unsure[e.Step] || e.Text.Key == "plan.unsure"
		}
	}
	var out []request.PlannedNode
	for _, h := range append([]event.Host{{}}, made.Hosts...) {
		p := request.PlannedNode{Type: "node", Node: h.Name, Address: h.Addr, Roles: h.Roles}
		for _, st := range made.Steps {
			if st.Host != h.Name || !slices.Contains(sum.Changed, st.ID) {
				continue
			}
			for _, d := range byStep[st.ID] {
				p.Changes = append(p.Changes, request.PlannedChange{Step: st.ID, Desc: d, Exact: true})
				if n, err := strconv.ParseInt(d.Args["bytes"], 10, 64); err == nil {
					p.Upload += n
				}
			}
			if len(byStep[st.ID]) == 0 || unsure[st.ID] {
				p.Changes = append(p.Changes, request.PlannedChange{Step: st.ID, Desc: st.Title})
			}
		}
		if len(p.Changes) > 0 {
			out = append(out, p)
		}
	}
	return out
}
