package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

// environment is all that a verb may know of the process that it runs in.
type environment struct {
	Stdout, Stderr io.Writer
	Args           []string // with the program's own name first
	Getenv         func(string) string
	P              *i18n.Printer
	Terminal       bool // Stderr is one

	json bool // errors are JSON lines too
}

// run is the program: it runs the verb that was asked for, prints its error and returns the exit code.
func run(ctx context.Context, env *environment) int {
	if lang := langFlag(env.Args); lang != "" {
		env.P = i18n.NewPrinter(i18n.Lang(lang))
	}
	root := newRoot(env)
	root.SetArgs(env.Args[min(1, len(env.Args)):])
	started := false
	for _, c := range root.Commands() {
		inner := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			started = true
			return inner(cmd, args)
		}
	}
	err := root.ExecuteContext(ctx)
	if err != nil && !started && !errors.As(err, new(*event.Fault)) {
		err = event.NewFault(event.ClassUsage, "usage", err)
	}
	if err != nil && ctx.Err() != nil {
		err = event.NewFault(event.ClassInterrupted, "interrupted", ctx.Err())
	}
	if err != nil {
		printError(env, err)
	}
	return int(exitcode.Of(err))
}

func langFlag(args []string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--lang="); ok {
			return v
		}
		if a == "--lang" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

func newRoot(env *environment) *cobra.Command {
	p := env.P
	root := &cobra.Command{
		Use: "eggo-bundle", Short: p.T("bundle.cli.root.short"), Long: p.T("bundle.cli.root.long"),
		Version: buildVersion(), SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().String("lang", string(p.Lang()), p.T("cli.flag.lang"))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		lang, _ := cmd.Flags().GetString("lang")
		if l := i18n.Lang(lang); l != i18n.English && l != i18n.Chinese {
			return event.NewFault(event.ClassUsage, "usage.lang", nil, "lang", lang)
		}
		return nil
	}
	root.AddCommand(newBuild(env), newVerify(env), newInspect(env), newVersion(env))
	localize(root, p)
	return root
}

// localize gives cobra's own words in the printer's language.
func localize(root *cobra.Command, p *i18n.Printer) {
	root.SetHelpCommand(&cobra.Command{Use: "help", Hidden: true, RunE: func(*cobra.Command, []string) error { return root.Help() }})
	root.SetUsageTemplate(strings.NewReplacer(
		"Usage:", p.T("cli.help.usage"), "Available Commands:", p.T("cli.help.commands"), "Global Flags:", p.T("cli.help.global"),
		"Flags:", p.T("cli.help.flags"), "Examples:", p.T("cli.help.examples"), "Aliases:", p.T("cli.help.aliases"),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, p.T("cli.help.more", "command", "{{.CommandPath}}"),
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = p.T("cli.flag.version")
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		c.InitDefaultHelpFlag()
		c.Flags().Lookup("help").Usage = p.T("cli.flag.help")
	}
}

// outputFlag adds --output and returns a check that gives whether it is json.
func outputFlag(cmd *cobra.Command, env *environment) func() (bool, error) {
	v := cmd.Flags().String("output", "text", env.P.T("cli.flag.output"))
	return func() (bool, error) {
		if !slices.Contains([]string{"text", "json"}, *v) {
			return false, event.NewFault(event.ClassUsage, "usage.output", nil, "output", *v, "choices", "text, json")
		}
		env.json = *v == "json"
		return env.json, nil
	}
}

// printError shows all faults of err: each with its sentence and its advice on stderr, or as JSON lines on stdout.
func printError(env *environment, err error) {
	for _, f := range faults(err) {
		text, next := env.P.Fault(f)
		if line := f.Args["line"]; line != "" {
			text = f.Args["file"] + ":" + line + ": " + text
		}
		if env.json {
			emit(env.Stdout, map[string]any{"event": "error", "fault": f, "text": text, "next": next})
			continue
		}
		fmt.Fprintf(env.Stderr, "%s: %s (%s)\n", env.P.T("cli.error"), text, f.Code)
		if next != "" {
			fmt.Fprintf(env.Stderr, "  → %s\n", next)
		}
	}
}

// faults are those of a list of errors, in its order.
func faults(err error) []*event.Fault {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []*event.Fault{event.AsFault(err)}
	}
	var out []*event.Fault
	for _, e := range list.Unwrap() {
		out = append(out, faults(e)...)
	}
	return out
}

// emit writes one JSON line.
func emit(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a reader that went away ends the program by SIGPIPE
}

// size in bytes, for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, i := float64(n)/unit, 0
	for f >= unit && i < 4 {
		f /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTP"[i])
}

// version is set by the linker in releases; other builds take what the toolchain recorded.
var version string

func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "devel"
}

func newVersion(env *environment) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: env.P.T("cli.version.short"), Args: cobra.NoArgs}
	output := outputFlag(cmd, env)
	cmd.RunE = func(*cobra.Command, []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		platform := runtime.GOOS + "/" + runtime.GOARCH
		if asJSON {
			emit(env.Stdout, map[string]string{"version": buildVersion(), "go": runtime.Version(), "platform": platform})
			return nil
		}
		_, err = fmt.Fprintf(env.Stdout, "eggo-bundle %s (%s, %s)\n", buildVersion(), runtime.Version(), platform)
		return err
	}
	return cmd
}
