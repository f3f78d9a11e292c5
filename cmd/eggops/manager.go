package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets/eggops"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operator/manager"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

func newManagerCmd(env *environment) *cobra.Command {
	p := env.P
	english := i18n.NewPrinter(i18n.English) // everyone reads status and Events
	o := manager.Options{Namespace: cmp.Or(env.Getenv("POD_NAMESPACE"), eggops.Namespace), Metrics: ":8443",
		Health: ":8081", MaxRuns: 20, History: 10, Dialer: dialer, Sentence: english.Fault,
		Log: env.Stderr}
	cmd := &cobra.Command{Use: "manager", Short: p.T("operator.cli.manager.short"),
		Long: p.T("operator.cli.manager.long"), Args: cli.NoArguments,
		// ENABLE_WEBHOOKS of the original eggops has no meaning: there are no webhooks.
		RunE: func(cmd *cobra.Command, _ []string) error { return manager.Run(cmd.Context(), o) }}
	f := cmd.Flags()
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, p.T("operator.cli.flag.namespaces"))
	f.BoolVar(&o.LeaderElection, "leader-elect", true, p.T("operator.cli.flag.leader-elect"))
	f.StringVar(&o.Metrics, "metrics-bind-address", o.Metrics, p.T("operator.cli.flag.metrics"))
	f.StringVar(&o.Health, "health-probe-bind-address", o.Health, p.T("operator.cli.flag.health"))
	f.StringVar(&o.Image.Name, "image", env.Getenv("EGGOPS_IMAGE"), p.T("operator.cli.flag.image"))
	f.StringVar((*string)(&o.Image.PullPolicy), "image-pull-policy", "IfNotPresent",
		p.T("operator.cli.flag.image-pull-policy"))
	f.StringSliceVar(&o.Image.PullSecrets, "image-pull-secret", nil, p.T("operator.cli.flag.image-pull-secret"))
	f.StringSliceVar(&o.Refused, "refused-networks", nil, p.T("operator.cli.flag.refused-networks"))
	f.IntVar(&o.MaxRuns, "max-runs", o.MaxRuns, p.T("operator.cli.flag.max-runs"))
	f.IntVar(&o.History, "history", o.History, p.T("operator.cli.flag.history"))
	return cmd
}

// dialer logs in to machines over SSH, with the credentials of their Secrets alone.
func dialer(own func() config.Addresses) operation.Dialer { return dial.New(dial.Options{Own: own}) }
