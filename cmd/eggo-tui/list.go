package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/report"
	"github.com/eggo-k8s/eggo/internal/runstate"
)

func newListCmd(env *environment) *cobra.Command {
	var state, output string
	cmd := &cobra.Command{Use: "list", Short: env.P.T("cli.list.short"), Long: env.P.T("cli.list.long"), Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return list(env, state, output) }}
	cmd.Flags().StringVar(&output, "output", env.output("text"), env.P.T("cli.flag.output"))
	cmd.Flags().StringVar(&state, "state-dir", "", env.P.T("cli.flag.state"))
	return cmd
}

// known is a cluster that this machine knows of.
type known struct {
	Type    string    `json:"type"` // cluster
	Name    string    `json:"name"`
	Masters int       `json:"masters"`
	Workers int       `json:"workers"`
	Status  string    `json:"status"`              // running, installed, failed, interrupted, removed, unknown
	Waits   []waiting `json:"waits_for,omitempty"` // decisions that the run waits for, the oldest first
	LastRun string    `json:"last_run,omitempty"`
	Verb    string    `json:"verb,omitempty"`
	At      time.Time `json:"at,omitzero"` // when the last run began
	Version string    `json:"version,omitempty"`
	File    string    `json:"file,omitempty"`
	// Fault is why nothing can be said of it: it is of a newer program.
	Fault *event.Fault `json:"fault,omitempty"`
}

// waiting is a step of a run that goes on: it failed, and the run waits for somebody to decide what becomes of it.
type waiting struct {
	Step  string       `json:"step"`
	Node  string       `json:"node"` // "" is this machine
	Since time.Time    `json:"since"`
	Fault *event.Fault `json:"fault"`
	Title event.Msg    `json:"-"`
}

func list(env *environment, state, output string) error {
	if output != "text" && output != "json" {
		return event.NewFault(event.ClassUsage, "usage.output", nil, "output", output, "choices", "text, json")
	}
	clusters, err := knownClusters(stateRoot(env, state))
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
	rows := [][]string{{p.T("col.name"), p.T("col.masters"), p.T("col.workers"), p.T("col.status"), p.T("col.last-run"), p.T("col.version"), p.T("col.file")}}
	for _, c := range clusters {
		rows = append(rows, []string{event.Clean(c.Name), strconv.Itoa(c.Masters), strconv.Itoa(c.Workers), p.T("list." + c.said()), cmp.Or(c.LastRun, "-"), cmp.Or(event.Clean(c.Version), "-"), cmp.Or(c.File, "-")})
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
func (c *known) said() string {
	if len(c.Waits) > 0 {
		return "waiting"
	}
	return c.Status
}

// printWaits says what the cluster's run waits for, and how it is decided. state is --state-dir as it was given.
func printWaits(env *environment, state string, c known) {
	p := env.P
	fmt.Fprintln(env.Stdout, p.T("list.waits", "cluster", c.Name, "run", c.LastRun))
	for _, w := range c.Waits {
		text, _ := p.Fault(w.Fault)
		fmt.Fprintln(env.Stdout, "  "+p.T("list.wait", "node", cmp.Or(event.Clean(w.Node), p.T("report.jump-host")), "step", p.Msg(w.Title), "since", w.Since.Local().Format("2006-01-02 15:04:05"), "fault", text))
	}
	command := "eggo-tui attach --id " + shellWord(c.Name)
	if state != "" {
		command += " --state-dir " + shellWord(state)
	}
	fmt.Fprintln(env.Stdout, "  "+p.T("list.decide", "command", command))
}

// stateRoot is --state-dir, or the user's.
func stateRoot(env *environment, flag string) string {
	return cmp.Or(flag, journal.StateDir(env.Getenv, os.Geteuid()))
}

// knownClusters are the clusters of a state directory, by name. None is no error.
func knownClusters(root string) ([]known, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !os.IsNotExist(err) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	var out []known
	for _, e := range entries {
		store, err := journal.At(root, e.Name())
		if f := event.AsFault(err); f != nil && f.Code == "state.newer-format" {
			out = append(out, known{Type: "cluster", Name: e.Name(), Status: "unknown", Fault: f})
			continue
		}
		if err != nil || !e.IsDir() || !exists(filepath.Join(store.Path(), "runs")) && !exists(filepath.Join(store.Path(), savedName)) {
			continue
		}
		c := known{Type: "cluster", Name: e.Name(), Status: "unknown"}
		if file := filepath.Join(store.Path(), savedName); exists(file) {
			c.File = file
			if conf, _, err := config.LoadFile(file); err == nil && conf != nil {
				c.Masters, c.Workers = len(conf.With(bundle.ControlPlane)), len(conf.With(bundle.Worker))
			}
		}
		c.last(store)
		out = append(out, c)
	}
	return out, nil
}

// last fills in what the last run of the cluster was and how it ended.
func (c *known) last(store *journal.Cluster) {
	ids, err := store.Runs()
	if err != nil || len(ids) == 0 {
		return
	}
	c.LastRun = ids[len(ids)-1]
	var ended *event.RunEnded
	busy, now := store.Writing(c.LastRun), runstate.New()
	for rec, err := range journal.Read(store.RunDir(c.LastRun)) {
		if f := event.AsFault(err); f != nil {
			if f.Code == "journal.newer-format" {
				c.Fault = f
				return
			}
			break
		}
		if busy {
			now.Apply(rec)
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			c.Verb, c.Version, c.At = e.Verb, e.Version, rec.Time
		case event.RunEnded:
			ended = &e
		}
	}
	switch {
	case ended == nil && busy:
		c.Status = "running"
		for _, q := range now.Open {
			c.Waits = append(c.Waits, waiting{q.Step.ID, q.Step.Host, q.Since, &q.Fault, q.Step.Title})
		}
	case ended == nil || ended.Outcome == event.Interrupted:
		c.Status = "interrupted"
	case !ended.Outcome.Done():
		c.Status = "failed"
	case c.Verb == "cleanup":
		c.Status = "removed"
	default:
		c.Status = "installed"
	}
}
