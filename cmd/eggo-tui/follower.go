package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// How long stdout may take nothing, once the run is over, before what is left is given up: a terminal may have been
// stopped by a person (Ctrl-S) who comes back.
const (
	pipePatience     = 10 * time.Second
	terminalPatience = 10 * time.Minute
)

// follower shows a run on stdout, from its event log. The log on the disk is the queue between the two: a stdout that
// takes nothing delays nobody, costs no memory and loses nothing until the run is over.
type follower struct {
	env      *environment
	ref      request.Ref
	dir      string // of the run
	words    bool   // what the run's process says besides goes to stderr
	sink     event.Sink
	failed   func() error
	beat     func(ctx context.Context)
	patience time.Duration // with a stdout that takes nothing, when the run is over
	over     chan struct{} // closed when nothing more is written
	done     chan struct{} // closed when all that was written is shown, or cannot be
	shown    atomic.Uint64 // records
}

func newFollower(env *environment, output string, ref request.Ref, dir string) *follower {
	w := &follower{env: env, ref: ref, dir: dir, patience: pipePatience}
	w.over, w.done = make(chan struct{}), make(chan struct{})
	if onTerminal(env.Stdout) {
		w.patience = terminalPatience
	}
	if output == "json" {
		j := report.NewJSON(env.Stdout)
		w.sink, w.failed, w.beat = j, j.Err, func(context.Context) {}
		return w
	}
	plain := report.NewPlain(env.Stdout, env.P)
	plain.Debug = env.Debug
	w.sink, w.failed, w.beat = plain, plain.Err, func(ctx context.Context) { plain.Beat(ctx, time.Now) }
	return w
}

// start begins to show.
func (w *follower) start() {
	clock, stop := context.WithCancel(context.Background())
	go w.beat(clock)
	words := make(chan struct{})
	go func() {
		defer close(words)
		if w.words {
			w.tell()
		}
	}()
	go func() {
		defer close(w.done)
		defer stop()
		w.show()
		<-words
	}()
}

func (w *follower) show() {
	for rec, err := range journal.FollowUntil(w.dir, w.over) {
		if err != nil {
			printError(w.env, err)
			return
		}
		_ = w.sink.Emit(rec)
		w.shown.Add(1)
		if w.failed() != nil {
			w.say("front.closed")
			return
		}
	}
}

// tell copies to stderr what the run's process says there.
func (w *follower) tell() {
	f, err := os.Open(filepath.Join(w.dir, processLog))
	if err != nil {
		return
	}
	defer f.Close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-w.over:
			over = true
		case <-tick.C:
		}
		if _, err := io.Copy(w.env.Stderr, f); err != nil {
			return
		}
	}
}

// end is called when nothing more is written: it returns when all is shown, when stdout takes nothing, or when somebody
// does not want to wait for it.
func (w *follower) end() {
	close(w.over)
	signals, giveBack := w.env.Interrupts.take()
	defer giveBack()
	for before := w.shown.Load(); ; before = w.shown.Load() {
		select {
		case <-w.done:
			return
		case <-signals:
		case <-time.After(w.patience):
			if before != w.shown.Load() {
				continue
			}
		}
		w.say("front.not-shown", "count", w.left())
		return
	}
}

// left is how many records are not shown, up to the run's end.
func (w *follower) left() string {
	last, err := journal.Last(w.dir)
	if shown := w.shown.Load(); err == nil && last.Seq > shown {
		return strconv.FormatUint(last.Seq-shown, 10)
	}
	return "1" // the one at which it stalls
}

// say says something about the run on stderr.
func (w *follower) say(key string, more ...string) {
	words := func(verb string) string {
		return w.env.where().Words(event.Call{Verb: verb, Cluster: w.ref.Cluster})
	}
	args := slices.Concat(more, []string{"attach", words("attach"), "logs", words("logs") + " " + w.ref.Run})
	fmt.Fprintln(w.env.Stderr, w.env.P.T(key, args...))
}
