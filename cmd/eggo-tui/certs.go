package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/pki"
)

func newCertsCmd(env *environment) *cobra.Command {
	cmd := &cobra.Command{Use: "certs", Short: env.P.T("cli.certs.short"), Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		cmd.SetOut(env.Stderr)
		if err := cmd.Help(); err != nil {
			return err
		}
		return reported(event.ClassUsage, "usage")
	}}
	cmd.AddCommand(newCertsListCmd(env), newCertsRenewCmd(env))
	return cmd
}

func newCertsRenewCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "renew", Short: env.P.T("cli.certs.renew.short"), Long: env.P.T("cli.certs.renew.long"), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return renew(cmd.Context(), env, o) }}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	return cmd
}

// renew issues every leaf anew and deploys. Cut off, deploy goes on: the new certificates are there.
func renew(ctx context.Context, env *environment, o runOptions) error {
	// Before anything is written or asked: a run that ends before it begins would be one that was interrupted.
	look, err := openCertsLook(ctx, env, o, false)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(look.dir, "pki", "ca.crt")); err != nil {
		return event.NewFault(event.ClassUsage, "certs.no-cluster", err, "cluster", look.cluster.Name, "dir", look.dir)
	}
	return begin(ctx, env, job{verb: "renew", o: o, do: func(ctx context.Context, env *environment) error { return renewHere(ctx, env, o) }})
}

func renewHere(ctx context.Context, env *environment, o runOptions) error {
	s, err := openSession(ctx, env, o, "renew")
	if err != nil {
		return err
	}
	defer s.close()
	s.goOn = "deploy"
	now := time.Now()
	return s.run(ctx, func(e phases.Env) *engine.Plan {
		e.RenewBefore = now
		return phases.Deploy(e)
	}, func() []event.Msg {
		return []event.Msg{event.M("next.renewed", "command", s.command("certs list")+s.elsewhere())}
	})
}

type certsOptions struct {
	runOptions
	offline bool
}

func newCertsListCmd(env *environment) *cobra.Command {
	var o certsOptions
	cmd := &cobra.Command{Use: "list", Short: env.P.T("cli.certs.list.short"), Long: env.P.T("cli.certs.list.long"), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listCerts(cmd.Context(), env, o) }}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	cmd.Flags().StringVar(&o.output, "output", env.output("table"), env.P.T("cli.flag.certs-output"))
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().StringVar(&o.state, "state-dir", "", env.P.T("cli.flag.state"))
	cmd.Flags().BoolVar(&o.offline, "offline", false, env.P.T("cli.flag.offline"))
	cmd.MarkFlagsMutuallyExclusive("file", "id")
	return cmd
}

// certRow is one certificate in one place.
type certRow struct {
	pki.Certificate
	At    string `json:"at"`    // a file of the state directory or of a node, or the address that shows it
	State string `json:"state"` // ok, soon, expired, other (than the state directory's), absent, silent, unreachable
}

func (r *certRow) judge(now time.Time) {
	switch {
	case r.State != "":
	case now.After(r.NotAfter):
		r.State = "expired"
	case now.Add(pki.RenewAhead).After(r.NotAfter):
		r.State = "soon"
	default:
		r.State = "ok"
	}
}

func listCerts(ctx context.Context, env *environment, o certsOptions) error {
	if o.output != "table" && o.output != "json" {
		return event.NewFault(event.ClassUsage, "usage.output", nil, "output", o.output, "choices", "table, json")
	}
	s, err := openCertsLook(ctx, env, o.runOptions, !o.offline)
	if err != nil {
		return err
	}
	defer s.hangUp()
	dir := filepath.Join(s.dir, "pki")
	if _, err := os.Stat(dir); err != nil {
		return event.NewFault(event.ClassUsage, "certs.no-cluster", err, "cluster", s.cluster.Name, "dir", s.dir)
	}
	list, err := pki.List(dir)
	if err != nil {
		return err
	}
	ours := map[string]pki.Certificate{}
	var rows []certRow
	for _, c := range list {
		ours[c.Name] = c
		rows = append(rows, certRow{Certificate: c, At: filepath.Join(dir, filepath.FromSlash(c.Name)+".crt")})
	}
	if !o.offline {
		rows = append(rows, s.heldRows(ctx, ours)...)
	}
	now := time.Now()
	for i := range rows {
		rows[i].judge(now)
	}
	return printCerts(env, o.output, rows)
}

// heldRows asks all nodes at once.
func (s *session) heldRows(ctx context.Context, ours map[string]pki.Certificate) []certRow {
	found := make([][]certRow, len(s.cluster.Nodes))
	var wg sync.WaitGroup
	for i, n := range s.cluster.Nodes {
		wg.Go(func() {
			h, err := s.conns.Dial(ctx, n)
			var held []phases.Held
			if err == nil {
				held, err = phases.HeldCertificates(ctx, h, s.cluster, n)
			}
			if err != nil {
				found[i] = []certRow{{Certificate: pki.Certificate{Node: n.Name}, At: n.IP.String(), State: "unreachable"}}
				return
			}
			for _, c := range held {
				row := certRow{At: c.At, State: c.Why}
				if c.Cert != nil {
					row.Certificate = *c.Cert
				}
				row.Node, row.Name = n.Name, c.Name
				if c.Name == "" {
					row.Name = c.Own
				} else if c.Cert != nil && ours[c.Name].Fingerprint != c.Cert.Fingerprint {
					row.State = "other"
				}
				found[i] = append(found[i], row)
			}
		})
	}
	wg.Wait()
	var out []certRow
	for _, rows := range found {
		out = append(out, rows...)
	}
	return out
}

// printCerts prints the rows, and says by the exit code what is the matter: failed when one has expired or is not what it should be, partial
// when one ends within a month.
func printCerts(env *environment, output string, rows []certRow) error {
	if output == "json" {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(rows); err != nil {
			return err
		}
	} else {
		w := tabwriter.NewWriter(env.Stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, env.P.T("certs.header"))
		for _, r := range rows {
			end := ""
			if !r.NotAfter.IsZero() {
				end = r.NotAfter.Format("2006-01-02")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", dash(r.Node), dash(r.Name), dash(end), env.P.T("certs.state."+r.State), event.Clean(r.At))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	worst := event.Class("")
	for _, r := range rows {
		switch r.State {
		case "ok":
		case "soon":
			if worst == "" {
				worst = event.ClassPartial
			}
		default:
			worst = event.ClassFailed
		}
	}
	if worst != "" {
		return reported(worst, "certs.unwell")
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return event.Clean(s)
}

// openCertsLook is a session that only looks: without the cluster's lock, the nodes' locks and an event log. Secrets are asked for only when the
// nodes are.
func openCertsLook(ctx context.Context, env *environment, o runOptions, connect bool) (*session, error) {
	s := &session{env: env, verb: "look", bus: event.NewBus(time.Now)}
	if s.root = o.state; s.root == "" {
		s.root = journal.StateDir(env.Getenv, os.Geteuid())
	}
	path, err := s.deployFile(o)
	if err != nil {
		return nil, err
	}
	if err := s.load(env, path); err != nil {
		return nil, err
	}
	if s.files, err = (store.Dir{Root: s.root}).Read(ctx, s.cluster.Name); err != nil {
		return nil, err
	}
	s.dir = s.files.Dir()
	if o.hostKeys == "" {
		o.hostKeys = s.cluster.Eggo.HostKeys
	}
	if s.policy, err = hostKeyPolicy(o.hostKeys, env); err != nil {
		return nil, err
	}
	if !connect {
		return s, nil
	}
	if err := s.reach(); err != nil {
		return nil, err
	}
	return s, resolveSecrets(ctx, env, s.cluster)
}

// hangUp ends the connections of a session that only looks.
func (s *session) hangUp() {
	if s.conns != nil {
		s.conns.Close()
	}
}
