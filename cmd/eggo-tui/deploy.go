package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newDeployCmd(env *environment) *cobra.Command {
	var o deployOptions
	var rollback bool
	cmd := &cobra.Command{
		Use:        "deploy",
		SuggestFor: []string{"install", "apply", "create"},
		Short:      env.P.T("cli.deploy.short"),
		Long:       env.P.T("cli.deploy.long"),
		Args:       cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rollback {
				return event.NewFault(event.ClassUsage, "usage.rollback", nil)
			}
			return deploy(cmd.Context(), env, o)
		},
	}
	o.flags(cmd, env)
	o.undoFlag(cmd, env)
	o.trustFlags(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.changeFlags(cmd, env)
	// The program of the manual tore everything down when something failed, unless it was told not to.
	cmd.Flags().BoolVar(&rollback, "rollback", false, env.P.T("cli.flag.rollback"))
	cmd.Flags().Lookup("rollback").Hidden = true
	return cmd
}

// deployOptions are the flags of deploy; what is of deploys alone is in the request already.
type deployOptions struct {
	runOptions
	deploy request.Deploy
}

// changeFlags say how nodes get another container runtime.
func (o *deployOptions) changeFlags(cmd *cobra.Command, env *environment) {
	f, p, d := cmd.Flags(), env.P, &o.deploy
	f.DurationVar(&d.Drain, "drain-timeout", request.ChangeDrain, p.T("cli.deploy.drain-timeout"))
	f.BoolVar(&d.Force, "force", false, p.T("cli.deploy.force"))
	f.StringVar(&d.Batch, "batch", "", p.T("cli.deploy.batch"))
}

func deploy(ctx context.Context, env *environment, o deployOptions) error {
	c, err := o.request(ctx, env)
	if err != nil {
		return err
	}
	return env.begin(ctx, o.runOptions, request.With(o.deploy, c), nil)
}
