// Command eggops is the operator: it keeps clusters as the objects of a Kubernetes cluster describe them. The work is
// in internal/operator; here all is wired.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// version is set by the linker in releases; other builds take what the toolchain recorded.
var version string

func main() {
	os.Exit(realMain())
}

// realMain is main with its deferred calls run before the program ends.
func realMain() int {
	phases.Quiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, &environment{Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args, Getenv: os.Getenv,
		P: i18n.NewPrinter(i18n.FromEnv())})
}

// environment is all that a verb may know of the process that it runs in.
type environment struct {
	Stdout, Stderr io.Writer
	Args           []string // with the program's own name first
	Getenv         func(string) string
	P              *i18n.Printer
}

// run runs the verb that the arguments name, prints its error and returns the exit code.
func run(ctx context.Context, env *environment) int {
	if lang := cli.LangFlag(env.Args); lang != "" {
		env.P = i18n.NewPrinter(i18n.Lang(lang))
	}
	root := newRoot(env)
	root.SetArgs(env.Args[min(1, len(env.Args)):])
	started := false
	cli.WatchStart(root, &started)
	err := root.ExecuteContext(ctx)
	var f *event.Fault
	if err != nil && !started && !errors.As(err, &f) {
		err = event.NewFault(event.ClassUsage, "usage", err)
	}
	printError(env, err)
	return int(exitcode.Of(err))
}

func newRoot(env *environment) *cobra.Command {
	p := env.P
	root := &cobra.Command{
		Use: "eggops", Short: p.T("operator.cli.root.short"), Long: p.T("operator.cli.root.long"),
		Version: cli.Version(version), SilenceErrors: true, SilenceUsage: true, Args: cli.UnknownCommand,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().String("lang", "", p.T("cli.flag.lang"))
	root.AddCommand(newManagerCmd(env), newRunCmd(env), newManifestCmd(env), newInspectCmd(env), newVersionCmd(env))
	cli.Localize(root, p)
	cli.Help(root, env.Getenv)
	return root
}

// printError prints an error with what to do next.
func printError(env *environment, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	text, next := env.P.FaultIn("kube", event.AsFault(err))
	_, _ = fmt.Fprintln(env.Stderr, text) // a closed stderr changes nothing
	if next != "" {
		_, _ = fmt.Fprintln(env.Stderr, "  →", next)
	}
}
