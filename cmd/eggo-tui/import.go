package main

import (
	"context"
	"errors"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type importOptions struct {
	runOptions
	eggo, user, key, password, sudo, amd64, arm64 string
	port                                          int
}

func newImportCmd(env *environment) *cobra.Command {
	p := env.P
	var o importOptions
	cmd := &cobra.Command{
		Use: "import [IP]", Short: p.T("cli.import.short"), Long: p.T("cli.import.long"),
		Example: "  eggo-tui import --id prod --user root --key ~/.ssh/id_ed25519 192.168.0.2\n" +
			"  eggo-tui import --from-eggo /etc/eggo/k8s-cluster",
		RunE: func(cmd *cobra.Command, args []string) error { return importCluster(cmd.Context(), env, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.id, "id", "k8s-cluster", p.T("cli.flag.import-id"))
	f.StringVar(&o.user, "user", "root", p.T("cli.flag.import-user"))
	f.StringVar(&o.key, "key", "", p.T("cli.flag.import-key"))
	f.IntVarP(&o.port, "port", "p", 22, p.T("cli.flag.import-port"))
	f.StringVar(&o.password, "password-from", "", p.T("cli.flag.import-password"))
	f.StringVar(&o.sudo, "sudo-password-from", "", p.T("cli.flag.import-sudo"))
	f.StringVar(&o.amd64, "amd64-bundle", "", p.T("cli.flag.import-amd64"))
	f.StringVar(&o.arm64, "arm64-bundle", "", p.T("cli.flag.import-arm64"))
	f.StringVar(&o.eggo, "from-eggo", "", p.T("cli.flag.from-eggo"))
	env.outputFlag(cmd, &o.output)
	f.StringVar(&o.hostKeys, "host-keys", "", p.T("cli.flag.host-keys"))
	f.BoolVar(&o.foreground, "foreground", false, p.T("cli.flag.foreground"))
	for _, flag := range []string{"id", "user", "key", "port", "password-from", "sudo-password-from", "amd64-bundle",
		"arm64-bundle"} {
		cmd.MarkFlagsMutuallyExclusive("from-eggo", flag)
	}
	return cmd
}

// importCluster reads a cluster, shows what of it cannot be kept, and has the run done that takes it over.
func importCluster(ctx context.Context, env *environment, o importOptions, args []string) error {
	if o.eggo != "" == (len(args) == 1) || len(args) > 1 {
		return event.NewFault(event.ClassUsage, "import.one-source", nil)
	}
	d, _, err := env.deps(o.runOptions)
	if err != nil {
		return err
	}
	_, person := terminal(env)
	d.Asker, d.Unattended = env.asking(), !person
	var next request.Request
	if o.eggo != "" {
		next, err = o.fromEggo(ctx, d)
	} else {
		next, err = o.fromKubeadm(ctx, env, d, args[0])
	}
	if err != nil {
		return err
	}
	if err := env.begin(ctx, o.runOptions, next, nil); err != nil {
		// of a run that did not begin; one that goes on has the lock
		return errors.Join(err, operation.DropImport(ctx, d, next))
	}
	return nil
}

func (o importOptions) fromEggo(ctx context.Context, d operation.Deps) (request.Request, error) {
	dir, err := absolutePath(o.eggo)
	if err != nil {
		return nil, err
	}
	return operation.ReadEggo(ctx, request.ImportEggo{Dir: dir, HostKeys: o.hostKeys}, d)
}

func (o importOptions) fromKubeadm(
	ctx context.Context, env *environment, d operation.Deps, address string,
) (request.Request, error) {
	q := request.ImportRead{Cluster: o.id, Port: o.port, Login: request.Login{User: o.user}, Password: o.password,
		Sudo: o.sudo, Bundles: map[string]string{}, HostKeys: o.hostKeys}
	var err error
	if q.Address, err = netip.ParseAddr(address); err != nil {
		return nil, event.NewFault(event.ClassUsage, "import.address", nil, "value", address)
	}
	if o.key != "" {
		q.Login.Key = env.host().Path(o.key)
	}
	for arch, file := range map[string]string{"amd64": o.amd64, "arm64": o.arm64} {
		if q.Bundles[arch], err = absolutePath(file); err != nil {
			return nil, err
		}
	}
	return operation.ReadImport(ctx, q, d, func(found []event.Finding) {
		if o.output == cli.JSON {
			present.FindingLines(env.P, env.lines(), found)
			return
		}
		env.printFindings(found)
	})
}
