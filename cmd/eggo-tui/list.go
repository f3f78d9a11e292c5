package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/cli"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/present"
)

func newListCmd(env *environment) *cobra.Command {
	var state, output string
	cmd := &cobra.Command{Use: "list", Short: env.P.T("cli.list.short"), Long: env.P.T("cli.list.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), env, state, output) }}
	env.outputFlag(cmd, &output)
	cmd.Flags().StringVar(&state, "state-dir", "", env.P.T("cli.flag.state"))
	return cmd
}

func list(ctx context.Context, env *environment, state, output string) error {
	clusters, err := operation.Clusters(ctx, stateStore(env, state))
	if err != nil {
		return err
	}
	if output == cli.JSON {
		out := env.lines()
		for _, c := range clusters {
			out.Put(c)
		}
		return out.Err
	}
	if len(clusters) == 0 {
		fmt.Fprintln(env.Stdout, env.P.T("list.none", "dir", stateRoot(env, state)))
		return nil
	}
	env.print(present.Clusters(env.where(state).Printer(env.P.Lang()), clusters))
	return nil
}

// stateRoot is --state-dir, or the user's.
func stateRoot(env *environment, flag string) string {
	return cmp.Or(flag, journal.StateDir(env.Getenv, os.Geteuid()))
}

// stateStore has the clusters of it.
func stateStore(env *environment, flag string) store.Dir {
	return store.Dir{Root: stateRoot(env, flag)}
}
