package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// stdinLog as --log is standard input.
const stdinLog = "-"

// runOrLog takes the name of a run, or none where an event log is given instead.
func runOrLog(log string) cobra.PositionalArgs {
	if log != "" {
		return cli.NoArguments
	}
	return cli.AtMost(1)
}

// openLog opens --log: a file, or standard input. name is for messages.
func openLog(env *environment, log string) (in io.ReadCloser, name string, err error) {
	if log == stdinLog {
		return io.NopCloser(env.Stdin), "stdin", nil
	}
	f, err := os.Open(log)
	if err != nil {
		return nil, "", event.NewFault(event.ClassUsage, "journal.read", err, "path", log)
	}
	return f, log, nil
}

// atKeyboard is where the user types when standard input is something else; nobody does without a terminal.
func atKeyboard(env *environment) (*environment, io.Closer) {
	on := *env
	tty, err := os.Open("/dev/tty")
	if err != nil {
		on.Stdin = strings.NewReader("")
		return &on, io.NopCloser(on.Stdin)
	}
	on.Stdin = tty
	return &on, tty
}
