// Command eggo-bundle packs and checks offline bundles. The work is in internal/bundle; here are the verbs, one file each.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/i18n"
)

func main() {
	os.Exit(realMain())
}

// realMain is main with its deferred calls run before the program ends.
func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return run(ctx, &environment{
		Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args, Getenv: os.Getenv,
		P: i18n.NewPrinter(i18n.FromEnv()), Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	})
}
