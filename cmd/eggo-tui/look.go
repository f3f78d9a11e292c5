package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases"
)

// looking adds the flags of the verbs that only look.
func (o *runOptions) looking(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	o.lookingAt(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("file", "id")
}

// lookingAt are the flags of looking but for -f, which is another file to some verbs.
func (o *runOptions) lookingAt(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	cmd.Flags().StringVar(&o.output, "output", env.output("plain"), env.P.T("cli.flag.report"))
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().StringVar(&o.state, "state-dir", "", env.P.T("cli.flag.state"))
}

// openLook is openSession for verbs that change nothing: no lock is taken, here or on the nodes, no run is logged, and what is kept of the
// cluster on this machine is a copy that goes with the session.
func openLook(ctx context.Context, env *environment, o runOptions, verb string, sink event.Sink) (*session, error) {
	if _, person := terminal(env); person && env.Ask == nil { // the keys of all nodes are asked about at once
		asking := *env
		asking.Ask = newKeeper(env)
		env = &asking
	}
	s, err := prepare(ctx, env, o, verb)
	if err != nil {
		return nil, err
	}
	if o.output == "plain" {
		sink = newCounting(env, sink)
	}
	return s, s.copyLook(sink)
}

// copyLook makes a prepared session one that only looks.
func (s *session) copyLook(sink event.Sink) (err error) {
	if s.files, err = (store.Dir{Root: s.root}).Copy(context.Background(), s.cluster.Name); err != nil {
		return err
	}
	s.looks, s.dir = true, s.files.Dir()
	if err := s.loadSaved(); err != nil {
		return errors.Join(err, s.files.Close())
	}
	if k := s.cluster.Eggo.KnownHosts; k != "" {
		// A key that is accepted now is so for this time.
		if err := copyFile(k, filepath.Join(s.dir, "known_hosts")); err != nil {
			return errors.Join(event.NewFault(event.ClassUsage, "ssh.known-hosts", err, "file", k), s.files.Close())
		}
		s.cluster.Eggo.KnownHosts = ""
	}
	s.bus = event.NewBus(time.Now, sink)
	return nil
}

// copyFile copies a file, if it is there, with mode 0600.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// look runs a plan that changes nothing.
func (s *session) look(ctx context.Context, plan func(phases.Env) *engine.Plan) (engine.Summary, error) {
	env := s.phasesEnv()
	env.Accepted = nil
	return engine.Run(ctx, plan(env), engine.Options{Emit: s.bus.Emit, Limits: phases.Limits()})
}

// lines writes one JSON object a line, the first with the version.
type lines struct {
	enc *json.Encoder
	err error
}

func newLines(env *environment) *lines {
	l := &lines{enc: json.NewEncoder(env.Stdout)}
	l.enc.SetEscapeHTML(false)
	l.put(jsonVersion{"version", 1, buildVersion()})
	return l
}

func (l *lines) put(v any) {
	if l.err == nil {
		l.err = l.enc.Encode(v)
	}
}

// gravest is the fault that an only looking verb ends with; its findings are told already.
func gravest(ctx context.Context, err error, sum engine.Summary) error {
	f := worst(ctx, err, sum)
	if f == nil {
		return nil
	}
	if f.Code == "preflight.failed" {
		return errReported{f}
	}
	for _, e := range sum.Failed {
		if e.Fault != nil && e.Fault.Code == "limit.not-done" {
			return e.Fault
		}
	}
	return f
}
