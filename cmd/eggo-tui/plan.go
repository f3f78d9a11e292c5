package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/report"
)

func newPlanCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "plan", Short: env.P.T("cli.plan.short"), Long: env.P.T("cli.plan.long"), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o, "deploy", func(_ context.Context, s *session) (planMaker, error) {
				return s.limited(phases.Deploy), nil
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
			return plan(cmd.Context(), env, o, "cleanup", func(_ context.Context, s *session) (planMaker, error) {
				return func(e phases.Env) *engine.Plan {
					if len(s.limit) > 0 {
						return phases.CleanNodes(e, s.within(), purge)
					}
					return phases.Cleanup(e, purge)
				}, nil
			})
		}}
	o.looking(cleanup, env)
	o.limitFlag(cleanup, env)
	cleanup.Flags().BoolVar(&purge, "purge", false, env.P.T("cli.flag.purge"))
	cmd.AddCommand(deploy, cleanup, newPlanJoinCmd(env), newPlanDeleteCmd(env), newPlanCertsCmd(env), newPlanEtcdCmd(env))
	return cmd
}

func newPlanJoinCmd(env *environment) *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{Use: "join [IP...]", Short: env.P.T("cli.plan.join"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fresh, err := o.machines(args)
			if err != nil {
				return err
			}
			if o.id, err = onlyCluster(env, o.runOptions); err != nil {
				return err
			}
			own := o.runOptions
			own.limit = nil // its nodes are known when the machines have names
			return plan(cmd.Context(), env, own, "join", func(ctx context.Context, s *session) (planMaker, error) {
				_, err := s.extend(ctx, o, fresh)
				return s.limited(phases.Deploy), err
			})
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
			if err := o.check(); err != nil {
				return err
			}
			if o.file == "" {
				var err error
				if o.id, err = onlyCluster(env, o.runOptions); err != nil {
					return err
				}
			}
			return plan(cmd.Context(), env, o.runOptions, "delete", func(ctx context.Context, s *session) (planMaker, error) {
				if err := s.useSaved(ctx); err != nil {
					return nil, err
				}
				nodes, err := leaving(s.cluster, args)
				if err != nil {
					return nil, err
				}
				l := phases.Leaving{Nodes: nodes, Drain: o.drain, Force: o.force, Purge: o.purge}
				return func(e phases.Env) *engine.Plan { return phases.Delete(e, l) }, s.shorten(ctx, nodes)
			})
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
			return plan(cmd.Context(), env, o, "certs renew", func(_ context.Context, s *session) (planMaker, error) {
				if _, err := os.Stat(filepath.Join(s.dir, "pki", "ca.crt")); err != nil {
					return nil, event.NewFault(event.ClassUsage, "certs.no-cluster", err, "cluster", s.cluster.Name, "dir", s.files.Journal().Path())
				}
				now := time.Now()
				return func(e phases.Env) *engine.Plan {
					e.RenewBefore = now
					return phases.Deploy(e)
				}, nil
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
	restore := &cobra.Command{Use: "restore " + env.P.T("cli.etcd.arg.file"), Short: env.P.T("cli.plan.restore"), Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			snap, err := phases.ReadSnapshot(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return plan(cmd.Context(), env, o, "etcd restore", func(_ context.Context, s *session) (planMaker, error) {
				if _, err := phases.Restore(s.phasesEnv(), snap); err != nil {
					return nil, err
				}
				return func(e phases.Env) *engine.Plan {
					p, err := phases.Restore(e, snap)
					if err != nil { // what it reads was read a moment ago
						return &engine.Plan{}
					}
					return p
				}, nil
			})
		}}
	o.looking(restore, env)
	etcd.AddCommand(restore)
	return etcd
}

// planMaker makes the plan of a verb.
type planMaker = func(phases.Env) *engine.Plan

// plan shows what a verb would do, node by node, without doing it. ready makes of the session what the verb makes of it.
func plan(ctx context.Context, env *environment, o runOptions, verb string, ready func(context.Context, *session) (planMaker, error)) error {
	would := &collector{}
	s, err := openLook(ctx, env, o, verb, would)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.setLimit(o.limit); err != nil {
		return err
	}
	make, err := ready(ctx, s)
	if err != nil {
		return err
	}
	return s.rehearse(ctx, o, verb, would, make)
}

func (s *session) rehearse(ctx context.Context, o runOptions, verb string, would *collector, make func(phases.Env) *engine.Plan) error {
	sum, err := s.look(ctx, func(e phases.Env) *engine.Plan { return phases.Rehearsal(e, make) })
	hosts := would.changes(sum)
	if o.output == "json" {
		out := newLines(s.env)
		s.bundlesJSON(out)
		would.findingsJSON(s.env, out)
		if err == nil {
			total := 0
			for _, h := range hosts {
				total += len(h.Changes)
				out.put(h)
			}
			out.put(planned{"summary", verb, s.cluster.Name, len(sum.Changed), total, len(hosts)})
		}
		return cmp.Or(gravest(ctx, err, sum), out.err)
	}
	s.printBundles()
	would.findings(s.env)
	if err == nil {
		s.printPlan(verb, hosts, len(sum.Changed))
	}
	return gravest(ctx, err, sum)
}

// plannedHost is what would be done on a host; "" is this machine, the API server and etcd.
type plannedHost struct {
	Type    string          `json:"type"` // node
	Node    string          `json:"node"`
	Address string          `json:"address,omitempty"`
	Roles   []string        `json:"roles,omitempty"`
	Upload  int64           `json:"upload_bytes"`
	Changes []plannedChange `json:"changes"`
}

// plannedChange is one of them: the description of what is changed, or the step's title where what exactly shows only when it is done.
type plannedChange struct {
	Step  string    `json:"step"`
	Desc  event.Msg `json:"desc"`
	Exact bool      `json:"exact"`
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

// collector keeps the events of a verb that only looks.
type collector struct {
	mu  sync.Mutex
	all []event.Event
}

func (c *collector) Emit(r event.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, r.Event)
	return nil
}

// changes are what would be done, by host in the order of deploy.yaml, this machine first; hosts where nothing would be done are left out.
func (c *collector) changes(sum engine.Summary) []plannedHost {
	var made event.PlanMade
	byStep, unsure := map[string][]event.Msg{}, map[string]bool{}
	for _, e := range c.all {
		switch e := e.(type) {
		case event.PlanMade:
			made = e
		case event.Change:
			if !slices.ContainsFunc(byStep[e.Step], func(m event.Msg) bool { return m.Key == e.Desc.Key && fmt.Sprint(m.Args) == fmt.Sprint(e.Desc.Args) }) {
				byStep[e.Step] = append(byStep[e.Step], e.Desc)
			}
		case event.Notice:
			unsure[e.Step] = unsure[e.Step] || e.Text.Key == "plan.unsure"
		}
	}
	var out []plannedHost
	for _, h := range append([]event.Host{{}}, made.Hosts...) {
		p := plannedHost{Type: "node", Node: h.Name, Address: h.Addr, Roles: h.Roles}
		for _, st := range made.Steps {
			if st.Host != h.Name || !slices.Contains(sum.Changed, st.ID) {
				continue
			}
			for _, d := range byStep[st.ID] {
				p.Changes = append(p.Changes, plannedChange{st.ID, d, true})
				if n, err := strconv.ParseInt(d.Args["bytes"], 10, 64); err == nil {
					p.Upload += n
				}
			}
			if len(byStep[st.ID]) == 0 || unsure[st.ID] {
				p.Changes = append(p.Changes, plannedChange{st.ID, st.Title, false})
			}
		}
		if len(p.Changes) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func (s *session) printPlan(verb string, hosts []plannedHost, steps int) {
	p, w := s.env.P, s.env.Stdout
	if len(hosts) == 0 {
		fmt.Fprintln(w, p.T("plan.nothing", "verb", verb, "cluster", s.cluster.Name))
		return
	}
	total := 0
	for _, h := range hosts {
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
	fmt.Fprintln(w, p.T("plan.total", "verb", verb, "count", strconv.Itoa(total), "steps", strconv.Itoa(steps), "cluster", s.cluster.Name))
}

// findings tells what preflight found, on stderr: by cause, with the nodes beneath.
func (c *collector) findings(env *environment) {
	var list []event.Finding
	for _, e := range c.all {
		if f, ok := e.(event.Finding); ok {
			list = append(list, f)
		}
	}
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

func (c *collector) findingsJSON(env *environment, out *lines) {
	for _, e := range c.all {
		if f, ok := e.(event.Finding); ok {
			text, next := env.P.Fault(&f.Fault)
			out.put(jsonFinding{"finding", f.Host, f.Severity, jsonWords{f.Fault.Code, text, next, &f.Fault}})
		}
	}
}
