package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
)

func newCleanupCmd(env *environment) *cobra.Command {
	var o runOptions
	var yes, purge bool
	var only []string
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: env.P.T("cli.cleanup.short"),
		Long:  env.P.T("cli.cleanup.long"),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cleanup(cmd.Context(), env, o, only, yes, purge)
		},
	}
	o.flags(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	cmd.Flags().BoolVar(&yes, "yes", false, env.P.T("cli.flag.yes"))
	cmd.Flags().StringSliceVar(&only, "node", nil, env.P.T("cli.cleanup.node"))
	cmd.Flags().BoolVar(&purge, "purge", false, env.P.T("cli.flag.purge"))
	o.limitFlag(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("node", "limit")
	return cmd
}

func cleanup(ctx context.Context, env *environment, o runOptions, only []string, yes, purge bool) error {
	if err := env.needsYes(yes, "cleanup"); err != nil {
		return err
	}
	j := job{verb: "cleanup", o: o, only: func(_ context.Context, s *session) error { return s.cleaned(o.limit, only) }}
	j.do = func(ctx context.Context, env *environment) error { return cleanupHere(ctx, env, o, only, purge) }
	if !yes {
		j.ask = func(ctx context.Context, s *session) error { return s.confirmCleanup(ctx, purge) }
	}
	return begin(ctx, env, j)
}

// cleaned makes the session's cluster the machines that are cleaned.
func (s *session) cleaned(limit, only []string) error {
	if len(only) > 0 {
		nodes, err := alone(s.cluster, only)
		if err != nil {
			return err
		}
		c := *s.cluster
		c.Nodes = nodes
		s.cluster = &c
		s.again = " --node " + strings.Join(only, ",") + s.again
	}
	if len(limit) > 0 {
		// The cluster is not over while some of its machines stay: so it is a cleanup of machines alone.
		if err := s.setLimit(limit); err != nil {
			return err
		}
		c := *s.cluster
		c.Nodes = s.within()
		s.cluster = &c
	}
	return nil
}

func cleanupHere(ctx context.Context, env *environment, o runOptions, only []string, purge bool) error {
	s, err := openSession(ctx, env, o, "cleanup")
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.cleaned(o.limit, only); err != nil {
		return s.over(err)
	}
	if purge {
		s.again += " --purge"
	}
	return s.run(ctx, func(e phases.Env) *engine.Plan {
		if len(only)+len(s.limit) > 0 {
			return phases.CleanNodes(e, s.cluster.Nodes, purge)
		}
		return phases.Cleanup(e, purge)
	}, func() []event.Msg {
		return []event.Msg{event.M("next.cleaned", "path", s.dir)}
	})
}

// alone finds machines by name or address; an address that the cluster does not have any more may have had any role.
func alone(c *config.Cluster, only []string) ([]config.Node, error) {
	var out []config.Node
	for _, a := range only {
		ip, err := netip.ParseAddr(a)
		i := slices.IndexFunc(c.Nodes, func(n config.Node) bool { return n.Name == a || n.IP == ip.Unmap() })
		switch {
		case i >= 0:
			out = append(out, c.Nodes[i])
		case err == nil:
			out = append(out, config.Node{Name: a, IP: ip.Unmap(), Port: 22, Arch: "amd64", Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd}})
		default:
			return nil, event.NewFault(event.ClassUsage, "cleanup.unknown", nil, "name", a, "cluster", c.Name, "known", strings.Join(names(c.Nodes), ", "))
		}
	}
	return out, nil
}

// confirmCleanup shows what will go, from the records of the machines themselves, and asks for the cluster's name.
func (s *session) confirmCleanup(ctx context.Context, purge bool) error {
	if err := s.tellStock(ctx, s.env.Stderr, purge); err != nil {
		return err
	}
	return s.confirmName(ctx)
}

// confirm asks for the cluster's name, after its machines.
func (s *session) confirm(ctx context.Context) error {
	for _, n := range s.cluster.Nodes {
		fmt.Fprintf(s.env.Stderr, "  %s  %s  %s\n", n.Name, n.IP, roleList(n))
	}
	return s.confirmName(ctx)
}

func (s *session) confirmName(ctx context.Context) error {
	name, err := askLine(ctx, s.env, s.env.P.T("ask.cluster-name", "cluster", s.cluster.Name))
	if err != nil {
		return err
	}
	if name != s.cluster.Name {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed", nil)
	}
	return nil
}
