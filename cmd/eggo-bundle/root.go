package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// environment is all that a verb may know of the process that it runs in.
type environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Args           []string // with the program's own name first
	Getenv         func(string) string
	P              *i18n.Printer
	Terminal       bool                    // Stderr is one
	Size           func() (cols, rows int) // of that terminal
	Now            func() time.Time

	State string // --state-dir

	json   bool // results, progress and errors are JSON lines on Stdout
	headed bool // the first of them, which tells the version, is written
}

// run is the program: it runs the verb that was asked for, prints its errors and returns the exit code.
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
		err = usageFault(err)
	}
	if err != nil && ctx.Err() != nil {
		err = event.NewFault(event.ClassInterrupted, "interrupted", nil)
	}
	return int(printErrors(env, err))
}

func newRoot(env *environment) *cobra.Command {
	p := env.P
	root := &cobra.Command{
		Use: "eggo-bundle", Short: p.T("bundle.cli.root.short"), Long: p.T("bundle.cli.root.long"),
		Version: buildVersion(), SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().String("lang", "", p.T("cli.flag.lang"))
	root.PersistentFlags().StringVar(&env.State, "state-dir", env.State, p.T("cli.flag.state"))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		lang, _ := cmd.Flags().GetString("lang")
		if l := i18n.Lang(lang); l != "" && l != i18n.English && l != i18n.Chinese {
			return event.NewFault(event.ClassUsage, "usage.lang", nil, "lang", lang)
		}
		return nil
	}
	root.Args = cli.UnknownCommand
	root.SetFlagErrorFunc(flagFault)
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(newBuild(env), newAdopt(env), newUpdate(env), newSpec(env), newInspect(env), newDiff(env),
		newVerify(env), newExtract(env), newPush(env),
		newKeygen(env), newSign(env), newCache(env), newVersion(env),
		cli.NewCompletion(p.T("cli.completion.short"), env.Stdout), cli.NewMan(buildVersion()))
	cli.Localize(root, p)
	cli.Help(root, env.Getenv)
	completions().Apply(root)
	return root
}

// outputFlag adds --output, which is EGGO_OUTPUT unless given, and returns a check that gives whether it is json.
func outputFlag(cmd *cobra.Command, env *environment) func() (bool, error) {
	var v string
	cli.OutputFlag(cmd, &v, env.Getenv("EGGO_OUTPUT"), env.P.T("cli.flag.output"))
	return func() (bool, error) {
		if err := cli.CheckOutput(cmd); err != nil {
			return false, err
		}
		env.json = v == cli.JSON
		return env.json, nil
	}
}

// version is set by the linker in releases; other builds take what the toolchain recorded.
var version string

func buildVersion() string { return cli.Version(version) }

func newVersion(env *environment) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: env.P.T("cli.version.short"), Args: cli.Exactly()}
	output := outputFlag(cmd, env)
	cmd.RunE = func(*cobra.Command, []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		platform := runtime.GOOS + "/" + runtime.GOARCH
		if asJSON {
			return env.emit("program", fields{"version": buildVersion(), "go": runtime.Version(), "platform": platform})
		}
		return env.say("eggo-bundle " + buildVersion() + " (" + runtime.Version() + ", " + platform + ")")
	}
	return cmd
}

// interrupted says whether err is only that the context ended.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
