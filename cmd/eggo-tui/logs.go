package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/report"
)

// logOptions say which run is meant, and what of it.
type logOptions struct {
	id, state, node, step, output string
	failed, list, follow          bool
}

func newLogsCmd(env *environment) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{Use: "logs [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.logs.short"), Long: env.P.T("cli.logs.long"), Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return logs(cmd.Context(), env, o, strings.Join(args, ""))
		}}
	o.which(cmd, env)
	cmd.Flags().StringVar(&o.node, "node", "", env.P.T("cli.logs.node"))
	cmd.Flags().StringVar(&o.step, "step", "", env.P.T("cli.logs.step"))
	cmd.Flags().BoolVar(&o.failed, "failed", false, env.P.T("cli.logs.failed"))
	cmd.Flags().BoolVar(&o.list, "list", false, env.P.T("cli.logs.list"))
	cmd.Flags().BoolVarP(&o.follow, "follow", "F", false, env.P.T("cli.logs.follow"))
	cmd.MarkFlagsMutuallyExclusive("follow", "failed", "list")
	cmd.Flags().StringVar(&o.output, "output", env.output("plain"), env.P.T("cli.flag.report"))
	return cmd
}

func (o *logOptions) which(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.log-id"))
	cmd.Flags().StringVar(&o.state, "state-dir", "", env.P.T("cli.flag.state"))
}

// logs shows what was logged of a run, in the words in which it was told then.
func logs(ctx context.Context, env *environment, o logOptions, run string) error {
	if o.output != "plain" && o.output != "json" {
		return event.NewFault(event.ClassUsage, "usage.output", nil, "output", o.output, "choices", "plain, json")
	}
	if o.list {
		return listRuns(env, o)
	}
	c, dir, err := loggedRun(env, o, run, "")
	if err != nil {
		return err
	}
	wanted, err := selection(dir, o)
	if err != nil {
		return err
	}
	var sink event.Sink = report.NewJSON(env.Stdout)
	if o.output == "plain" {
		plain := report.NewPlain(env.Stdout, env.where(o.state).printer(env.P.Lang()))
		plain.Debug = true
		sink = plain
	}
	records := journal.Read(dir)
	if o.follow {
		store, err := journal.At(stateRoot(env, o.state), c.Name)
		if err != nil {
			return err
		}
		records = journal.Follow(ctx, dir, func() bool { return store.Writing(c.LastRun) })
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		if wanted(rec.Event) {
			if err := sink.Emit(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// selection says which events of a run are meant. The plan goes to the report in any case, which has the titles from it.
func selection(dir string, o logOptions) (func(event.Event) bool, error) {
	if o.node == "" && o.step == "" && !o.failed {
		return func(event.Event) bool { return true }, nil
	}
	hosts, failed := map[string]string{}, map[string]bool{}
	nodes := []string{""}
	for rec, err := range journal.Read(dir) {
		if err != nil {
			return nil, err
		}
		switch e := rec.Event.(type) {
		case event.PlanMade:
			for _, h := range e.Hosts {
				nodes = append(nodes, h.Name)
			}
			for _, s := range e.Steps {
				hosts[s.ID] = s.Host
			}
		case event.StepEnded:
			failed[e.Step] = e.Outcome == event.Failed || e.Outcome == event.Unknown || e.Outcome == event.Ignored
		}
	}
	if !slices.Contains(nodes, o.node) {
		return nil, event.NewFault(event.ClassUsage, "logs.no-node", nil, "node", o.node, "nodes", strings.Trim(strings.Join(nodes, ", "), ", "))
	}
	step := func(id string) bool {
		return (o.node == "" || hosts[id] == o.node) && strings.Contains(id, o.step) && (!o.failed || failed[id])
	}
	return func(e event.Event) bool {
		switch e := e.(type) {
		case event.RunStarted, event.PlanMade:
			return true
		case event.StepStarted:
			return step(e.Step)
		case event.StepRetry:
			return step(e.Step)
		case event.StepDecided:
			return step(e.Step)
		case event.StepEnded:
			return step(e.Step)
		case event.StepUndone:
			return step(e.Step)
		case event.Change:
			return step(e.Step)
		case event.Notice:
			return step(e.Step)
		case event.Output:
			return step(e.Step)
		case event.Waiting:
			return step(e.Step)
		case event.Finding:
			return o.step == "" && (o.node == "" || o.node == e.Host)
		case event.HostState:
			return o.step == "" && o.node == e.Host
		}
		return false
	}, nil
}

// loggedRun is a run of a cluster and its directory: the one with that ID, else the newest whose end is wanted ("" any). Without --id every
// cluster of this machine is looked through.
func loggedRun(env *environment, o logOptions, run, status string) (known, string, error) {
	clusters, err := knownClusters(stateRoot(env, o.state))
	if err != nil {
		return known{}, "", err
	}
	var found known
	for _, c := range clusters {
		if o.id != "" && c.Name != o.id {
			continue
		}
		store, err := journal.At(stateRoot(env, o.state), c.Name)
		if err != nil {
			return known{}, "", err
		}
		ids, err := store.Runs()
		if err != nil {
			return known{}, "", err
		}
		switch {
		case run != "" && slices.Contains(ids, run):
			c.LastRun = run
			return c, store.RunDir(run), nil
		case run == "" && c.LastRun > found.LastRun && (status == "" || c.Status == status || status == "interrupted" && c.Status == "failed"):
			found = c
		}
	}
	if found.LastRun == "" && run == "" {
		return known{}, "", event.NewFault(event.ClassUsage, "logs.none", nil, "dir", stateRoot(env, o.state))
	}
	if found.LastRun == "" {
		return known{}, "", event.NewFault(event.ClassUsage, "logs.no-run", nil, "run", run, "dir", stateRoot(env, o.state))
	}
	store, err := journal.At(stateRoot(env, o.state), found.Name)
	if err != nil {
		return known{}, "", err
	}
	return found, store.RunDir(found.LastRun), nil
}

// listRuns shows the runs that are kept, newest last.
func listRuns(env *environment, o logOptions) error {
	clusters, err := knownClusters(stateRoot(env, o.state))
	if err != nil {
		return err
	}
	for _, c := range clusters {
		store, err := journal.At(stateRoot(env, o.state), c.Name)
		if err != nil || o.id != "" && c.Name != o.id {
			continue
		}
		ids, err := store.Runs()
		if err != nil {
			return err
		}
		for _, id := range ids {
			outcome := env.P.T("list.interrupted")
			if id == c.LastRun {
				outcome = env.P.T("list." + c.said())
			}
			for rec, err := range journal.Read(store.RunDir(id)) {
				if e, ok := rec.Event.(event.RunEnded); ok && err == nil {
					outcome = env.P.T("report.outcome." + string(e.Outcome))
				}
			}
			if _, err := io.WriteString(env.Stdout, fmt.Sprintf("%s  %s  %s\n", c.Name, id, outcome)); err != nil {
				return err
			}
		}
	}
	return nil
}
