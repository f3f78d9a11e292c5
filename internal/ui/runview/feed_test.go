package runview

import (
	"errors"
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// start of all runs.
var start = uitest.Start

// A replay keeps the run's own time, slower or faster, and does not sit out hours in which nothing happened.
func TestReplay(t *testing.T) {
	l := uitest.Log(uitest.Records(2))
	now := start
	r := backend.NewReplay(&l, 1, func() time.Time { return now })
	a := New(backend.Board{Feed: r, Replay: r})
	step := func(d time.Duration) {
		now = now.Add(d)
		got, err := r.Take(gulp)
		for _, x := range got {
			a.state.Apply(x)
		}
		a.over = errors.Is(err, io.EOF)
	}
	step(0)
	step(10 * time.Second)
	if got := a.state.Elapsed(); got != 10*time.Second {
		t.Errorf("after ten seconds it is at %s", got)
	}
	r.Speed(2)
	step(10 * time.Second)
	if got := a.state.Elapsed(); got != 30*time.Second {
		t.Errorf("ten seconds later at twice the speed it is at %s", got)
	}
	r.Pause()
	step(time.Hour)
	if got := a.state.Elapsed(); got != 30*time.Second || !r.Paused() {
		t.Errorf("while it stands still it went to %s", got)
	}
	r.Pause()
	step(time.Minute)
	if !a.over || a.state.Ended == nil {
		t.Error("it does not end")
	}
}

// A recorded run that is paused, or waits for a decision, is not read and not drawn until a key is pressed; no time of
// the run passes meanwhile.
func TestReplay_NothingIsDrawnWhileItWaits(t *testing.T) {
	now := start
	var l uitest.Log
	for i, x := range []event.Event{event.RunStarted{Cluster: "c", Verb: "deploy"}, event.StepAsked{Step: "a"},
		event.StepDecided{Step: "a", Decision: event.TryAgain}, event.Output{Line: "one"}, event.RunEnded{}} {
		l = append(l, event.Record{Seq: uint64(i + 1), Time: start.Add(time.Duration(i) * 10 * time.Second), Event: x})
	}
	b := backend.NewStory(&l, 1, func() time.Time { return now })
	ticks := 0
	p := New(b)
	p.tick = func() tea.Cmd { ticks++; return nil }
	e := &frame.Env{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{}),
		Now: func() time.Time { return now }, Moves: func() bool { return true }}
	look := func(after time.Duration) {
		now = now.Add(after)
		p.Update(tickMsg{}, e)
		list, err := p.opt.Feed.Take(gulp)
		p.Update(newsMsg{list, err}, e)
	}
	look(0)
	look(20 * time.Second)
	if p.idle {
		t.Fatal("it is idle though something came")
	}
	before := ticks
	look(time.Second)
	if !p.idle || ticks != before || p.board.Spin != "" {
		t.Fatalf("while it waits for a decision: idle %v, %d more looks", p.idle, ticks-before)
	}
	now = now.Add(time.Hour)
	if err := b.Control.Decide("a", event.TryAgain); err != nil {
		t.Fatal(err)
	}
	if cmd := p.done(doneMsg{what: doneDecide}, e); cmd == nil || p.idle {
		t.Fatal("a decision does not make it continue")
	}
	look(0)
	if p.over || p.state.Ended != nil {
		t.Error("the hour in which it waited passed in the run, too")
	}
	b.Replay.Pause()
	look(0)
	if !p.idle {
		t.Error("it is read while it is paused")
	}
	b.Replay.Pause()
	if p.resume() == nil || p.resume() != nil {
		t.Error("it is not read again, once, after the pause")
	}
}
