package report

import (
	"io"
	"sync"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// JSON prints every record as a line of JSON, exactly as it stands in events.jsonl. It is safe for concurrent use.
type JSON struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewJSON makes a JSON report on w.
func NewJSON(w io.Writer) *JSON { return &JSON{w: w} }

// Emit takes the next record; an error of the writer silences the report and is kept in Err.
func (j *JSON) Emit(r event.Record) error {
	line, err := event.Encode(r)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return nil
	}
	if err == nil {
		_, err = j.w.Write(append(line, '\n'))
	}
	j.err = err
	return nil
}

// Err is the first error of the writer.
func (j *JSON) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}
