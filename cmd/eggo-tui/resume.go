package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

func newResumeCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "resume [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.resume.short"),
		Long: env.P.T("cli.resume.long"), Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return resume(cmd.Context(), env, o, strings.Join(args, ""))
		}}
	o.flags(cmd, env)
	o.undoFlag(cmd, env)
	o.trustFlags(cmd, env)
	return cmd
}

// resume continues a run that did not end well: the newest on this control host unless one is named.
func resume(ctx context.Context, env *environment, o runOptions, run string) error {
	if o.file != "" {
		return deploy(ctx, env, deployOptions{runOptions: o})
	}
	given, err := o.settings()
	if err == nil {
		err = env.knows(ctx, o.id)
	}
	if err != nil {
		return err
	}
	q, err := operation.Resume(ctx, env.stateStore(), o.id, run, given)
	if err != nil {
		return err
	}
	return env.begin(ctx, o, q, nil)
}
