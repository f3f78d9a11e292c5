package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

func newCleanupCmd(env *environment) *cobra.Command {
	var o runOptions
	var yes, purge bool
	var only []string
	cmd := &cobra.Command{
		Use:        "cleanup",
		SuggestFor: []string{"uninstall", "reset", "destroy", "purge"},
		Short:      env.P.T("cli.cleanup.short"),
		Long:       env.P.T("cli.cleanup.long"),
		Args:       cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cleanup(cmd.Context(), env, o, only, yes, purge)
		},
	}
	o.destroying(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	cmd.Flags().BoolVar(&yes, "yes", false, env.P.T("cli.flag.yes"))
	cmd.Flags().StringSliceVar(&only, "node", nil, env.P.T("cli.cleanup.node"))
	cmd.Flags().BoolVar(&purge, "purge", false, env.P.T("cli.flag.purge"))
	o.limitFlag(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("node", "limit")
	return cmd
}

func cleanup(ctx context.Context, env *environment, o runOptions, only []string, yes, purge bool) error {
	if err := env.needsCluster(ctx, "cleanup", o.named()); err != nil {
		return err
	}
	if err := env.needsYes(yes, "cleanup"); err != nil {
		return err
	}
	c, err := o.request(ctx, env)
	if err != nil {
		return err
	}
	q := request.Cleanup{Common: c, Nodes: only, Purge: purge}
	if yes {
		return env.begin(ctx, o, q, nil)
	}
	return env.begin(ctx, o, q, func(ctx context.Context, s *operation.Scope) error {
		return env.confirmCleanup(ctx, s, purge)
	})
}
