// Command eggo-server is the cluster manager: the operations of eggo-tui over HTTP, on the same state directory. The
// work is in internal/; here all is wired.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// version is set by the linker in releases; other builds take what the toolchain recorded.
var version string

func buildVersion() string { return cli.Version(version) }

func main() {
	os.Exit(realMain(ownAddresses))
}

// realMain is main with its deferred calls run before the program ends. own are the addresses that are not logged in
// to.
func realMain(own func() config.Addresses) int {
	phases.Quiet()
	if len(os.Args) > 1 && os.Args[1] == operation.DetachedVerb {
		return detachedRun(context.Background(), own)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, &environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args,
		Getenv: os.Getenv, P: i18n.NewPrinter(i18n.FromEnv()), Ready: notifier(), Own: own})
}

// environment is all that a verb may know of the process that it runs in.
type environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Args           []string // with the program's own name first
	Getenv         func(string) string
	P              *i18n.Printer
	// Ready is called with the address when requests are answered; nil: nobody waits.
	Ready func(address string)
	// Own are the addresses of this host: none of them is logged in to. nil: there are none.
	Own func() config.Addresses
}

// run is the program: it runs the verb that was asked for, prints its error and returns the exit code.
func run(ctx context.Context, env *environment) int {
	if lang := cli.LangFlag(env.Args); lang != "" {
		env.P = i18n.NewPrinter(i18n.Lang(lang))
	}
	root := newRoot(env)
	root.SetArgs(env.Args[min(1, len(env.Args)):])
	started := false
	cli.WatchStart(root, &started)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		if f := (*event.Fault)(nil); !asFault(err, &f) {
			err = event.NewFault(event.ClassUsage, "usage", err)
		}
	}
	printError(env, err)
	return int(exitcode.Of(err))
}

func newRoot(env *environment) *cobra.Command {
	p := env.P
	root := &cobra.Command{
		Use: "eggo-server", Short: p.T("server.cli.root.short"), Long: p.T("server.cli.root.long"),
		Version: buildVersion(), SilenceErrors: true, SilenceUsage: true, Args: cli.UnknownCommand,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().String("lang", "", p.T("cli.flag.lang"))
	root.AddCommand(newServe(env), newUser(env), newVersion(env),
		cli.NewCompletion(p.T("cli.completion.short"), env.Stdout), cli.NewMan(buildVersion()))
	cli.Localize(root, p)
	cli.Help(root, env.Getenv)
	return root
}
