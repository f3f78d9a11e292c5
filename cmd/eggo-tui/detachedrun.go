package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// processLog of a run's directory is what its process says besides.
const processLog = "process.log"

// detachedRun is the process of a run, in a session of its own: it reads its request and the secrets on stdin, says
// which run it is, and then speaks by its event log alone.
func detachedRun(ctx context.Context, signals *interrupts, clock operation.Clock) int {
	syscall.CloseOnExec(operation.ReportFD)
	env := &environment{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: os.Stderr, Args: os.Args[:1],
		P: i18n.NewPrinter(i18n.FromEnv()), Getenv: os.Getenv, Interrupts: signals,
		Clock: clock,
	}
	wire := func(e operation.Envelope) (operation.Deps, error) {
		env.P = i18n.NewPrinter(i18n.Lang(e.Lang))
		d := env.depsAt(e.Root, cli.Text)
		d.Asker, d.Unattended = env.answered(e.Answers.Secrets), true
		d.Opened = func(r operation.Run) error {
			if err := redirect(filepath.Join(r.Dir, processLog)); err != nil {
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

// redirect makes a file of what goes to stdout and stderr, panics too.
func redirect(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, fd := range []int{1, 2} {
		if err := syscall.Dup3(int(f.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}
