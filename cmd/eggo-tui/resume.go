package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

func newResumeCmd(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{Use: "resume [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.resume.short"), Long: env.P.T("cli.resume.long"), Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return resume(cmd.Context(), env, o, strings.Join(args, ""))
		}}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	return cmd
}

// resume goes on with a run that did not end well: the newest on this machine unless one is named. What a run had done is found out from the
// nodes, so that going on is running its verb again with the cluster's own deploy.yaml.
func resume(ctx context.Context, env *environment, o runOptions, run string) error {
	if o.file != "" {
		return deploy(ctx, env, o)
	}
	st := stateStore(env, o.state)
	c, err := operation.FindLogged(ctx, st, o.id, run, request.Interrupted)
	if f := event.AsFault(err); f != nil && f.Code == "logs.none" {
		return event.NewFault(event.ClassUsage, "resume.nothing", nil)
	}
	if err != nil {
		return err
	}
	files, err := st.Read(ctx, c.Name)
	if err != nil {
		return err
	}
	defer files.Close()
	verb := files.Journal().Verb(c.LastRun)
	switch {
	case c.File == "":
		return event.NewFault(event.ClassUsage, "resume.no-file", nil, "verb", verb, "run", c.LastRun)
	case verb != "deploy" && verb != "join":
		// What takes something away is not gone on with by guessing: a run does not say whether it was for one machine or for all of them.
		return event.NewFault(event.ClassUsage, "resume.by-hand", nil, "verb", verb, "cluster", c.Name)
	}
	kept, was, err := keptFile(c.File, files.Journal().RunDir(c.LastRun))
	if err != nil {
		return err
	}
	if !kept {
		return event.NewFault(event.ClassUsage, "resume.not-begun", nil, "verb", verb, "run", c.LastRun)
	}
	o.id = c.Name
	common, err := o.request(env)
	if err != nil {
		return err
	}
	return env.begin(ctx, o, request.Deploy{Common: common.Continue(was)}, nil) // a join is a deploy of the longer file
}

// keptFile says whether the deploy.yaml of a run is the cluster's own: it became so when preflight had passed, if it was not before. was are the
// options that the run was begun with.
func keptFile(file, run string) (kept bool, was *event.RunOptions, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	sum := sha256.Sum256(text)
	preflight := map[string]bool{}
	for rec, err := range journal.Read(run) {
		if err != nil {
			return false, nil, err
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			was = e.Options
			if e.Config == hex.EncodeToString(sum[:]) {
				return true, was, nil
			}
		case event.PlanMade:
			for _, step := range e.Steps {
				preflight[step.ID] = step.Phase == "preflight"
			}
		case event.StepStarted:
			before, planned := preflight[e.Step]
			if !planned { // a log without its plan
				before = strings.HasPrefix(e.Step, "preflight.")
			}
			if !before {
				return true, was, nil
			}
		}
	}
	return false, was, nil
}
