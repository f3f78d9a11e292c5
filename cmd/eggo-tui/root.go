package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// environment is all that a verb may know of the process that it runs in, so that a test can stand in for it.
type environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Args           []string // with the program's own name first
	P              *i18n.Printer
	Getenv         func(string) string
	Interrupts     *interrupts // nil: nothing interrupts but the context
	Debug          bool        // -d
	State          string      // --state-dir as it was given
	// Output is EGGO_OUTPUT: what --output is unless given.
	Output string
	Clock  operation.Clock // nil: the machine's
}

// outputFlag adds --output, which is EGGO_OUTPUT unless given.
func (e *environment) outputFlag(cmd *cobra.Command, to *string) {
	cli.OutputFlag(cmd, to, e.Output, e.P.T("cli.flag.output"))
}

// errReported ends a verb that has already told the user what went wrong; its fault gives the exit code and nothing
// more is printed.
type errReported struct{ fault *event.Fault }

func (e errReported) Error() string { return e.fault.Error() }
func (e errReported) Unwrap() error { return e.fault }

// reported makes an error that ends the program with the class's exit code without another word.
func reported(class event.Class, code string) error {
	return errReported{event.NewFault(class, code, nil)}
}

// usageFault is a mistake on the command line.
func usageFault(err error) error { return event.NewFault(event.ClassUsage, "usage", err) }

// run is the program: it builds the commands, runs the one that was asked for, prints its error and returns the exit
// code.
func run(ctx context.Context, env *environment) int {
	err := execute(ctx, env)
	printError(env, err)
	return int(exitcode.Of(err))
}

// execute is run without the words at the end.
func execute(ctx context.Context, env *environment) error {
	if lang := cli.LangFlag(env.Args); lang != "" {
		env.P = env.where().Printer(i18n.Lang(lang))
	}
	started := false
	root := newRootCmd(env)
	cli.WatchStart(root, &started)
	args := env.Args[min(1, len(env.Args)):]
	root.SetArgs(args)
	cmd, err := root, checkVerb(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	// Before a verb's own code has begun, every error is cobra's word on the command line.
	if f := (*event.Fault)(nil); err != nil && !started && !errors.As(err, &f) {
		err = commandLineFault(cmd, err)
	}
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*event.Fault)) {
		err = event.NewFault(event.ClassInterrupted, "interrupted", err)
	}
	return err
}

// printError shows an error as its sentence and its advice, on stderr.
func printError(env *environment, err error) {
	if err == nil || errors.As(err, new(errReported)) {
		return
	}
	f := event.AsFault(err)
	text, next := env.P.Fault(f)
	s := cli.ScreenOf(env.Stderr, env.Getenv)
	fmt.Fprint(env.Stderr, s.Text(fmt.Sprintf("%s: %s [%s]\n", s.Error(env.P.T("cli.error")), text, f.Code)))
	if next != "" {
		fmt.Fprint(env.Stderr, s.Text(fmt.Sprintf("  → %s\n", next)))
	}
}

// group is a command that only holds others.
func group(env *environment, use, short string) *cobra.Command {
	return cli.Group(&cobra.Command{Use: use, Short: short, Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return needsCommand(env, cmd) }})
}

// needsCommand shows the help of a command that was called without one of those below it.
func needsCommand(env *environment, cmd *cobra.Command) error {
	cmd.SetOut(env.Stderr)
	if err := cmd.Help(); err != nil {
		return err
	}
	return reported(event.ClassUsage, "usage")
}

// newRootCmd makes the program's command with all its verbs.
func newRootCmd(env *environment) *cobra.Command {
	p := env.P
	var o menuOptions
	root := &cobra.Command{
		Use:           programName(env.Args),
		Short:         p.T("cli.root.short"),
		Long:          p.T("cli.root.long"),
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if screen(env) || lineByLine(env, o.accessible) {
				return menu(cmd.Context(), env, o)
			}
			return needsCommand(env, cmd)
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().String("lang", "", p.T("cli.flag.lang"))
	root.PersistentFlags().StringVar(&env.State, "state-dir", env.State, p.T("cli.flag.state"))
	root.PersistentFlags().BoolVarP(&env.Debug, "debug", "d", false, p.T("cli.flag.debug"))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkLang(cmd); err != nil {
			return err
		}
		if env.State != "" { // the commands that an error advises need it, too
			env.P = env.where().Printer(env.P.Lang())
		}
		return cli.CheckOutput(cmd)
	}
	o.flags(root, env)
	root.AddCommand(verbs(env)...)
	cli.Localize(root, p)
	cli.Help(root, env.Getenv)
	completions(env).Apply(root)
	return root
}

// programName is eggo when the program was started by that name, as the manual's command lines do, else eggo-tui.
func programName(args []string) string {
	if len(args) > 0 && filepath.Base(args[0]) == "eggo" {
		return "eggo"
	}
	return "eggo-tui"
}

// checkVerb names a verb that there is not, before cobra stumbles over the flags that follow it.
func checkVerb(root *cobra.Command, args []string) error {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--lang", a == "--state-dir":
			i++
		case a == "--":
			return nil
		case strings.HasPrefix(a, "-"):
		case a == "help" || strings.HasPrefix(a, "__"): // cobra's own
			return nil
		default:
			if found, _, err := root.Find([]string{a}); err == nil && found != root {
				return nil
			}
			return cli.UnknownCommand(root, []string{a})
		}
	}
	return nil
}

func checkLang(cmd *cobra.Command) error {
	switch lang, _ := cmd.Flags().GetString("lang"); i18n.Lang(lang) {
	case "", i18n.English, i18n.Chinese:
		return nil
	default:
		return event.NewFault(event.ClassUsage, "usage.lang", nil, "lang", lang)
	}
}
