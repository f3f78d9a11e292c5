package backend

import (
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Story is the replay of a run in which a user decided about a failed step, and the viewer decides in the replay: it
// waits before the decision until the viewer has made the same. It is the Controller of its board. There is no cluster,
// so only what was done in the run can be done.
type Story struct {
	replay *Replay
	made   map[string]int // decisions of the viewer by step, that have not come yet in the run
}

// NewStory returns the board of a story.
func NewStory(from Records, speed float64, now func() time.Time) Board {
	past := NewPrinted(from)
	r := NewReplay(past, speed, now)
	s := &Story{replay: r, made: map[string]int{}}
	r.story = s
	return Board{Feed: r, Replay: r, Control: s, NodeLog: past.NodeLog, Story: true, Note: "demo.note"}
}

// Decide implements Controller: the step is retried, as it was in the run.
func (s *Story) Decide(step string, d event.Decision) error {
	if d != event.TryAgain {
		return s.Stop()
	}
	s.replay.mu.Lock()
	defer s.replay.mu.Unlock()
	s.made[step]++
	s.replay.real = s.replay.Now() // it may not have been read while it waited
	return nil
}

// Stop implements Controller.
func (s *Story) Stop() error { return event.NewFault(event.ClassUsage, "demo.only-retry", nil) }

// Abort implements Controller.
func (s *Story) Abort() error { return s.Stop() }

// pace of a story before a record.
type pace int

const (
	plays   pace = iota
	waits        // for the viewer
	hurries      // to what the viewer has decided
)

// pace returns how the replay continues before a record. The caller holds the lock of the replay.
func (s *Story) pace(next event.Event) pace {
	switch e, decided := next.(event.StepDecided); {
	case s == nil:
		return plays
	case decided && s.made[e.Step] == 0:
		return waits
	case len(s.made) > 0:
		return hurries
	}
	return plays
}

// passed notes that a record was given.
func (s *Story) passed(r event.Event) {
	e, decided := r.(event.StepDecided)
	if s == nil || !decided {
		return
	}
	if s.made[e.Step]--; s.made[e.Step] <= 0 {
		delete(s.made, e.Step)
	}
}
