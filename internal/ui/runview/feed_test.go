package runview

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/ui/uitest"
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
