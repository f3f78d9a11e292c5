package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

func newDemoCmd(env *environment) *cobra.Command {
	speed, ascii, lines := 8.0, false, false
	cmd := &cobra.Command{Use: "demo", Short: env.P.T("cli.demo.short"), Long: env.P.T("cli.demo.long"), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), env, speed, ascii, lines) }}
	cmd.Flags().Float64Var(&speed, "speed", speed, env.P.T("cli.flag.speed"))
	cmd.Flags().BoolVar(&ascii, "ascii", false, env.P.T("cli.flag.ascii"))
	cmd.Flags().BoolVar(&lines, "accessible", false, env.P.T("cli.flag.accessible"))
	return cmd
}

// demo plays a recorded install on the board. It needs no network, no root and no cluster, and leaves nothing behind.
func demo(ctx context.Context, env *environment, speed float64, ascii, lines bool) error {
	lines = lineByLine(env, lines)
	if !lines && !screen(env) {
		return event.NewFault(event.ClassUsage, "usage.needs-terminal", nil, "verb", "demo")
	}
	if speed <= 0 {
		return event.NewFault(event.ClassUsage, "usage.replay", nil)
	}
	z, err := gzip.NewReader(bytes.NewReader(assets.DemoRun()))
	if err != nil {
		return err
	}
	past := &told{from: journal.NewReader(z, "install.jsonl"), hosts: map[string]*bytes.Buffer{}}
	replay := backend.NewReplay(past, speed, time.Now)
	if lines {
		p := newTalker(env)
		p.say("demo.note")
		if err := newPlainRun(p, backend.Board{Feed: replay, Replay: replay}).follow(ctx); !errors.Is(err, errLeft) {
			return err
		}
		return nil
	}
	page := runview.New(backend.Board{Feed: replay, Replay: replay, NodeLog: past.log})
	opt := screenOptions(env, ascii)
	opt.Note = cmp.Or(opt.Note, i18n.NewPrinter(opt.Lang).T("demo.note"))
	err = ui.Run(ctx, page, opt, env.Stdin, env.Stdout)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// told passes a log's records on and keeps what the machines have printed by then.
type told struct {
	from  backend.Records
	mu    sync.Mutex
	hosts map[string]*bytes.Buffer
}

// Next implements backend.Records.
func (t *told) Next() (event.Record, error) {
	r, err := t.from.Next()
	if e, is := r.Event.(event.RunEnded); is { // there is nothing on this machine that the advice of the recorded run could be about
		e.Next = []event.Msg{event.M("demo.next")}
		r.Event = e
	}
	if o, ok := r.Event.(event.Output); ok && err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.buffer(o.Host).WriteString(r.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " " + o.Step + " " + o.Stream + "| " + o.Line + "\n")
	}
	return r, err
}

func (t *told) buffer(host string) *bytes.Buffer {
	if t.hosts[host] == nil {
		t.hosts[host] = new(bytes.Buffer)
	}
	return t.hosts[host]
}

func (t *told) log(host string) (backend.NodeLog, error) { return toldLog{t, host}, nil }

// toldLog is what one machine has printed by now.
type toldLog struct {
	*told
	host string
}

// ReadAt implements io.ReaderAt.
func (l toldLog) ReadAt(p []byte, off int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.buffer(l.host).Bytes()
	if off >= int64(len(all)) {
		return 0, io.EOF
	}
	n := copy(p, all[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size implements backend.NodeLog.
func (l toldLog) Size() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.buffer(l.host).Len()), nil
}
