package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
)

// drainTimeout is how long the eviction of a node's pods may take, unless it is said.
const drainTimeout = 5 * time.Minute

type deleteOptions struct {
	runOptions
	yes, purge, force bool
	drain             time.Duration
}

func newDeleteCmd(env *environment) *cobra.Command {
	p := env.P
	var o deleteOptions
	cmd := &cobra.Command{
		Use:     "delete NAME|IP...",
		Short:   p.T("cli.delete.short"),
		Long:    p.T("cli.delete.long"),
		Example: "  eggo-tui delete --id k8s-cluster k8s-worker-2 192.168.0.5",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return remove(cmd.Context(), env, o, args)
		},
	}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	o.leaveFlags(cmd, env)
	o.hooks.nodeFlags(cmd, env)
	cmd.Flags().BoolVar(&o.yes, "yes", false, p.T("cli.delete.yes"))
	return cmd
}

// leaveFlags say how the nodes leave.
func (o *deleteOptions) leaveFlags(cmd *cobra.Command, env *environment) {
	f, p := cmd.Flags(), env.P
	f.BoolVar(&o.purge, "purge", false, p.T("cli.flag.purge"))
	f.BoolVar(&o.force, "force", false, p.T("cli.delete.force"))
	f.DurationVar(&o.drain, "drain-timeout", drainTimeout, p.T("cli.delete.drain-timeout"))
}

// remove takes nodes out of the cluster. The cluster's own deploy.yaml loses them at the very end, so that the same command goes on with
// what was cut off.
func remove(ctx context.Context, env *environment, o deleteOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := env.needsYes(o.yes, "delete"); err != nil {
		return err
	}
	if o.file == "" {
		var err error
		if o.id, err = onlyCluster(env, o.runOptions); err != nil {
			return err
		}
	}
	j := job{verb: "delete", o: o.runOptions}
	j.only = func(ctx context.Context, s *session) error {
		_, err := s.leaving(ctx, args)
		return err
	}
	j.do = func(ctx context.Context, env *environment) error { return removeHere(ctx, env, o, args) }
	if !o.yes {
		j.ask = func(ctx context.Context, s *session) error {
			nodes, err := s.leaving(ctx, args)
			if err != nil {
				return err
			}
			return s.confirmDelete(ctx, nodes)
		}
	}
	return begin(ctx, env, j)
}

// leaving are the nodes that are named, of the cluster as it is.
func (s *session) leaving(ctx context.Context, args []string) ([]config.Node, error) {
	if err := s.useSaved(ctx); err != nil {
		return nil, err
	}
	return leaving(s.cluster, args)
}

func removeHere(ctx context.Context, env *environment, o deleteOptions, args []string) error {
	s, err := openSession(ctx, env, o.runOptions, "delete")
	if err != nil {
		return err
	}
	defer s.close()
	s.again = o.again(args) + s.again
	l := phases.Leaving{Drain: o.drain, Force: o.force, Purge: o.purge}
	if l.Nodes, err = s.leaving(ctx, args); err != nil {
		return s.over(err)
	}
	if s.hooks, err = o.hooks.load(names(l.Nodes)...); err == nil {
		err = phases.HooksRun(s.hooks, l.Nodes)
	}
	if err != nil {
		return s.over(err)
	}
	if err := s.shorten(ctx, l.Nodes); err != nil {
		return s.over(err)
	}
	l.Left = s.keep
	return s.run(ctx, func(e phases.Env) *engine.Plan { e.Accepted = nil; return phases.Delete(e, l) }, func() []event.Msg {
		return []event.Msg{event.M("next.deleted", "names", strings.Join(names(l.Nodes), ", "), "file", s.savedPath())}
	})
}

// again is the command line that goes on with a delete. That it was confirmed is not said for anybody who copies it.
func (o *deleteOptions) again(args []string) string {
	out := ""
	for _, a := range args {
		out += " " + shellWord(a)
	}
	if o.drain != drainTimeout {
		out += " --drain-timeout " + o.drain.String()
	}
	if o.purge {
		out += " --purge"
	}
	if o.force {
		out += " --force"
	}
	return out
}

func (o deleteOptions) check() error {
	if o.drain <= 0 {
		return event.NewFault(event.ClassUsage, "delete.drain-timeout", nil, "value", o.drain.String())
	}
	return nil
}

// shorten makes the session's deploy.yaml that without the nodes.
func (s *session) shorten(ctx context.Context, nodes []config.Node) error {
	text, problems, err := config.RemoveNodes(s.text, s.file, names(nodes))
	if err != nil {
		return err
	}
	return s.replace(text, problems)
}

func names(nodes []config.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// leaving finds the nodes by name or address, and refuses what the cluster cannot be without.
func leaving(c *config.Cluster, args []string) ([]config.Node, error) {
	usage := func(code string, kv ...string) error {
		return event.NewFault(event.ClassUsage, "delete."+code, nil, append(kv, "cluster", c.Name)...)
	}
	var out []config.Node
	for _, a := range args {
		ip, _ := netip.ParseAddr(a)
		i := slices.IndexFunc(c.Nodes, func(n config.Node) bool { return n.Name == a || n.IP == ip.Unmap() })
		if i < 0 {
			return nil, usage("unknown", "name", a, "known", strings.Join(names(c.Nodes), ", "))
		}
		n := c.Nodes[i]
		if n.Has(bundle.LoadBalancer) {
			return nil, usage("balancer", "name", n.Name)
		}
		if !slices.ContainsFunc(out, func(o config.Node) bool { return o.Name == n.Name }) {
			out = append(out, n)
		}
	}
	for role, code := range map[bundle.Role]string{bundle.ControlPlane: "last-control-plane", bundle.Etcd: "last-etcd"} {
		if !slices.ContainsFunc(out, func(n config.Node) bool { return n.Has(role) }) {
			continue
		}
		stay := 0
		for _, n := range c.With(role) {
			if !slices.ContainsFunc(out, func(o config.Node) bool { return o.Name == n.Name }) {
				stay++
			}
		}
		if stay == 0 {
			return nil, usage(code, "names", strings.Join(names(out), ", "))
		}
	}
	return out, nil
}

// confirmDelete asks for a yes.
func (s *session) confirmDelete(ctx context.Context, nodes []config.Node) error {
	for _, n := range nodes {
		fmt.Fprintf(s.env.Stderr, "  %s  %s  %s\n", n.Name, n.IP, roleList(n))
	}
	answer, err := askLine(ctx, s.env, s.env.P.T("ask.delete", "cluster", s.cluster.Name))
	if err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed-delete", nil)
	}
	return nil
}
