// Command eggo-bundle packs, compares, checks, signs and hands on offline bundles. The work is in internal/bundle; here
// are the verbs, one file each, and what people see of them.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

func main() {
	os.Exit(realMain())
}

// realMain is main with its deferred calls run before the program ends.
func realMain() int {
	log.SetOutput(io.Discard)          // net/http and helm's libraries write there, in the middle of our screen
	cobra.EnableCommandSorting = false // the verbs stand in the order of the work
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	fd := int(os.Stderr.Fd())
	return run(ctx, &environment{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args, Getenv: os.Getenv,
		P: i18n.NewPrinter(i18n.FromEnv()), Terminal: term.IsTerminal(fd), Now: time.Now,
		Size: func() (int, int) {
			cols, rows, err := term.GetSize(fd)
			if err != nil {
				return 80, 24
			}
			return cols, rows
		},
	})
}
