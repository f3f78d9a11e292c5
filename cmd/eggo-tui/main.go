// Command eggo-tui installs Kubernetes from an offline bundle over SSH. The work is in internal/; here are the verbs,
// one file each.
package main

import (
	"context"
	"os"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

func main() {
	os.Exit(realMain(nil))
}

// realMain is main with its deferred calls run before the program ends. clock is that of its operations; nil: the
// machine's.
func realMain(clock operation.Clock) int {
	phases.Quiet()
	signals := interrupts{exit: func() { os.Exit(int(exitcode.Interrupted)) }}
	ctx, stop := signals.watch(context.Background())
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == operation.DetachedVerb {
		return detachedRun(ctx, &signals, clock)
	}
	return run(ctx, &environment{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Args: os.Args, P: present.CommandLine{Program: programName(os.Args)}.Printer(i18n.FromEnv()), Getenv: os.Getenv,
		Output: os.Getenv("EGGO_OUTPUT"), Interrupts: &signals,
		Clock: clock,
	})
}
