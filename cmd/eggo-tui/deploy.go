package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/cli"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

func newDeployCmd(env *environment) *cobra.Command {
	var o runOptions
	var rollback bool
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: env.P.T("cli.deploy.short"),
		Long:  env.P.T("cli.deploy.long"),
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rollback {
				return event.NewFault(event.ClassUsage, "usage.rollback", nil)
			}
			return deploy(cmd.Context(), env, o)
		},
	}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	o.limitFlag(cmd, env)
	// The program of the manual tore everything down when something failed, unless it was told not to.
	cmd.Flags().BoolVar(&rollback, "rollback", false, env.P.T("cli.flag.rollback"))
	cmd.Flags().Lookup("rollback").Hidden = true
	return cmd
}

func deploy(ctx context.Context, env *environment, o runOptions) error {
	c, err := o.request(env)
	if err != nil {
		return err
	}
	return env.begin(ctx, o, request.Deploy{Common: c}, nil)
}
