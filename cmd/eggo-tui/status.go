package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/report"
)

func newStatusCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "status", Short: env.P.T("cli.status.short"), Long: env.P.T("cli.status.long"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), env, o) }}
	o.looking(cmd, env)
	return cmd
}

// status shows how a cluster is. A cluster that is not well ends it with exit code 3.
func status(ctx context.Context, env *environment, o runOptions) error {
	c, d, err := env.inspecting(o)
	if err != nil {
		return err
	}
	st, err := operation.Status(ctx, c, d)
	if err != nil {
		return err
	}
	own := stateStore(env, o.state)
	now, err := operation.Cluster(ctx, own, st.Cluster)
	if err != nil {
		return err
	}
	bundles, err := operation.RecordedBundles(ctx, own, st.Cluster)
	if err != nil {
		return err
	}
	if o.output == "json" {
		out := newLines(env)
		if out.put(statusNow(st, now, bundles)); out.err != nil {
			return out.err
		}
	} else {
		printStatus(env, st, bundles)
		switch {
		case len(now.Waits) > 0:
			printWaits(env, o.state, now)
		case now.Status == "running":
			fmt.Fprintln(env.Stdout, env.P.T("list.goes-on", "run", now.LastRun, "cluster", now.Name))
		}
	}
	if !st.Healthy {
		return reported(event.ClassPartial, "status.unwell")
	}
	return nil
}

// withRun is a status with the run that goes on meanwhile.
type withRun struct {
	*phases.Status
	Bundles []jsonBundle `json:"bundles,omitempty"` // of the last run that installed from some
	Run     *runNow      `json:"run,omitempty"`
}

type runNow struct {
	Run   string         `json:"run"`
	Verb  string         `json:"verb"`
	Waits []request.Wait `json:"waits_for,omitempty"`
}

func statusNow(st *phases.Status, now request.ClusterInfo, bundles []event.Msg) withRun {
	out := withRun{Status: st}
	for _, b := range bundles {
		out.Bundles = append(out.Bundles, bundleOf(b))
	}
	if now.Status == "running" {
		out.Run = &runNow{now.LastRun, now.Verb, now.Waits}
	}
	return out
}

func printStatus(env *environment, st *phases.Status, bundles []event.Msg) {
	p, w := env.P, env.Stdout
	table := func(rows [][]string) {
		for _, l := range report.Columns(rows) {
			fmt.Fprintln(w, l)
		}
		fmt.Fprintln(w)
	}
	rows := [][]string{{p.T("col.node"), p.T("col.address"), p.T("col.roles"), p.T("col.status"), p.T("col.version"),
		p.T("col.components"), p.T("col.certificates")}}
	for _, n := range st.Nodes {
		rows = append(rows, []string{n.Node, n.Address, strings.Join(n.Roles, ","), nodeState(env, n), n.Kubelet,
			components(env, n), firstEnd(n)})
	}
	table(rows)
	if len(st.Etcd) > 0 {
		rows = [][]string{{"ETCD", p.T("col.status"), p.T("col.version"), p.T("col.size"), ""}}
		for _, e := range st.Etcd {
			state, more := p.T("status.well"), strings.Join(e.Alarms, ", ")
			if !e.Healthy {
				state, more = p.T("status.ill"), strings.TrimSpace(more+" "+e.Error)
			}
			if e.Leader {
				state = p.List([]string{state, p.T("status.leader")})
			}
			if e.Learner {
				state = p.List([]string{state, p.T("status.learner")})
			}
			rows = append(rows, []string{e.Node, state, e.Version, report.Size(e.DBBytes), more})
		}
		table(rows)
	}
	if len(st.Workloads) > 0 {
		rows = [][]string{{p.T("col.workload"), p.T("col.ready")}}
		for _, l := range st.Workloads {
			rows = append(rows, []string{event.Clean(l.Kind + " " + l.Name), fmt.Sprintf("%d/%d", l.Ready, l.Want)})
		}
		table(rows)
	}
	for _, n := range st.Nodes {
		if n.Fault != nil {
			text, _ := p.Fault(n.Fault)
			fmt.Fprintln(w, text)
		} else if n.Why != "" {
			fmt.Fprintln(w, n.Node+": "+n.Why)
		}
	}
	if st.Unknown != nil {
		text, next := p.Fault(st.Unknown)
		fmt.Fprintln(w, text)
		if next != "" {
			fmt.Fprintln(w, "  → "+next)
		}
	}
	for _, b := range bundles {
		fmt.Fprintln(w, p.Msg(b))
	}
	for _, d := range st.Drift {
		fmt.Fprintln(w, p.Msg(d))
	}
	if st.Healthy {
		fmt.Fprintln(w, p.T("status.all-well", "cluster", st.Cluster))
	} else {
		fmt.Fprintln(w, p.T("status.unwell", "cluster", st.Cluster))
	}
}

func nodeState(env *environment, n phases.NodeStatus) string {
	switch {
	case !n.Reached:
		return env.P.T("status.unreached")
	case n.Registered && n.Ready:
		return "Ready"
	case n.Registered:
		return "NotReady"
	}
	return "-"
}

// components names those that do not run as they should, else how many do.
func components(env *environment, n phases.NodeStatus) string {
	var bad []string
	for _, c := range n.Components {
		if c.State != "active" {
			bad = append(bad, c.Name+": "+c.State)
		}
	}
	if len(bad) > 0 {
		return strings.Join(bad, ", ")
	}
	if len(n.Components) == 0 {
		return "-"
	}
	return env.P.T("status.run", "count", fmt.Sprint(len(n.Components)))
}

// firstEnd is the day on which the first of a node's certificates ends.
func firstEnd(n phases.NodeStatus) string {
	var first time.Time
	for _, c := range n.Certificates {
		if first.IsZero() || c.Ends.Before(first) {
			first = c.Ends
		}
	}
	if first.IsZero() {
		return "-"
	}
	return first.Format(time.DateOnly)
}
