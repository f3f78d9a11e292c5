package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// upgradeOptions are the flags of upgrade; what is of upgrades alone is in the request already.
type upgradeOptions struct {
	runOptions
	upgrade   request.Upgrade
	back, yes bool
}

func newUpgradeCmd(env *environment) *cobra.Command {
	p := env.P
	var o upgradeOptions
	cmd := &cobra.Command{
		Use:        "upgrade",
		SuggestFor: []string{"update", "rollback"},
		Short:      p.T("cli.upgrade.short"),
		Long:       p.T("cli.upgrade.long"),
		Example: "  eggo-tui upgrade --id k8s-cluster --bundle eggo-amd64.tar.gz --bundle eggo-arm64.tar.gz\n" +
			"  eggo-tui upgrade --id k8s-cluster --back",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return bringUp(cmd.Context(), env, o) },
	}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.upgradeFlags(cmd, env)
	cmd.Flags().BoolVar(&o.yes, "yes", false, p.T("cli.flag.yes"))
	cmd.PreRun = func(cmd *cobra.Command, _ []string) { o.said(cmd) }
	return cmd
}

// said keeps which options are named: they count when an upgrade is continued, also where they say what is usual.
func (o *upgradeOptions) said(cmd *cobra.Command) {
	for _, name := range []request.Option{request.OptionDrain, request.OptionSoak, request.OptionBatch,
		request.OptionProbe, request.OptionWindow, request.OptionPackages} {
		if cmd.Flags().Changed(string(name)) {
			o.upgrade.Said = append(o.upgrade.Said, name)
		}
	}
}

// upgradeFlags say to what and how.
func (o *upgradeOptions) upgradeFlags(cmd *cobra.Command, env *environment) {
	f, p, u := cmd.Flags(), env.P, &o.upgrade
	f.StringArrayVar(&u.Bundles, "bundle", nil, p.T("cli.upgrade.bundle"))
	f.DurationVar(&u.Drain, "drain-timeout", request.DrainTimeout, p.T("cli.delete.drain-timeout"))
	f.BoolVar(&u.Force, "force", false, p.T("cli.upgrade.force"))
	f.StringVar(&u.Batch, "batch", "", p.T("cli.upgrade.batch"))
	f.DurationVar(&u.Soak, "soak", request.SoakTime, p.T("cli.upgrade.soak"))
	f.StringVar(&u.Probe, "probe", "", p.T("cli.upgrade.probe"))
	f.StringVar(&u.Window, "window", "", p.T("cli.upgrade.window"))
	f.BoolVar(&u.Packages, "packages", false, p.T("cli.upgrade.packages"))
	f.BoolVar(&o.back, "back", false, p.T("cli.upgrade.back"))
	for _, name := range []string{
		"bundle", "soak", "probe", "window", "packages",
	} {
		cmd.MarkFlagsMutuallyExclusive("back", name)
	}
}

// bringUp brings the cluster to the version of other bundles, or takes that back.
func bringUp(ctx context.Context, env *environment, o upgradeOptions) error {
	q, err := o.request(ctx, env, func() error {
		if o.back {
			if err := env.needsCluster(ctx, "upgrade --back", o.named()); err != nil {
				return err
			}
		}
		return env.needsYes(o.yes, "upgrade")
	})
	if err != nil {
		return err
	}
	if o.yes {
		return env.begin(ctx, o.runOptions, q, nil)
	}
	return env.begin(ctx, o.runOptions, q, func(ctx context.Context, s *operation.Scope) error {
		return env.confirmUpgrade(ctx, s, o.back)
	})
}

// request is what the flags ask for. confirmed is asked before anything is looked for.
func (o *upgradeOptions) request(
	ctx context.Context, env *environment, confirmed func() error,
) (request.Request, error) {
	u := o.upgrade
	u.Bundles = nil
	for _, b := range o.upgrade.Bundles {
		path, err := filepath.Abs(b)
		if err != nil {
			return nil, usageFault(err)
		}
		u.Bundles = append(u.Bundles, path)
	}
	u.Limit = o.limit
	q := request.Request(u)
	if o.back {
		q = request.Back{Common: u.Common, Drain: u.Drain, Force: u.Force, Batch: u.Batch}
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	err := confirmed()
	if err != nil {
		return nil, err
	}
	if u.Common, err = o.runOptions.request(ctx, env); err != nil {
		return nil, err
	}
	return request.With(q, u.Common), nil
}

// confirmUpgrade shows the nodes and the versions, and asks for a yes where something is to do.
func (env *environment) confirmUpgrade(ctx context.Context, s *operation.Scope, back bool) error {
	versions := s.Versions()
	if len(versions) < 2 {
		return nil
	}
	env.listNodes(s.Targets())
	ask := env.P.T("ask.upgrade", "cluster", s.Cluster().Name, "from", versions[0],
		"versions", strings.Join(versions[1:], ", "))
	if back {
		ask = env.P.T("ask.upgrade-back", "cluster", s.Cluster().Name, "from", versions[0], "to", versions[1])
	}
	answer, err := askLine(ctx, env, ask)
	if err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed-delete", nil)
	}
	return nil
}

func newPlanUpgradeCmd(env *environment) *cobra.Command {
	var o upgradeOptions
	cmd := &cobra.Command{Use: "upgrade", Short: env.P.T("cli.plan.upgrade"), Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := o.request(cmd.Context(), env, func() error { return nil })
			if err != nil {
				return err
			}
			return plan(cmd.Context(), env, o.runOptions,
				func(request.Common) (request.Request, error) { return q, nil })
		}}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.upgradeFlags(cmd, env)
	cmd.PreRun = func(cmd *cobra.Command, _ []string) { o.said(cmd) }
	return cmd
}
