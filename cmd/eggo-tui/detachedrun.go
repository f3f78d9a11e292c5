package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/operation"
)

// detachedRun is the process of a run, in a session of its own: it reads its request and the secrets on stdin, says
// which run it is, and then speaks by its event log alone.
func detachedRun(ctx context.Context, signals *interrupts) int {
	syscall.CloseOnExec(operation.ReportFD)
	env := &environment{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: os.Stderr, Args: os.Args[:1],
		P: i18n.NewPrinter(i18n.FromEnv()), Getenv: os.Getenv, Interrupts: signals,
	}
	wire := func(e operation.Envelope) (operation.Deps, error) {
		env.P = i18n.NewPrinter(i18n.Lang(e.Lang))
		d := env.depsAt(e.Root, "plain")
		d.Asker, d.Unattended = answering{kept(e.Answers.Secrets), env.Getenv}, true
		d.Opened = func(r operation.Run) error {
			if err := redirect(filepath.Join(r.Dir, apartLog)); err != nil {
				return event.NewFault(event.ClassFailed, "state.write", err)
			}
			return nil
		}
		return d, nil
	}
	unheard := func(err error) { printError(env, err) }
	report := os.NewFile(operation.ReportFD, "report")
	return int(exitcode.Of(operation.RunDetached(ctx, os.Stdin, report, wire, env.stoppable, unheard)))
}
