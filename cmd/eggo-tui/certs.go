package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newCertsCmd(env *environment) *cobra.Command {
	cmd := group(env, "certs", env.P.T("cli.certs.short"))
	cmd.AddCommand(newCertsListCmd(env), newCertsRenewCmd(env))
	return cmd
}

func newCertsRenewCmd(env *environment) *cobra.Command {
	var o renewOptions
	cmd := &cobra.Command{Use: "renew", Short: env.P.T("cli.certs.renew.short"), Long: env.P.T("cli.certs.renew.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return renew(cmd.Context(), env, o) }}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	cmd.Flags().BoolVar(&o.ifDue, "if-due", false, env.P.T("cli.flag.if-due"))
	return cmd
}

type renewOptions struct {
	runOptions
	ifDue bool
}

// renew reissues the certificates of the nodes and deploys. When it was interrupted deploy continues it: the new
// certificates are there.
func renew(ctx context.Context, env *environment, o renewOptions) error {
	if o.ifDue {
		if due, err := renewalDue(ctx, env, o.runOptions); err != nil || !due {
			return err
		}
	}
	c, err := o.request(ctx, env)
	if err != nil {
		return err
	}
	return env.begin(ctx, o.runOptions, request.Renew{Common: c}, nil)
}

// renewalDue says whether a certificate in the state directory ends soon, and prints when the first one ends if none
// does. CAs do not count, nor does what ends with its CA: a renewal cannot help. If nothing else is due, a CA that ends
// soon is what is reported, with the exit code of partial.
func renewalDue(ctx context.Context, env *environment, o runOptions) (bool, error) {
	quiet := o
	quiet.output = cli.Text
	c, d, err := env.inspecting(ctx, quiet)
	if err != nil {
		return false, err
	}
	d.Sink = nil
	rows, err := operation.Certificates(ctx, c, true, d)
	if err != nil {
		return false, err
	}
	var list []pki.Certificate
	state := map[string]string{}
	for _, r := range rows {
		list = append(list, r.Certificate)
		state[r.Fingerprint] = r.State
	}
	first := time.Time{}
	for _, c := range pki.Renewable(list) {
		switch {
		case state[c.Fingerprint] != "ok":
			return true, nil
		case first.IsZero() || c.NotAfter.Before(first):
			first = c.NotAfter
		}
	}
	for _, c := range list {
		if c.Authority && state[c.Fingerprint] != "ok" {
			return false, event.NewFault(event.ClassPartial, "certs.authority-ends", nil, "name", c.Name, "date",
				c.NotAfter.UTC().Format(time.DateOnly))
		}
	}
	if !first.IsZero() && o.output != cli.JSON {
		fmt.Fprintln(env.Stdout, env.P.T("certs.not-due", "date", first.UTC().Format(time.DateOnly)))
	}
	return !slices.ContainsFunc(list, func(c pki.Certificate) bool { return !c.Authority }), nil
}

type certsOptions struct {
	runOptions
	offline bool
}

func newCertsListCmd(env *environment) *cobra.Command {
	var o certsOptions
	cmd := &cobra.Command{Use: "list", Short: env.P.T("cli.certs.list.short"), Long: env.P.T("cli.certs.list.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listCerts(cmd.Context(), env, o) }}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	env.outputFlag(cmd, &o.output)
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().BoolVar(&o.offline, "offline", false, env.P.T("cli.flag.offline"))
	cmd.MarkFlagsMutuallyExclusive("file", "id")
	return cmd
}

func listCerts(ctx context.Context, env *environment, o certsOptions) error {
	list := o.runOptions
	list.output = cli.Text // what is printed is not the problems of deploy.yaml
	c, d, err := env.inspecting(ctx, list)
	if err != nil {
		return err
	}
	d.Sink = nil
	rows, err := operation.Certificates(ctx, c, o.offline, d)
	if err != nil {
		return err
	}
	return printCerts(env, o.output, rows)
}

// printCerts prints the rows, and says by the exit code what is the matter: failed when one has expired or is not what
// it should be, partial when one ends within a month.
func printCerts(env *environment, output string, rows []operation.CertificateRow) error {
	if output == cli.JSON {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(rows); err != nil {
			return err
		}
	} else {
		env.print(present.Certificates(env.P, rows))
	}
	if class := present.Severity(rows); class != "" {
		return reported(class, "certs.unwell")
	}
	return nil
}
