package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/report"
)

func newListCmd(env *environment) *cobra.Command {
	var state, output string
	cmd := &cobra.Command{Use: "list", Short: env.P.T("cli.list.short"), Long: env.P.T("cli.list.long"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), env, state, output) }}
	cmd.Flags().StringVar(&output, "output", env.output("text"), env.P.T("cli.flag.output"))
	cmd.Flags().StringVar(&state, "state-dir", "", env.P.T("cli.flag.state"))
	return cmd
}

func list(ctx context.Context, env *environment, state, output string) error {
	if output != "text" && output != "json" {
		return event.NewFault(event.ClassUsage, "usage.output", nil, "output", output, "choices", "text, json")
	}
	clusters, err := operation.Clusters(ctx, stateStore(env, state))
	if err != nil {
		return err
	}
	if output == "json" {
		out := newLines(env)
		for _, c := range clusters {
			out.put(c)
		}
		return out.err
	}
	p := env.P
	if len(clusters) == 0 {
		fmt.Fprintln(env.Stdout, p.T("list.none", "dir", stateRoot(env, state)))
		return nil
	}
	rows := [][]string{{
		p.T("col.name"), p.T("col.masters"), p.T("col.workers"), p.T("col.status"), p.T("col.last-run"),
		p.T("col.version"), p.T("col.file"),
	}}
	for _, c := range clusters {
		rows = append(rows, []string{
			event.Clean(c.Name), strconv.Itoa(c.Masters), strconv.Itoa(c.Workers), p.T("list." + said(c)),
			cmp.Or(c.LastRun, "-"), cmp.Or(event.Clean(c.Version), "-"), cmp.Or(c.File, "-"),
		})
	}
	for _, l := range report.Columns(rows) {
		fmt.Fprintln(env.Stdout, l)
	}
	for _, c := range clusters {
		if c.Fault != nil {
			text, next := p.Fault(c.Fault)
			fmt.Fprintln(env.Stdout, "\n"+c.Name+": "+text+"\n  "+next)
		}
		if len(c.Waits) > 0 {
			fmt.Fprintln(env.Stdout)
			printWaits(env, state, c)
		}
	}
	return nil
}

// said is the status as a person is told it.
func said(c request.ClusterInfo) string {
	if len(c.Waits) > 0 {
		return "waiting"
	}
	return c.Status
}

// printWaits says what the cluster's run waits for, and how it is decided. state is --state-dir as it was given.
func printWaits(env *environment, state string, c request.ClusterInfo) {
	p := env.P
	fmt.Fprintln(env.Stdout, p.T("list.waits", "cluster", c.Name, "run", c.LastRun))
	for _, w := range c.Waits {
		text, _ := p.Fault(w.Fault)
		fmt.Fprintln(env.Stdout, "  "+p.T("list.wait",
			"node", cmp.Or(event.Clean(w.Node), p.T("report.jump-host")), "step", p.Msg(w.Title),
			"since", w.Since.Local().Format("2006-01-02 15:04:05"), "fault", text))
	}
	command := commandWords(env.where(state), event.Call{Verb: "attach", Cluster: c.Name})
	fmt.Fprintln(env.Stdout, "  "+p.T("list.decide", "command", command))
}

// stateRoot is --state-dir, or the user's.
func stateRoot(env *environment, flag string) string {
	return cmp.Or(flag, journal.StateDir(env.Getenv, os.Geteuid()))
}

// stateStore has the clusters of it.
func stateStore(env *environment, flag string) store.Dir {
	return store.Dir{Root: stateRoot(env, flag)}
}
