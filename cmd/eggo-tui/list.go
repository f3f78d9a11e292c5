package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

func newListCmd(env *environment) *cobra.Command {
	var output string
	cmd := &cobra.Command{Use: "list", SuggestFor: []string{"ls", "ps"},
		Short: env.P.T("cli.list.short"), Long: env.P.T("cli.list.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), env, output) }}
	env.outputFlag(cmd, &output)
	return cmd
}

func list(ctx context.Context, env *environment, output string) error {
	st, err := env.existing()
	if err != nil {
		return err
	}
	clusters, err := operation.Clusters(ctx, st)
	if err != nil {
		return err
	}
	operation.AddKubernetes(clusters, env.depsAt(st.Root, output).Bundles)
	if output == cli.JSON {
		out := env.lines()
		for _, c := range clusters {
			out.Put(c)
		}
		return out.Err
	}
	if len(clusters) == 0 {
		fmt.Fprintln(env.Stdout, env.P.T("list.none", "dir", env.stateRoot()))
		return nil
	}
	env.print(present.Clusters(env.where().Printer(env.P.Lang()), clusters))
	return nil
}
