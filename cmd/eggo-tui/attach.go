package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/lines"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

// attachOptions are the flags of attach.
type attachOptions struct {
	cluster    string
	log        string
	replay     float64
	ascii      bool
	accessible bool
}

func newAttachCmd(env *environment) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:   "attach [" + env.P.T("cli.arg.run") + "]",
		Short: env.P.T("cli.attach.short"),
		Long:  env.P.T("cli.attach.long"),
		Args:  func(cmd *cobra.Command, args []string) error { return runOrLog(o.log)(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.log != "" {
				return attachLog(cmd.Context(), env, o)
			}
			return attach(cmd.Context(), env, o, strings.Join(args, ""))
		},
	}
	cmd.Flags().StringVar(&o.cluster, "id", "", env.P.T("cli.flag.id"))
	cmd.Flags().StringVar(&o.log, "log", "", env.P.T("cli.flag.log"))
	cmd.MarkFlagsMutuallyExclusive("log", "id")
	cmd.Flags().Float64Var(&o.replay, "replay", 0, env.P.T("cli.flag.replay"))
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, env.P.T("cli.flag.ascii"))
	cmd.Flags().BoolVar(&o.accessible, "accessible", false, env.P.T("cli.flag.accessible"))
	return cmd
}

// attach shows a run on the board, from its event log alone.
func attach(ctx context.Context, env *environment, o attachOptions, name string) error {
	byLine := lineByLine(env, o.accessible)
	if !byLine && !screen(env) {
		return event.NewFault(event.ClassUsage, "usage.needs-terminal", nil, "verb", "attach")
	}
	if o.replay < 0 {
		return event.NewFault(event.ClassUsage, "usage.replay", nil)
	}
	if err := env.knows(ctx, o.cluster); err != nil {
		return err
	}
	ref, err := operation.FindRun(ctx, env.stateStore(), o.cluster, name)
	if err != nil {
		return err
	}
	env.P = env.where().Printer(env.P.Lang())
	h := front{env.host()}
	if byLine {
		return lines.Watch(ctx, lineTerminal(env), h, ref, o.replay)
	}
	opt, err := h.Open(ctx, ref, o.replay)
	if err != nil {
		return err
	}
	deps := &pages.Deps{S: h, Version: buildVersion()}
	return showPage(ctx, env, deps.Run(ref, opt), o)
}

// attachLog shows a run of anywhere on the board, from its event log alone: nothing can be decided there.
func attachLog(ctx context.Context, env *environment, o attachOptions) error {
	in, name, err := openLog(env, o.log)
	if err != nil {
		return err
	}
	defer in.Close()
	if o.log == stdinLog {
		on, typed := atKeyboard(env)
		defer typed.Close()
		env = on
	}
	byLine := lineByLine(env, o.accessible)
	if !byLine && !screen(env) {
		return event.NewFault(event.ClassUsage, "usage.needs-terminal", nil, "verb", "attach")
	}
	if o.replay < 0 {
		return event.NewFault(event.ClassUsage, "usage.replay", nil)
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	records := backend.NewStream(reading, operation.Stream(reading, in, name, false))
	printed := backend.NewPrinted(records)
	board := host.Fed(printed, records.Alive, o.replay)
	if byLine {
		return lines.Play(ctx, lineTerminal(env), board)
	}
	board.NodeLog = printed.NodeLog
	return showPage(ctx, env, runview.New(board), o)
}

// showPage has a page on the screen until it is left.
func showPage(ctx context.Context, env *environment, page frame.Page, o attachOptions) error {
	err := ui.Run(ctx, page, screenOptions(env, o.ascii), env.Stdin, env.Stdout)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// screen says whether a person looks at stdout and answers at stdin, on a terminal that can be drawn on.
func screen(env *environment) bool {
	_, in := terminal(env)
	return in && onTerminal(env.Stdout) && env.Getenv("TERM") != "dumb"
}

// onTerminal says whether what is written there is on a terminal.
func onTerminal(w io.Writer) bool {
	_, ok := cli.Terminal(w)
	return ok
}
