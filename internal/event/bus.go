package event

import (
	"sync"
	"time"
)

// Committer is a Sink whose slow part (syncing to disk) may run beside other events: Append takes the record in its place, Commit
// returns when it is safe. So many steps that end together share one sync.
type Committer interface {
	Sink
	Append(Record) error
	Commit(Record) error
}

// Bus numbers and dates events and hands them to its sinks in order. It is safe for concurrent use. A sink must not publish.
type Bus struct {
	mu    sync.Mutex
	now   func() time.Time
	seq   uint64
	sinks []Sink
}

// NewBus makes a bus; now is the clock (nil: time.Now). Give the journal before the front ends.
func NewBus(now func() time.Time, sinks ...Sink) *Bus {
	if now == nil {
		now = time.Now
	}
	return &Bus{now: now, sinks: sinks}
}

// Publish makes e a record, gives it to every sink, and returns it as it is in the log: text from nodes cleaned and bounded, faults without
// their Go errors. When it returns without an error, all sinks have taken the record and the journal has it on disk if it is of a kind
// that is synced. Every sink gets the record, also when one before it failed; the first error is returned.
func (b *Bus) Publish(e Event) (Record, error) {
	e = normal(e)
	b.mu.Lock()
	b.seq++
	r := Record{Seq: b.seq, Time: b.now().UTC().Round(0), Event: e}
	var first error
	var wait []Committer
	for _, s := range b.sinks {
		var err error
		if c, ok := s.(Committer); ok {
			if err = c.Append(r); err == nil {
				wait = append(wait, c)
			}
		} else {
			err = s.Emit(r)
		}
		if first == nil {
			first = err
		}
	}
	b.mu.Unlock()
	for _, c := range wait {
		if err := c.Commit(r); first == nil {
			first = err
		}
	}
	return r, first
}

// Emit is Publish for those who do not need the record; it fits engine.Options.Emit.
func (b *Bus) Emit(e Event) error {
	_, err := b.Publish(e)
	return err
}
