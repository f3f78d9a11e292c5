package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

type deleteOptions struct {
	runOptions
	yes, purge, force bool
	drain             time.Duration
}

func newDeleteCmd(env *environment) *cobra.Command {
	p := env.P
	var o deleteOptions
	cmd := &cobra.Command{
		Use:        "delete " + env.P.T("cli.arg.node") + "...",
		SuggestFor: []string{"remove", "rm"},
		Short:      p.T("cli.delete.short"),
		Long:       p.T("cli.delete.long"),
		Example:    "  eggo-tui delete --id k8s-cluster k8s-worker-2 192.168.0.5",
		Args:       cli.Some(env.P.T("cli.arg.node")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return remove(cmd.Context(), env, o, args)
		},
	}
	o.destroying(cmd, env)
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
	f.DurationVar(&o.drain, "drain-timeout", request.DrainTimeout, p.T("cli.delete.drain-timeout"))
}

// remove takes nodes out of the cluster. The cluster's own deploy.yaml loses them at the very end, so that the same
// command continues one that was interrupted.
func remove(ctx context.Context, env *environment, o deleteOptions, args []string) error {
	q, err := o.request(ctx, env, args, func() error {
		if err := env.needsCluster(ctx, "delete", o.named()); err != nil {
			return err
		}
		return env.needsYes(o.yes, "delete")
	})
	if err != nil {
		return err
	}
	if o.yes {
		return env.begin(ctx, o.runOptions, q, nil)
	}
	return env.begin(ctx, o.runOptions, q, env.confirmDelete)
}

// request is what the flags ask for. confirmed is asked before anything is looked for.
func (o *deleteOptions) request(
	ctx context.Context, env *environment, args []string, confirmed func() error,
) (q request.Delete, err error) {
	q = request.Delete{Names: args, Drain: o.drain, Force: o.force, Purge: o.purge}
	if err := q.Validate(); err != nil {
		return q, err
	}
	if err := confirmed(); err != nil {
		return q, err
	}
	q.Common, err = o.runOptions.request(ctx, env)
	return q, err
}
