package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/phases"
)

func newPlanCmd(env *environment) *cobra.Command {
	var o deployOptions
	cmd := &cobra.Command{Use: "plan", SuggestFor: []string{"diff"},
		Short: env.P.T("cli.plan.short"), Long: env.P.T("cli.plan.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o.runOptions, func(c request.Common) (request.Request, error) {
				return request.With(o.deploy, c), nil
			})
		}}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.changeFlags(cmd, env)
	deploy := &cobra.Command{Use: "deploy", Short: env.P.T("cli.plan.deploy"), Args: cli.NoArguments, RunE: cmd.RunE}
	o.looking(deploy, env)
	o.trustFlags(deploy, env)
	o.limitFlag(deploy, env)
	o.changeFlags(deploy, env)
	var purge bool
	cleanup := &cobra.Command{Use: "cleanup", Short: env.P.T("cli.plan.cleanup"), Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o.runOptions, func(c request.Common) (request.Request, error) {
				return request.Cleanup{Common: c, Purge: purge}, nil
			})
		}}
	o.looking(cleanup, env)
	o.limitFlag(cleanup, env)
	cleanup.Flags().BoolVar(&purge, "purge", false, env.P.T("cli.flag.purge"))
	cmd.AddCommand(deploy, cleanup, newPlanJoinCmd(env), newPlanDeleteCmd(env), newPlanCertsCmd(env),
		newPlanEtcdCmd(env), newPlanUpgradeCmd(env))
	return cmd
}

func newPlanJoinCmd(env *environment) *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{Use: "join [IP...]", Short: env.P.T("cli.plan.join"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.request(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			return plan(cmd.Context(), env, o.runOptions,
				func(request.Common) (request.Request, error) { return q, nil })
		}}
	o.lookingAt(cmd, env)
	o.trustFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.machineFlags(cmd, env)
	return cmd
}

func newPlanDeleteCmd(env *environment) *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{Use: "delete " + env.P.T("cli.arg.node") + "...", Short: env.P.T("cli.plan.delete"),
		Args: cli.Some(env.P.T("cli.arg.node")),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.request(cmd.Context(), env, args, func() error { return nil })
			if err != nil {
				return err
			}
			return plan(cmd.Context(), env, o.runOptions,
				func(request.Common) (request.Request, error) { return q, nil })
		}}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	o.leaveFlags(cmd, env)
	return cmd
}

func newPlanCertsCmd(env *environment) *cobra.Command {
	var o runOptions
	certs := group(env, "certs", env.P.T("cli.plan.renew"))
	renew := &cobra.Command{Use: "renew", Short: env.P.T("cli.plan.renew"), Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), env, o, func(c request.Common) (request.Request, error) {
				return request.Renew{Common: c}, nil
			})
		}}
	o.looking(renew, env)
	o.trustFlags(renew, env)
	certs.AddCommand(renew)
	return certs
}

func newPlanEtcdCmd(env *environment) *cobra.Command {
	var o runOptions
	etcd := group(env, "etcd", env.P.T("cli.plan.restore"))
	restore := &cobra.Command{Use: "restore " + env.P.T("cli.arg.file"), Short: env.P.T("cli.plan.restore"),
		Args: cli.Exactly(env.P.T("cli.arg.file")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := phases.ReadSnapshot(cmd.Context(), args[0]); err != nil {
				return err
			}
			return plan(cmd.Context(), env, o, func(c request.Common) (request.Request, error) {
				return request.Restore{Common: c, Snapshot: args[0]}, nil
			})
		}}
	o.looking(restore, env)
	etcd.AddCommand(restore)
	return etcd
}

// plan shows what a verb would do, node by node, without doing it. of makes the verb's request of what the flags say to
// all.
func plan(
	ctx context.Context, env *environment, o runOptions, of func(request.Common) (request.Request, error),
) error {
	c, d, err := env.inspecting(ctx, o)
	if err != nil {
		return err
	}
	q, err := of(c)
	if err != nil {
		return err
	}
	would, err := operation.Plan(ctx, q, d)
	if would == nil {
		return err
	}
	verb := q.Call().Verb
	if o.output == "json" {
		out := env.lines()
		present.BundleLines(out, would.Bundles)
		present.FindingLines(env.P, out, would.Findings)
		if err == nil {
			present.PlanLines(env.P, out, verb, would)
		}
		return cmp.Or(inspected(err), out.Err)
	}
	env.print(present.Bundles(env.P, would.Bundles))
	env.printFindings(would.Findings)
	if err == nil {
		env.print(present.Plan(env.P, verb, would))
	}
	return inspected(err)
}
