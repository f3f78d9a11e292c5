package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// runOptions are the flags of the verbs that run a plan.
type runOptions struct {
	file     string
	id       string // cluster whose own deploy.yaml is taken; not with file
	output   string
	hostKeys string
	state    string
	failure  string
	limit    []string
	hooks    hookFlags
	// foreground keeps the run in this process.
	foreground bool
	trustOptions
}

func (o *runOptions) flags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	o.common(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("file", "id")
}

// common are the flags of flags but for -f, which is another file to some verbs.
func (o *runOptions) common(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	cmd.Flags().StringVar(&o.output, "output", env.output("plain"), env.P.T("cli.flag.report"))
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().StringVar(&o.state, "state-dir", "", env.P.T("cli.flag.state"))
	cmd.Flags().StringVar(&o.failure, "on-failure", "", env.P.T("cli.flag.on-failure"))
	cmd.Flags().BoolVar(&o.foreground, "foreground", false, env.P.T("cli.flag.foreground"))
}

// again are the flags without which the same command would be another one: those that were given, but for who is in the cluster.
func (o *runOptions) again() string {
	out := ""
	for _, f := range [][2]string{{"state-dir", o.state}, {"host-keys", o.hostKeys}, {"on-failure", o.failure}} {
		if f[1] != "" {
			out += " --" + f[0] + " " + shellWord(f[1])
		}
	}
	if o.foreground {
		out += " --foreground"
	}
	out += o.trustOptions.again()
	for _, f := range o.hooks.before {
		out += " --" + o.hooks.beforeKind + " " + shellWord(f)
	}
	for _, f := range o.hooks.after {
		out += " --" + o.hooks.afterKind + " " + shellWord(f)
	}
	return out
}

// carried are the flags that the run's log keeps for resume: the limit, what is done about failures, and the cluster's hooks.
func (o *runOptions) carried() []string {
	var out []string
	if len(o.limit) > 0 {
		out = append(out, "--limit", strings.Join(o.limit, ","))
	}
	if o.failure != "" {
		out = append(out, "--on-failure", o.failure)
	}
	if o.signers != "" { // --allow-unsigned holds for the run that it was given to, and for no other
		file := o.signers
		if abs, err := filepath.Abs(file); err == nil {
			file = abs
		}
		out = append(out, "--signers", file)
	}
	if o.hooks.beforeKind != phases.ClusterPreHook {
		return out // a joining machine's own
	}
	for _, list := range []struct {
		kind  string
		flags []string
	}{{o.hooks.beforeKind, o.hooks.before}, {o.hooks.afterKind, o.hooks.after}} {
		for _, f := range list.flags {
			if abs, err := filepath.Abs(f); err == nil { // a role behind the comma stays where it is
				f = abs
			}
			out = append(out, "--"+list.kind, f)
		}
	}
	return out
}

// carry takes over the flags of a run's log, where this command line does not say otherwise.
func (o *runOptions) carry(flags []string) {
	o.hooks.beforeKind, o.hooks.afterKind = phases.ClusterPreHook, phases.ClusterPostHook
	given := *o
	for i := 0; i+1 < len(flags); i += 2 {
		name, value := flags[i], flags[i+1]
		switch {
		case name == "--limit" && len(given.limit) == 0:
			o.limit = strings.Split(value, ",")
		case name == "--signers" && given.signers == "":
			o.signers = value
		case name == "--on-failure" && given.failure == "" && value != "ask": // that was a board's
			o.failure = value
		case name == "--"+o.hooks.beforeKind:
			o.hooks.before = append(o.hooks.before, value)
		case name == "--"+o.hooks.afterKind:
			o.hooks.after = append(o.hooks.after, value)
		}
	}
}

// shellWord is a word of a command line that is shown to be copied.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=@%+-") == "" {
		return s
	}
	return node.Quote(s)
}

func (o *runOptions) limitFlag(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringSliceVar(&o.limit, "limit", nil, env.P.T("cli.flag.limit"))
}

// session is one run of a plan: its cluster, directories, event log and connections.
type session struct {
	hooks    []phases.Hook
	env      *environment
	verb     string
	words    string // the verb as it is typed, when that is not its name
	goOn     string // verb that goes on after this one was cut off; "" is verb
	file     string
	text     []byte // of deploy.yaml
	draft    bool   // text is what file may become, not what it is
	cluster  *config.Cluster
	saved    *config.Cluster // as the last run that passed preflight had it; nil when none has
	dir      string          // the cluster's state directory
	root     string          // of all clusters
	told     config.Problems // of the deploy.yaml that was loaded first
	stateDir string          // --state-dir as it was given
	digest   string          // of deploy.yaml
	policy   remote.Policy
	files    operation.Files // of the cluster
	point    journal.Point
	me       journal.Holder
	failure  onFailure
	lock     *journal.Lock
	log      *journal.Writer
	bus      *event.Bus
	front    *follower             // of a run in the foreground; else nil
	json     bool                  // --output json
	flags    []string              // of the command line, for who goes on with the run
	limit    []string              // nodes that the run keeps its work to; none means all
	again    string                // what follows the verb and the cluster when the same command is run again
	looks    bool                  // nothing is locked and no run is logged
	conns    operation.Connections // nil: nothing is dialled
	unpacked []*bundle.Staged

	trust trustOptions

	mu      sync.Mutex
	vouches *staging.Checker // made when the first bundle is met
	ask     sync.Mutex       // one question at a time
}

// prepare loads deploy.yaml and what it takes to log in. Nothing is made.
func prepare(ctx context.Context, env *environment, o runOptions, verb string) (*session, error) {
	s := &session{env: env, verb: verb, me: whoami(verb), flags: o.carried(), trust: o.trustOptions}
	if o.output != "plain" && o.output != "json" {
		return nil, event.NewFault(event.ClassUsage, "usage.output", nil, "output", o.output, "choices", "plain, json")
	}
	s.json = o.output == "json"
	var err error
	if s.failure, err = parseOnFailure(o.failure); err != nil {
		return nil, err
	}
	if s.hooks, err = o.hooks.load(); err != nil {
		return nil, err
	}
	s.root, s.stateDir = stateRoot(env, o.state), o.state
	path, err := s.deployFile(o)
	if err != nil {
		return nil, err
	}
	if err := s.load(env, path); err != nil {
		return nil, err
	}
	if o.hooks.beforeKind == phases.ClusterPreHook {
		if err := phases.HooksRun(s.hooks, s.cluster.Nodes); err != nil {
			return nil, err
		}
	}
	if o.hostKeys == "" {
		o.hostKeys = s.cluster.Eggo.HostKeys
	}
	if s.policy, err = hostKeyPolicy(o.hostKeys, env); err != nil {
		return nil, err
	}
	if err := s.reach(); err != nil {
		return nil, err
	}
	return s, resolveSecrets(ctx, env, s.cluster)
}

// openSession prepares, takes the cluster's lock and opens the event log. Nothing has been touched when it fails.
func openSession(ctx context.Context, env *environment, o runOptions, verb string) (*session, error) {
	s, err := prepare(ctx, env, env.Answers.over(o), verb)
	if err != nil {
		return nil, err
	}
	s.flags, s.again = o.carried(), o.again()
	if s.files, err = (store.Dir{Root: s.root}).Open(ctx, s.cluster.Name); err != nil {
		return nil, err
	}
	s.dir = s.files.Dir()
	runs := s.files.Journal()
	if s.lock, err = runs.Lock(s.me); err != nil {
		return nil, err
	}
	if err = s.loadSaved(); err == nil {
		s.point, err = runs.Resume(verb, s.digest)
	}
	if err == nil {
		s.log, err = runs.NewRun(verb, time.Now())
	}
	if err == nil {
		err = s.lock.Writes(s.log.ID())
	}
	if err == nil {
		err = s.copyTo(s.log.ID())
	}
	switch {
	case err != nil:
	case env.Opened != nil:
		err = env.Opened(s.cluster.Name, s.log.ID(), s.log.Dir())
	default:
		s.front = newFollower(env, o.output, s.stateDir, backend.Ref{Cluster: s.cluster.Name, Run: s.log.ID()}, s.log.Dir())
		s.front.start()
	}
	if err != nil {
		if s.log != nil { // there is no run
			err = errors.Join(err, s.log.Discard())
		}
		return nil, errors.Join(err, s.lock.Unlock())
	}
	s.bus = event.NewBus(time.Now, s.log)
	return s, nil
}

// close ends connections, log and lock; it may be called once.
func (s *session) close() {
	if s.conns != nil {
		s.conns.Close()
	}
	s.releaseStages()
	if s.looks {
		if s.files != nil {
			s.files.Close()
		}
		return
	}
	s.log.Close()
	s.lock.Unlock()
	if s.front != nil {
		s.front.end()
	}
}

// run executes a plan, says how it ended, and returns the fault that gives the exit code.
func (s *session) run(ctx context.Context, plan func(phases.Env) *engine.Plan, next func() []event.Msg) error {
	if err := s.bus.Emit(event.RunStarted{Run: s.log.ID(), Cluster: s.cluster.Name, Verb: s.verb, Version: buildVersion(), Config: s.digest, File: s.file, Resumed: s.point.Run != "", Flags: s.flags}); err != nil {
		return err
	}
	// What an earlier run has done is asked of the nodes themselves, by every step's check: the journal may be of another jump host.
	opts := engine.Options{Emit: s.bus.Emit, Limits: phases.Limits()}
	s.failure.options(&opts)
	listening, err := s.listen(&opts)
	if err != nil {
		return err
	}
	defer listening()
	if i := s.env.Interrupts; i != nil {
		stop, end := i.begin()
		defer end()
		defer i.stayOn()()
		opts.Stop = stop
		go func() {
			select {
			case <-stop:
				fmt.Fprintln(s.env.Stderr, s.env.P.T("run.stopping"))
			case <-ctx.Done():
			}
		}()
	}
	sum, err := engine.Run(ctx, plan(s.phasesEnv()), opts)
	end := event.RunEnded{Outcome: event.OK, Changed: len(sum.Changed), Next: []event.Msg{event.M("next.log", "path", filepath.Join(s.log.Dir(), "events.jsonl"))}}
	var result error
	switch fault := worst(ctx, err, sum); {
	case fault != nil:
		end.Outcome, end.Exit, end.Fault = event.Failed, int(exitcode.OfClass(fault.Class)), fault
		if fault.Class == event.ClassInterrupted {
			end.Outcome = event.Interrupted
		}
		end.Next = append(end.Next, event.M("next.resume", "command", s.command(cmp.Or(s.goOn, s.words, s.verb))+s.again))
		result = errReported{fault}
	default:
		if len(sum.Changed) > 0 {
			end.Outcome = event.Changed
		}
		end.Next = append(next(), end.Next...)
		if err := s.pruneStages(); err != nil {
			return err
		}
	}
	if err := s.bus.Emit(end); err != nil { // whoever reads the log does not know of the end
		return err
	}
	return result
}

// worst is the fault that stands for the run: an interruption, then the class that says most about what to do.
func worst(ctx context.Context, err error, sum engine.Summary) *event.Fault {
	if err == nil && len(sum.Failed) == 0 {
		return nil
	}
	if f := event.AsFault(err); f != nil && f.Code == "engine.left-out" {
		return f
	}
	if ctx.Err() != nil || event.AsFault(err) != nil && event.AsFault(err).Class == event.ClassInterrupted {
		return event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
	}
	var first *event.Fault
	for _, class := range []event.Class{event.ClassLocked, event.ClassAuth, event.ClassBundle, event.ClassPreflight} {
		for _, f := range sum.Failed {
			if f.Fault != nil && f.Fault.Class == class && len(sum.Changed) == 0 {
				return f.Fault
			}
		}
	}
	partial := len(sum.Failed) > 0
	for _, f := range sum.Failed {
		if f.Fault == nil {
			continue
		}
		if first == nil {
			first = f.Fault
		}
		partial = partial && f.Fault.Class == event.ClassPartial
	}
	if first == nil {
		return event.AsFault(err)
	}
	class := event.ClassFailed
	if partial {
		class = event.ClassPartial
	}
	return event.NewFault(class, "run.failed", nil, "count", strconv.Itoa(len(sum.Failed)))
}

func (s *session) phasesEnv() phases.Env {
	return phases.Env{Cluster: s.cluster, Saved: s.saved, Accepted: s.keep, Connect: s.connect, Stage: s.stage, StateDir: s.dir, Emit: s.bus.Emit, Now: time.Now, Hooks: s.hooks, Verb: s.verb}
}

// stage verifies and unpacks a bundle under the state directory, once. deploy.yaml may name a split bundle by its first part or by what the
// parts make.
func (s *session) stage(ctx context.Context, source config.BundleSource) (phases.Bundle, error) {
	path := source.Path
	if path == "" {
		return nil, event.NewFault(event.ClassBundle, "bundle.no-source", nil, "arch", source.Arch)
	}
	path = s.bundlePath(source)
	step := engine.StepID(ctx)
	last := time.Time{}
	b, err := bundle.Stage(ctx, path, s.stagesDir(), func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= 250*time.Millisecond || done == total {
			last = now
			_ = s.bus.Emit(event.Progress{Step: step, What: filepath.Base(path), Done: done, Total: total})
		}
	}, bundle.WithVoucher(func(m *bundle.Manifest, sums []byte) error { return s.vouch(ctx, path, m, sums) }), bundle.WithExpected("", source.Arch), bundle.WithBases(bundle.Beside(path)...)) // the base of a difference may be staged, or lie beside it
	if err != nil {
		return nil, err
	}
	s.used(b)
	return b, nil
}

// connect dials a node and takes its lock; the connection lives until the session closes.
func (s *session) connect(ctx context.Context, n config.Node) (node.Host, error) {
	h, err := s.conns.Dial(ctx, n)
	if err != nil || s.looks {
		return h, err
	}
	if err := h.Lock(ctx, s.holder()); err != nil {
		return nil, err
	}
	return h, nil
}

// whoami names this run to another operator who finds the cluster or a node locked.
func whoami(verb string) journal.Holder {
	h := journal.Holder{PID: os.Getpid(), Verb: verb, Since: time.Now()}
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	if name, err := os.Hostname(); err == nil {
		h.Host = name
	}
	return h
}

func (s *session) holder() string {
	return fmt.Sprintf("%s@%s pid %d: eggo-tui %s %s", s.me.User, s.me.Host, s.me.PID, s.verb, s.cluster.Name)
}
