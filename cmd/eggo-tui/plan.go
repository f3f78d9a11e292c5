package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/report"
)

func newPlanCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "plan", Short: env.P.T("cli.plan.short"), Long: env.P.T("cli.plan.long"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o, func(c request.Common) (request.Request, error) {
				return request.Deploy{Common: c}, nil
			})
		}}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	o.limitFlag(cmd, env)
	deploy := &cobra.Command{Use: "deploy", Short: env.P.T("cli.plan.deploy"), Args: cobra.NoArgs, RunE: cmd.RunE}
	o.looking(deploy, env)
	o.trustFlags(deploy, env)
	o.limitFlag(deploy, env)
	var purge bool
	cleanup := &cobra.Command{Use: "cleanup", Short: env.P.T("cli.plan.cleanup"), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o, func(c request.Common) (request.Request, error) {
				return request.Cleanup{Common: c, Purge: purge}, nil
			})
		}}
	o.looking(cleanup, env)
	o.limitFlag(cleanup, env)
	cleanup.Flags().BoolVar(&purge, "purge", false, env.P.T("cli.flag.purge"))
	cmd.AddCommand(deploy, cleanup, newPlanJoinCmd(env), newPlanDeleteCmd(env), newPlanCertsCmd(env),
		newPlanEtcdCmd(env))
	return cmd
}

func newPlanJoinCmd(env *environment) *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{Use: "join [IP...]", Short: env.P.T("cli.plan.join"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.request(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return plan(cmd.Context(), env, o.runOptions,
				func(request.Common) (request.Request, error) { return q, nil })
		}}
	o.lookingAt(cmd, env)
	o.trustFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.machineFlags(cmd, env)
	return cmd
}

func newPlanDeleteCmd(env *environment) *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{Use: "delete NAME|IP...", Short: env.P.T("cli.plan.delete"), Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.request(cmd.Context(), env, args, func() error { return nil })
			if err != nil {
				return err
			}
			return plan(cmd.Context(), env, o.runOptions,
				func(request.Common) (request.Request, error) { return q, nil })
		}}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	o.leaveFlags(cmd, env)
	return cmd
}

func newPlanCertsCmd(env *environment) *cobra.Command {
	var o runOptions
	certs := &cobra.Command{Use: "certs", Short: env.P.T("cli.plan.renew"), Args: cobra.NoArgs}
	renew := &cobra.Command{Use: "renew", Short: env.P.T("cli.plan.renew"), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o, func(c request.Common) (request.Request, error) {
				return request.Renew{Common: c}, nil
			})
		}}
	o.looking(renew, env)
	o.trustFlags(renew, env)
	certs.AddCommand(renew)
	return certs
}

func newPlanEtcdCmd(env *environment) *cobra.Command {
	var o runOptions
	etcd := &cobra.Command{Use: "etcd", Short: env.P.T("cli.plan.restore"), Args: cobra.NoArgs}
	restore := &cobra.Command{Use: "restore " + env.P.T("cli.etcd.arg.file"), Short: env.P.T("cli.plan.restore"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := phases.ReadSnapshot(cmd.Context(), args[0]); err != nil {
				return err
			}
			return plan(cmd.Context(), env, o, func(c request.Common) (request.Request, error) {
				return request.Restore{Common: c, Snapshot: args[0]}, nil
			})
		}}
	o.looking(restore, env)
	etcd.AddCommand(restore)
	return etcd
}

// plan shows what a verb would do, node by node, without doing it. of makes the verb's request of what the flags say to
// all.
func plan(
	ctx context.Context, env *environment, o runOptions, of func(request.Common) (request.Request, error),
) error {
	c, d, err := env.inspecting(o)
	if err != nil {
		return err
	}
	q, err := of(c)
	if err != nil {
		return err
	}
	would, err := operation.Plan(ctx, q, d)
	if would == nil {
		return err
	}
	verb := q.Call().Verb
	if o.output == "json" {
		out := newLines(env)
		bundlesJSON(out, would.Bundles)
		findingsJSON(env, out, would.Findings)
		if err == nil {
			total := 0
			for _, h := range would.Nodes {
				total += len(h.Changes)
				out.put(h)
			}
			out.put(planned{"summary", verb, would.Cluster, would.Steps, total, len(would.Nodes)})
		}
		return cmp.Or(inspected(err), out.err)
	}
	printBundles(env, would.Bundles)
	printFindings(env, would.Findings)
	if err == nil {
		printPlan(env, verb, would)
	}
	return inspected(err)
}

// planned closes the list.
type planned struct {
	Type    string `json:"type"` // summary
	Verb    string `json:"verb"`
	Cluster string `json:"cluster"`
	Steps   int    `json:"steps"`
	Changes int    `json:"changes"`
	Nodes   int    `json:"nodes"`
}

func printPlan(env *environment, verb string, would *operation.PlanResult) {
	p, w := env.P, env.Stdout
	if len(would.Nodes) == 0 {
		fmt.Fprintln(w, p.T("plan.nothing", "verb", verb, "cluster", would.Cluster))
		return
	}
	total := 0
	for _, h := range would.Nodes {
		name := p.T("report.jump-host")
		if h.Node != "" {
			name = h.Node + "  " + h.Address
		}
		line := p.T("plan.node", "node", name, "count", strconv.Itoa(len(h.Changes)))
		if h.Upload > 0 {
			line += p.T("plan.upload", "size", report.Size(h.Upload))
		}
		fmt.Fprintln(w, line)
		for _, c := range h.Changes {
			text := p.Msg(report.Sized(c.Desc))
			if !c.Exact {
				text = p.T("plan.inexact", "step", text)
			}
			fmt.Fprintln(w, "  "+text)
		}
		total += len(h.Changes)
	}
	fmt.Fprintln(w, p.T("plan.total", "verb", verb, "count", strconv.Itoa(total), "steps", strconv.Itoa(would.Steps),
		"cluster", would.Cluster))
}

// printFindings prints what preflight found, on stderr: by cause, with the nodes beneath.
func printFindings(env *environment, list []event.Finding) {
	for _, x := range report.Causes(list) {
		f := x.Findings[0].Fault
		text, next := env.P.Fault(&f)
		names := x.Hosts()
		if len(names) > 1 {
			text = env.P.T("wizard.cause", "count", strconv.Itoa(len(names)), "text", text)
		}
		fmt.Fprintf(env.Stderr, "%s: %s [%s]\n", env.P.T("cli."+string(x.Severity)), text, event.Clean(f.Code))
		if len(names) > 1 {
			fmt.Fprintf(env.Stderr, "  %s\n", event.Clean(strings.Join(report.Ranges(names), ", ")))
		}
		if next != "" {
			fmt.Fprintf(env.Stderr, "  → %s\n", next)
		}
	}
}

// jsonFinding is one of them as a line.
type jsonFinding struct {
	Type     string         `json:"type"` // finding
	Node     string         `json:"node"`
	Severity event.Severity `json:"severity"`
	jsonWords
}

type jsonWords struct {
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Next    string       `json:"next"`
	Fault   *event.Fault `json:"fault"`
}

func findingsJSON(env *environment, out *lines, list []event.Finding) {
	for _, f := range list {
		text, next := env.P.Fault(&f.Fault)
		out.put(jsonFinding{"finding", f.Host, f.Severity, jsonWords{f.Fault.Code, text, next, &f.Fault}})
	}
}
