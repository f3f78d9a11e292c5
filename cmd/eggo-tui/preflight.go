package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newPreflightCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "preflight", SuggestFor: []string{"check", "doctor"},
		Short: env.P.T("cli.preflight.short"), Long: env.P.T("cli.preflight.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return preflight(cmd.Context(), env, o) }}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	return cmd
}

// errorsIn counts what must be fixed before a deploy; an error that is no finding is one more.
func errorsIn(found []event.Finding) int {
	n := 0
	for _, f := range found {
		if f.Severity == event.Error {
			n++
		}
	}
	return max(n, 1)
}

// preflight inspects every node and reports all that stands in the way of deploy, and what the nodes are.
func preflight(ctx context.Context, env *environment, o runOptions) error {
	c, d, err := env.inspecting(ctx, o)
	if err != nil {
		return err
	}
	found, err := operation.Preflight(ctx, c, d)
	if found == nil {
		return err
	}
	if o.output == "json" {
		out := env.lines()
		for _, m := range found.Machines {
			out.Put(m)
		}
		present.BundleLines(out, found.Bundles)
		present.FindingLines(env.P, out, found.Findings)
		return cmp.Or(inspected(err), out.Err)
	}
	env.print(append(present.Machines(env.P, found.Machines), present.Bundles(env.P, found.Bundles)...))
	env.printFindings(found.Findings)
	switch {
	case ctx.Err() != nil: // it was interrupted, and there may be nothing to fix
	case err != nil:
		fmt.Fprintln(env.Stdout, env.P.T("preflight.refused", "count", strconv.Itoa(errorsIn(found.Findings))))
	default:
		fmt.Fprintln(env.Stdout, env.P.T("preflight.passed", "count", strconv.Itoa(len(found.Machines)),
			"command", env.where().Words(found.Deploy)))
	}
	return inspected(err)
}
