package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
)

func newCleanupCmd(env *environment) *cobra.Command {
	var o runOptions
	var yes, purge bool
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: env.P.T("cli.cleanup.short"),
		Long:  env.P.T("cli.cleanup.long"),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cleanup(cmd.Context(), env, o, yes, purge)
		},
	}
	o.flags(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	cmd.Flags().BoolVar(&yes, "yes", false, env.P.T("cli.flag.yes"))
	cmd.Flags().BoolVar(&purge, "purge", false, env.P.T("cli.flag.purge"))
	return cmd
}

func cleanup(ctx context.Context, env *environment, o runOptions, yes, purge bool) error {
	if _, ok := terminal(env); !yes && !ok {
		return event.NewFault(event.ClassUsage, "usage.needs-yes", nil, "verb", "cleanup")
	}
	s, err := openSession(ctx, env, o, "cleanup")
	if err != nil {
		return err
	}
	defer s.close()
	if !yes {
		if err := s.confirm(ctx); err != nil {
			return err
		}
	}
	return s.run(ctx, func(e phases.Env) *engine.Plan { return phases.Cleanup(e, purge) }, func() []event.Msg {
		return []event.Msg{event.M("next.cleaned", "path", s.dir)}
	})
}

// confirm asks for the cluster's name.
func (s *session) confirm(ctx context.Context) error {
	for _, n := range s.cluster.Nodes {
		fmt.Fprintf(s.env.Stderr, "  %s  %s  %s\n", n.Name, n.IP, roleList(n))
	}
	name, err := askLine(ctx, s.env, s.env.P.T("ask.cluster-name", "cluster", s.cluster.Name))
	if err != nil {
		return err
	}
	if name != s.cluster.Name {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed", nil)
	}
	return nil
}
