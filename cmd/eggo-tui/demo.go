package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/lines"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

// demoSpeed is how fast the demo plays if nothing else is said.
const demoSpeed = 4.0

func newDemoCmd(env *environment) *cobra.Command {
	speed, ascii, byLine := demoSpeed, false, false
	cmd := &cobra.Command{Use: "demo", Short: env.P.T("cli.demo.short"), Long: env.P.T("cli.demo.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), env, speed, ascii, byLine) }}
	cmd.Flags().Float64Var(&speed, "speed", speed, env.P.T("cli.flag.speed"))
	cmd.Flags().BoolVar(&ascii, "ascii", false, env.P.T("cli.flag.ascii"))
	cmd.Flags().BoolVar(&byLine, "accessible", false, env.P.T("cli.flag.accessible"))
	return cmd
}

// demo plays a recorded install on the board. It needs no network, no root and no cluster, and leaves nothing behind.
func demo(ctx context.Context, env *environment, speed float64, ascii, byLine bool) error {
	byLine = lineByLine(env, byLine)
	if !byLine && !screen(env) {
		return event.NewFault(event.ClassUsage, "usage.needs-terminal", nil, "verb", "demo")
	}
	if speed <= 0 {
		return event.NewFault(event.ClassUsage, "usage.replay", nil)
	}
	board, err := demoBoard(speed, time.Now)
	if err != nil {
		return err
	}
	if byLine {
		return lines.Play(ctx, lineTerminal(env), board, env.P.T("demo.note"))
	}
	opt := screenOptions(env, ascii)
	if opt.Note != "" { // it matters more
		board.Note = ""
	}
	err = ui.Run(ctx, runview.New(board), opt, env.Stdin, env.Stdout)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// demoBoard is the recorded install, for a viewer to decide about what failed in it.
func demoBoard(speed float64, now func() time.Time) (backend.Board, error) {
	z, err := gzip.NewReader(bytes.NewReader(assets.DemoRun()))
	if err != nil {
		return backend.Board{}, err
	}
	return backend.NewStory(recorded{journal.NewReader(z, "install.jsonl")}, speed, now), nil
}

// front is this control host with what only this program has: the recording of the demo. It implements lines.Services.
type front struct{ *host.Host }

// Demo implements backend.Services.
func (front) Demo(context.Context) (backend.Board, error) { return demoBoard(demoSpeed, time.Now) }

// Usual implements lines.Services.
func (f front) Usual() string {
	if usual := host.UsualConfig(f.Getenv); exists(usual) {
		return usual
	}
	return ""
}

// recorded is the run of the demo: there is nothing on this machine that its advice could be about.
type recorded struct{ backend.Records }

// Next implements backend.Records.
func (t recorded) Next() (event.Record, error) {
	r, err := t.Records.Next()
	if e, is := r.Event.(event.RunEnded); is {
		e.Next = []event.Msg{event.M("demo.next")}
		r.Event = e
	}
	return r, err
}
