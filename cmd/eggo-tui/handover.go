package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/meta"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

type handoverOptions struct {
	runOptions
	kubeconfig, context, namespace string
	back, yes                      bool
}

func newHandoverCmd(env *environment) *cobra.Command {
	p := env.P
	var o handoverOptions
	cmd := &cobra.Command{
		Use: "handover", Short: p.T("cli.handover.short"), Long: p.T("cli.handover.long"), Args: cli.NoArguments,
		Example: "  eggo-tui handover --id prod --kubeconfig ~/meta.conf -n clusters\n" +
			"  eggo-tui handover --back --id prod --kubeconfig ~/meta.conf -n clusters",
		RunE: func(cmd *cobra.Command, _ []string) error { return handover(cmd.Context(), env, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.id, "id", "", p.T("cli.flag.id.fileless"))
	f.StringVar(&o.kubeconfig, "kubeconfig", "", p.T("cli.flag.handover-kubeconfig"))
	f.StringVar(&o.context, "context", "", p.T("cli.flag.handover-context"))
	f.StringVarP(&o.namespace, "namespace", "n", "", p.T("cli.flag.handover-namespace"))
	f.BoolVar(&o.back, "back", false, p.T("cli.flag.handover-back"))
	f.StringVarP(&o.file, "file", "f", "", p.T("cli.flag.handover-file"))
	env.outputFlag(cmd, &o.output)
	f.StringVar(&o.hostKeys, "host-keys", "", p.T("cli.flag.host-keys"))
	o.takeOverFlag(cmd, env)
	f.BoolVar(&o.yes, "yes", false, p.T("cli.flag.yes"))
	return cmd
}

// handover hands a cluster over to a meta cluster, or fetches it back.
func handover(ctx context.Context, env *environment, o handoverOptions) error {
	for flag, value := range map[string]string{"kubeconfig": o.kubeconfig, "namespace": o.namespace} {
		if value == "" {
			return event.NewFault(event.ClassUsage, "handover.flag", nil, "flag", flag)
		}
	}
	if err := env.needsYes(o.yes, "handover"); err != nil {
		return err
	}
	q, err := o.handover(ctx, env)
	if err != nil {
		return err
	}
	d, _, err := env.deps(o.runOptions)
	if err != nil {
		return err
	}
	_, person := terminal(env)
	d.Asker, d.Unattended = env.asking(), !person
	file, err := absolutePath(o.kubeconfig)
	if err != nil {
		return err
	}
	m, err := meta.Connect(file, o.context, o.namespace)
	if err != nil {
		return err
	}
	if !o.yes {
		if err := env.confirmHandover(ctx, q, m.Place()); err != nil {
			return err
		}
	}
	open := func(root string) (operation.Meta, error) {
		return m.Store(root, func(h journal.Holder) {
			text, _ := env.P.Fault(h.Held())
			fmt.Fprintln(env.Stderr, env.P.T("handover.waits", "why", text))
		}), nil
	}
	r, err := operation.Handover(ctx, q, d, open, func(step event.Msg) error {
		fmt.Fprintln(env.Stderr, event.Clean(env.P.Msg(step)))
		return nil
	})
	if o.output == cli.JSON {
		present.FindingLines(env.P, env.lines(), r.Findings)
	} else {
		env.printFindings(r.Findings)
	}
	if err != nil {
		return inspected(err)
	}
	if o.output == cli.JSON {
		present.HandoverLine(env.lines(), r, q.Back)
		return nil
	}
	env.print(present.Handover(env.P, r, q.Back))
	return nil
}

// handover returns the request of the flags.
func (o handoverOptions) handover(ctx context.Context, env *environment) (q request.Handover, err error) {
	q = request.Handover{Cluster: o.id, Back: o.back, HostKeys: o.hostKeys, TakeOver: o.takeOver}
	if q.File, err = absolutePath(o.file); err != nil {
		return q, err
	}
	if err := q.Validate(); err != nil {
		return q, err
	}
	if q.Cluster == "" || !q.Back { // one that comes back may be new to this host
		q.Cluster, err = env.cluster(ctx, o.id)
	}
	return q, err
}

// confirmHandover asks for the name of the cluster.
func (env *environment) confirmHandover(ctx context.Context, q request.Handover, place string) error {
	ask := "ask.handover"
	if q.Back {
		ask = "ask.handover-back"
	}
	name, err := askLine(ctx, env, env.P.T(ask, "cluster", q.Cluster, "place", place, "dir",
		filepath.Join(env.stateRoot(), q.Cluster)))
	if err != nil {
		return err
	}
	if name != q.Cluster {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed", nil)
	}
	return nil
}
