package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newSupportCmd(env *environment) *cobra.Command {
	var o logOptions
	var file string
	cmd := &cobra.Command{Use: "support [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.support.short"),
		Long: env.P.T("cli.support.long"), Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return support(cmd.Context(), env, o, strings.Join(args, ""), file)
		}}
	o.which(cmd, env)
	cmd.Flags().StringVarP(&file, "out", "o", "", env.P.T("cli.support.out"))
	return cmd
}

// support packs what was logged of a run, without the secrets, for somebody who is to find a fault.
func support(ctx context.Context, env *environment, o logOptions, run, file string) error {
	if err := env.knows(ctx, o.id); err != nil {
		return err
	}
	file, names, err := env.host().Support(ctx, o.id, run, file, func(c request.ClusterInfo) map[string]string {
		list, err := env.host().UnitStates(ctx, c)
		out := map[string]string{}
		if err != nil {
			out["units.txt"] = why(env, err) + "\n"
			fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", c.Name, "cause", why(env, err)))
		}
		for _, u := range list {
			name := "nodes/" + u.Node.Name + ".units.txt"
			if out[name] = u.Value; u.Err != nil {
				out[name] = why(env, u.Err) + "\n"
				fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", u.Node.Name, "cause", why(env, u.Err)))
			}
		}
		return out
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		fmt.Fprintln(env.Stdout, "  "+n)
	}
	fmt.Fprintln(env.Stdout, env.P.T("support.written", "file", file))
	return nil
}

// why words the fault for the archive.
func why(env *environment, err error) string {
	text, _ := env.P.Fault(event.AsFault(err))
	return event.Clean(text)
}
