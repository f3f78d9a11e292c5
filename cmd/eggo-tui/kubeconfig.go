package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newKubeconfigCmd(env *environment) *cobra.Command {
	var q request.Kubeconfig
	var out string
	cmd := &cobra.Command{
		Use: "kubeconfig", Short: env.P.T("cli.kubeconfig.short"), Long: env.P.T("cli.kubeconfig.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return kubeconfig(cmd.Context(), env, q, out) },
	}
	cmd.Flags().StringVar(&q.Cluster, "id", "", env.P.T("cli.flag.id.fileless"))
	cmd.Flags().StringVarP(&out, "out", "o", "", env.P.T("cli.kubeconfig.out"))
	return cmd
}

// kubeconfig prints the administrator's kubeconfig of a cluster, or writes it to a file that only the user can read.
func kubeconfig(ctx context.Context, env *environment, q request.Kubeconfig, out string) error {
	var err error
	if q.Cluster, err = env.cluster(ctx, q.Cluster); err != nil {
		return err
	}
	conf, err := operation.Kubeconfig(ctx, env.stateStore(), q)
	if err != nil {
		return err
	}
	if out != "" {
		err := store.Create(out, conf.Text, false)
		if f := event.AsFault(err); err != nil && f.Code == "template.exists" {
			return event.NewFault(event.ClassUsage, "kubeconfig.exists", nil, "file", out)
		}
		return err
	}
	_, err = env.Stdout.Write(conf.Text)
	return err
}
