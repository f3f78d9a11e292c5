package main

import (
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operator/bundles"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// newInspectCmd makes the command of the pod that reads a bundle of an Infrastructure.
func newInspectCmd(env *environment) *cobra.Command {
	p := env.P
	var source, report string
	cmd := &cobra.Command{Use: "inspect", Short: p.T("operator.cli.inspect.short"), Hidden: true,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return bundles.Run(cmd.Context(), source, report) }}
	cmd.Flags().StringVar(&source, "source", "", p.T("operator.cli.flag.source"))
	cmd.Flags().StringVar(&report, "report", "/dev/termination-log", p.T("operator.cli.flag.report"))
	return cmd
}
