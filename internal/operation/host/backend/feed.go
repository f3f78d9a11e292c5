package backend

import (
	"errors"
	"io"

	"github.com/eggo-k8s/eggo/internal/run/event"
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
