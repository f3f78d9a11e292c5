package backend

import (
	"errors"
	"io"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Feed returns the records of a run as they are written. Take is called in commands, never from Update; it does not
// wait. io.EOF: there will be no more records.
type Feed interface {
	// Take returns at most n of the records that exist now.
	Take(n int) ([]event.Record, error)
}

// Records is where a run's records are read from: io.EOF means that there are no more for now. *journal.Reader is one.
type Records interface {
	Next() (event.Record, error)
}

// Live follows a log that is being written, and ends with the run.
type Live struct {
	From Records
	// Over: no process writes the log any more. It ends where it is, also without the end of the run.
	Over bool
	// Alive reports whether a process still writes the log; nil: one does. It is called when there is no record.
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
