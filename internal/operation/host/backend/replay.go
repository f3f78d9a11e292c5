package backend

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Replay plays a run that is over, at a speed that may be changed while it plays.
type Replay struct {
	From Records
	Now  func() time.Time
	// Alive reports whether there may be more records; nil: there are no more.
	Alive func() bool

	mu     sync.Mutex // for the fields below: commands and the screen use them
	speed  float64
	paused bool
	next   *event.Record
	clock  time.Time // of the run
	real   time.Time // when the run's clock was last moved
	story  *Story    // that it belongs to; nil: none
}

// idleMost bounds how long a replay shows nothing new while nothing happened in the run.
const idleMost = 3 * time.Second

// NewReplay plays records at a speed; 1 is the speed of the run.
func NewReplay(from Records, speed float64, now func() time.Time) *Replay {
	return &Replay{From: from, Now: now, speed: speed}
}

// Take implements Feed.
func (f *Replay) Take(n int) ([]event.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.Now()
	if !f.real.IsZero() && !f.paused && !f.clock.IsZero() {
		f.clock = f.clock.Add(time.Duration(float64(now.Sub(f.real)) * f.speed))
	}
	f.real = now
	var out []event.Record
	for len(out) < n {
		if f.next == nil {
			r, err := f.From.Next()
			if errors.Is(err, io.EOF) && f.Alive != nil && f.Alive() {
				return out, nil
			}
			if errors.Is(err, io.EOF) {
				return out, io.EOF
			}
			if err != nil {
				return out, err
			}
			f.next = &r
		}
		if f.clock.IsZero() {
			f.clock = f.next.Time
		}
		gap := f.next.Time.Sub(f.clock)
		switch f.story.pace(f.next.Event) {
		case waits:
			f.clock = earlier(f.clock, f.next.Time)
			return out, nil
		case hurries:
			if gap > 0 {
				f.clock, gap = f.next.Time, 0
			}
		}
		if gap > 0 {
			if gap > time.Duration(float64(idleMost)*f.speed) {
				f.clock = f.next.Time.Add(-time.Duration(float64(idleMost) * f.speed))
			}
			return out, nil
		}
		f.story.passed(f.next.Event)
		out, f.next = append(out, *f.next), nil
	}
	return out, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Clock returns the time of the run that is shown.
func (f *Replay) Clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock
}

// Pause stops the replay, or continues it.
func (f *Replay) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = !f.paused
	f.real = f.Now() // it may not have been read while it was paused
}

// Paused reports whether the replay is stopped.
func (f *Replay) Paused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}

// Waits reports whether it waits until the viewer has decided; see NewStory.
func (f *Replay) Waits() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next != nil && f.story.pace(f.next.Event) == waits
}

// Idle reports whether nothing comes before the viewer presses a key: it is paused, or waits for a decision.
func (f *Replay) Idle() bool { return f.Paused() || f.Waits() }

// Speed changes the speed by a factor, between a quarter and 64 times.
func (f *Replay) Speed(factor float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.speed = min(64, max(0.25, f.speed*factor))
}

// Factor returns the speed.
func (f *Replay) Factor() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.speed
}
