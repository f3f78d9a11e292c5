package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/report"
)

func newPreflightCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "preflight", Short: env.P.T("cli.preflight.short"), Long: env.P.T("cli.preflight.long"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return preflight(cmd.Context(), env, o) }}
	o.looking(cmd, env)
	o.trustFlags(cmd, env)
	return cmd
}

// preflight inspects every node and reports all that stands in the way of deploy, and what the nodes are.
func preflight(ctx context.Context, env *environment, o runOptions) error {
	c, d, err := env.inspecting(o)
	if err != nil {
		return err
	}
	found, err := operation.Preflight(ctx, c, d)
	if found == nil {
		return err
	}
	if o.output == "json" {
		out := newLines(env)
		for _, m := range found.Machines {
			out.put(m)
		}
		bundlesJSON(out, found.Bundles)
		findingsJSON(env, out, found.Findings)
		return cmp.Or(inspected(err), out.err)
	}
	printMachines(env, found.Machines)
	printBundles(env, found.Bundles)
	printFindings(env, found.Findings)
	if err == nil {
		fmt.Fprintln(env.Stdout, env.P.T("preflight.passed", "count", strconv.Itoa(len(found.Machines)),
			"command", commandWords(env.where(o.state), found.Deploy)))
	}
	return inspected(err)
}

func printMachines(env *environment, machines []phases.Machine) {
	p := env.P
	rows := [][]string{{p.T("col.node"), p.T("col.address"), p.T("col.roles"), p.T("col.system"), p.T("col.arch"),
		p.T("col.cpus"), p.T("col.memory"), p.T("col.disk"), p.T("col.clock"), p.T("col.runtime")}}
	for _, m := range machines {
		row := []string{m.Node, m.Address, strings.Join(m.Roles, ",")}
		if !m.Reached {
			rows = append(rows, append(row, p.T("preflight.unreached"), "", "", "", "", "", ""))
			continue
		}
		cpus := "?"
		if m.CPUs > 0 {
			cpus = strconv.Itoa(m.CPUs)
		}
		rows = append(rows, append(row, m.OS, m.Arch, cpus, report.Size(m.MemoryBytes), report.Size(m.DiskBytes),
			time.Duration(m.SkewNS).Round(time.Millisecond*100).String(), cmp.Or(m.Runtime, "-")))
	}
	for _, l := range report.Columns(rows) {
		fmt.Fprintln(env.Stdout, l)
	}
}
