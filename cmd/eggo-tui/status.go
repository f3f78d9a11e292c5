package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newStatusCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "status", SuggestFor: []string{"get", "describe", "health"},
		Short: env.P.T("cli.status.short"), Long: env.P.T("cli.status.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), env, o) }}
	o.looking(cmd, env)
	return cmd
}

// status shows how a cluster is. A cluster that is not well ends it with exit code 3.
func status(ctx context.Context, env *environment, o runOptions) error {
	c, d, err := env.inspecting(ctx, o)
	if err != nil {
		return err
	}
	st, err := operation.Status(ctx, c, d)
	if err != nil {
		return err
	}
	if o.output == "json" {
		out := env.lines()
		if out.Put(present.StatusLine(st)); out.Err != nil {
			return out.Err
		}
	} else {
		env.print(present.Status(env.where().Printer(env.P.Lang()), st))
	}
	if !st.Healthy {
		return reported(event.ClassPartial, "status.unwell")
	}
	return nil
}
