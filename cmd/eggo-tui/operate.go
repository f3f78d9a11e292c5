package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// where is how this program was called.
func (env *environment) where() present.CommandLine {
	return present.CommandLine{Program: programName(env.Args), State: env.State}
}

// request returns the part of a request that all verbs share, with the cluster that the flags select.
func (o *runOptions) request(ctx context.Context, env *environment) (request.Common, error) {
	c, err := o.settings()
	if err == nil {
		c.Source, err = env.source(ctx, o.named())
	}
	return c, err
}

// named returns the flags that select the cluster.
func (o *runOptions) named() named { return named{file: o.file, id: o.id, fileless: o.fileless} }

// settings are request without a cluster, in the order in which they are refused.
func (o *runOptions) settings() (request.Common, error) {
	var c request.Common
	var err error
	if c.OnFailure, err = request.ParseOnFailure(o.failure); err != nil {
		return c, err
	}
	if c.Trust = (request.Trust{Signers: o.signers, AllowUnsigned: o.allowUnsigned}); o.signers != "" {
		if c.Trust.Signers, err = filepath.Abs(o.signers); err != nil {
			return c, usageFault(err)
		}
	}
	c.Limit, c.HostKeys, c.TakeOver = o.limit, o.hostKeys, o.takeOver
	c.Hooks = request.Hooks{Before: o.hooks.before, After: o.hooks.after, OfNodes: o.hooks.ofNodes()}
	return c, nil
}

// deps are those of an operation for the flags. Who is asked is for the caller to add.
func (env *environment) deps(o runOptions) (d operation.Deps, root string, err error) {
	if root, err = filepath.Abs(env.stateRoot()); err != nil {
		return d, "", event.NewFault(event.ClassUsage, "state.read", err)
	}
	return env.depsAt(root, o.output), root, nil
}

// depsAt are those for the clusters of a directory.
func (env *environment) depsAt(root, output string) operation.Deps {
	d := local.Deps(local.Options{Root: root, SSH: dial.Options{Home: env.Getenv("HOME"), Agent: true}})
	d.Who, d.Version, d.Clock = whoami(""), buildVersion(), env.Clock
	d.Problems = func(file string, p config.Problems) {
		if p.HasErrors() && output == cli.JSON {
			present.ValidityLines(env.P, env.lines(), file, p) // the fault is printed all the same
			return
		}
		printProblems(env, p)
	}
	return d
}

// host is this machine to screens, the line interface and other front ends.
func (env *environment) host() *host.Host {
	root, dir := env.stateRoot(), "."
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return &host.Host{
		Root: root, Dir: dir, Getenv: env.Getenv, Printer: func() *i18n.Printer { return env.P },
		Program: "eggo-tui " + buildVersion(), Launcher: func() operation.Launcher { return env.launcher(root) },
		Deps: func() operation.Deps {
			d := env.depsAt(root, cli.Text)
			d.Problems, d.Asker, d.Unattended = nil, env.answered(nil), true
			return d
		},
	}
}

// inspecting is what an inspection takes: what the flags say to it, and its Deps. Who is at a terminal is asked about
// all host keys at once.
func (env *environment) inspecting(
	ctx context.Context, o runOptions,
) (request.Common, operation.Deps, error) {
	c, err := o.request(ctx, env)
	if err != nil {
		return c, operation.Deps{}, err
	}
	d, _, err := env.deps(o)
	_, person := terminal(env)
	d.Asker, d.Unattended = ask.WithStored(atTerminal{env}, env.Getenv), !person
	if person {
		d.Asker = env.asking()
	}
	if o.output == cli.Text {
		d.Sink = forgetful{}
		if onTerminal(env.Stderr) && env.Getenv("TERM") != "dumb" {
			d.Sink = report.NewCounting(env.Stderr, env.P)
		}
		d.Sink = keyWarnings{env, d.Sink}
	}
	return c, d, err
}

// forgetful is a sink that keeps nothing.
type forgetful struct{}

// Emit implements event.Sink.
func (forgetful) Emit(event.Record) error { return nil }

// keyWarnings prints which lines of known_hosts are skipped, and hands all events on.
type keyWarnings struct {
	env  *environment
	next event.Sink
}

// Emit implements event.Sink.
func (k keyWarnings) Emit(r event.Record) error {
	if n, is := r.Event.(event.Notice); is && n.Text.Key == "notice.known-hosts-skipped" {
		fmt.Fprintln(k.env.Stderr, event.Clean(k.env.P.Msg(n.Text)))
	}
	return k.next.Emit(r)
}

// inspected is the error of an inspection: its findings are told already.
func inspected(err error) error {
	if f := event.AsFault(err); f != nil && f.Code == "preflight.failed" {
		return errReported{f}
	}
	return err
}

// begin has a run done: it asks all there is to ask, starts the run in a process of its own, and shows it until it
// ends. With --foreground the run is in this process. confirm is asked last; nil: nothing is.
func (env *environment) begin(
	ctx context.Context, o runOptions, q request.Request, confirm func(context.Context, *operation.Scope) error,
) error {
	d, root, err := env.deps(o)
	if err != nil {
		return err
	}
	env.Interrupts.noPipe()
	_, person := terminal(env)
	asking := d
	asking.Asker, asking.Unattended = env.asking(), !person
	in, err := operation.Questions(ctx, q, asking, confirm)
	if err != nil {
		return err
	}
	env.Stderr = newUnhurried(env.Stderr) // not before: what is asked about has to have been on the screen
	if o.foreground {
		return env.runHere(ctx, o, q, d, in)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	signals, giveBack := env.Interrupts.take() // before there is a process: none may end this one unasked
	defer giveBack()
	h, err := env.launcher(root).Launch(q, in)
	if err != nil {
		return err
	}
	return env.show(h, o, signals)
}

// launcher starts processes of runs: this program again.
func (env *environment) launcher(root string) operation.Launcher {
	return operation.Launcher{
		Root: root, Lang: string(env.P.Lang()), Version: buildVersion(),
		Command: func(args ...string) (*exec.Cmd, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			cmd := exec.Command(self, args...) // of no context: it is to live on
			cmd.Args[0] = env.Args[0]
			return cmd, nil
		},
	}
}

// runHere does a run in this process, with answers that were given before.
func (env *environment) runHere(
	ctx context.Context, o runOptions, q request.Request, d operation.Deps, in request.Answers,
) error {
	d.Answers, d.Asker, d.Unattended = in, env.answered(in.Secrets), true
	var front *follower
	d.Opened = func(r operation.Run) error {
		said := *env
		said.P = present.CommandLine{
			Program: programName(env.Args), State: env.State, Foreground: q.Call().Verb,
		}.Printer(env.P.Lang())
		front = newFollower(&said, o.output, request.Ref{Cluster: r.Cluster, Run: r.Run}, r.Dir)
		front.start()
		return nil
	}
	h, err := operation.Start(ctx, q, d)
	if err != nil {
		return err
	}
	o.hasBegun()
	defer env.stoppable(h)()
	res, err := h.Wait(context.Background()) // the end of ctx is in the log, too
	if front != nil {
		front.end()
	}
	return loggedEnd(res, err)
}

// stoppable has the signals of this process stop the run, until the function returned is called. Where somebody else
// has asked it to stop, the first signal is the second word: it aborts.
func (env *environment) stoppable(h *operation.Handle) (end func()) {
	var stop <-chan struct{}
	halt, end := func() bool { return false }, func() {}
	if i := env.Interrupts; i != nil {
		begun, over := i.begin()
		stays := i.stayOn()
		stop, halt, end = begun, i.halt, func() { stays(); over() }
	}
	go func() {
		select {
		case <-stop:
			_ = h.Stop()
		case <-h.Stopping():
			halt()
		case <-h.Done():
			return
		}
		fmt.Fprintln(env.Stderr, env.P.T("run.stopping"))
	}()
	return end
}

// loggedEnd is the error of a run: what its log has is not said again.
func loggedEnd(res operation.Result, err error) error {
	if err != nil && res.Logged {
		return errReported{event.AsFault(err)}
	}
	return err
}
