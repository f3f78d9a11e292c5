package ui

import (
	"os"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// line is a terminal at the end of a line: what is written to it takes as long as it says.
type line struct {
	*os.File
	clock *time.Time
	takes time.Duration
}

func (l *line) Write(b []byte) (int, error) {
	*l.clock = l.clock.Add(l.takes)
	return len(b), nil
}

// A frame that takes more than 50 ms stills the screen; it moves again when the line has been fast for a while, and
// after each relapse for a longer while.
func TestASlowTerminalIsLeftInPeace(t *testing.T) {
	var now time.Time
	l := &line{clock: &now}
	p := newPace(l)
	p.now = func() time.Time { return now }
	frames := func(n int, takes time.Duration) {
		l.takes = takes
		for range n {
			if _, err := p.Write([]byte("frame")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, x := range []struct {
		n    int
		each time.Duration
		slow bool
	}{
		{100, 40 * time.Millisecond, false}, {1, 51 * time.Millisecond, true}, {29, time.Millisecond, true},
		{1, 30 * time.Millisecond, true}, // neither slow nor fast: counted from the start again
		{29, time.Millisecond, true}, {1, time.Millisecond, false},
		{1, time.Second, true}, {59, time.Millisecond, true}, {1, time.Millisecond, false},
	} {
		if frames(x.n, x.each); p.slow.Load() != x.slow {
			t.Errorf("%d: after %d frames of %s: slow is %v", i, x.n, x.each, p.slow.Load())
		}
	}
	if newPace(&nothing{}) != nil {
		t.Error("what is no terminal has a pace")
	}
}

type nothing struct{}

func (*nothing) Write(b []byte) (int, error) { return len(b), nil }

// An editor gets the terminal itself, not what times the frames: that would be a pipe to it.
func TestAnEditorGetsTheTerminalNotThePace(t *testing.T) {
	if w, ok := any(newPace(os.Stdout)).(frame.Writer); !ok || w.Terminal() != os.Stdout {
		t.Error("the terminal is not given back")
	}
}
