package backend

import (
	"errors"
	"io"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Feed gives the records of a run as they come. Take is called in commands, never from Update; it does not wait.
// io.EOF says that nothing will come any more.
type Feed interface {
	// Take gives at most n records of those that there are by now.
	Take(n int) ([]event.Record, error)
}

// Records is where a run's records are read from: io.EOF means that there are no more for now. *journal.Reader is one.
type Records interface {
	Next() (event.Record, error)
}

// Live follows a log that is being written, and ends with the run.
type Live struct {
	From Records
	// Over: nobody writes the log any more; its end is where it ends, though the run has not ended there.
	Over bool
	// Alive says whether somebody writes the log still; nil: somebody does. It is asked when nothing has come.
	Alive func() bool
	ended bool
}

// Take implements Feed.
func (f *Live) Take(n int) ([]event.Record, error) {
	var out []event.Record
	for len(out) < n {
		if f.ended {
			return out, io.EOF
		}
		r, err := f.From.Next()
		if errors.Is(err, io.EOF) && f.Over {
			return out, io.EOF
		}
		if errors.Is(err, io.EOF) {
			if f.Alive != nil && len(out) == 0 && !f.Alive() {
				f.Over = true // what was written since is read first
				continue
			}
			return out, nil
		}
		if err != nil {
			return out, err
		}
		_, f.ended = r.Event.(event.RunEnded)
		out = append(out, r)
	}
	return out, nil
}

// Replay plays a run that is over, at a speed that may be changed while it plays.
type Replay struct {
	From Records
	Now  func() time.Time
	// Alive says whether more may come; nil: what there is is all.
	Alive func() bool

	speed  float64
	paused bool
	next   *event.Record
	clock  time.Time // of the run
	real   time.Time // when the run's clock was last moved
	done   bool
}

// idleMost is how long a replay stands still when nothing happened in the run.
const idleMost = 3 * time.Second

// NewReplay plays at the speed: 1 is as it was.
func NewReplay(from Records, speed float64, now func() time.Time) *Replay {
	return &Replay{From: from, Now: now, speed: speed}
}

// Take implements Feed.
func (f *Replay) Take(n int) ([]event.Record, error) {
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
				f.done = true
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
		if gap := f.next.Time.Sub(f.clock); gap > 0 {
			if gap > time.Duration(float64(idleMost)*f.speed) {
				f.clock = f.next.Time.Add(-time.Duration(float64(idleMost) * f.speed))
			}
			return out, nil
		}
		out, f.next = append(out, *f.next), nil
	}
	return out, nil
}

// Clock is the time in the run that is shown.
func (f *Replay) Clock() time.Time { return f.clock }

// Pause stops and goes on.
func (f *Replay) Pause() { f.paused = !f.paused }

// Paused says whether it stands still.
func (f *Replay) Paused() bool { return f.paused }

// Speed changes the speed by a factor, between a quarter and 64 times.
func (f *Replay) Speed(factor float64) { f.speed = min(64, max(0.25, f.speed*factor)) }

// Factor is the speed.
func (f *Replay) Factor() float64 { return f.speed }
