package event

import (
	"sync"
	"time"
)

// Committer is a Sink whose slow part (syncing to disk) may run beside other events: Append takes the record in its
// place, Commit returns when it is safe. So many steps that end together share one sync.
type Committer interface {
	Sink
	Append(Record) error
	Commit(Record) error
}

// ClockSet is the key of a Notice that says by how much the control host's clock was set while the run went on.
const ClockSet = "run.clock-set"

// clockStep is how far the time of day may drift from what the run measures before that is said.
const clockStep = 2 * time.Second

// Bus numbers and dates events and hands them to its sinks in order. It is safe for concurrent use. A sink must not
// publish.
//
// The times are the time of day at the first event and what was measured since: between two records there is as much
// time as really passed, also when the clock is set meanwhile, which a Notice says (ClockSet).
type Bus struct {
	mu    sync.Mutex
	now   func() time.Time
	start time.Time     // of the first event, with its monotonic reading
	set   time.Duration // by how much the clock was set since
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

// Publish makes e a record, gives it to every sink, and returns it as it is in the log: text from nodes cleaned and
// bounded, faults without their Go errors. When it returns without an error, all sinks have taken the record and the
// journal has it on disk if it is of a kind that is synced. Every sink gets the record, also when one before it failed;
// the first error is returned.
func (b *Bus) Publish(e Event) (Record, error) {
	e = normal(e)
	if first, ok := e.(RunStarted); ok {
		first.Format = LogFormat
		if first.Options != nil && first.Flags == nil {
			first.Flags = first.Options.Flags()
		}
		e = first
	}
	b.mu.Lock()
	now := b.now()
	if b.start.IsZero() {
		b.start = now
	}
	at := b.start.Add(now.Sub(b.start)).UTC().Round(0)
	if by := now.Round(0).Sub(at) - b.set; by.Abs() >= clockStep {
		b.set += by
		// what fails here fails below
		_, _, _ = b.append(at, Notice{Text: M(ClockSet, "by", by.Round(time.Second).String())})
	}
	r, wait, first := b.append(at, e)
	b.mu.Unlock()
	for _, c := range wait {
		if err := c.Commit(r); first == nil {
			first = err
		}
	}
	return r, first
}

// append gives the next record to every sink. The caller holds mu.
func (b *Bus) append(at time.Time, e Event) (r Record, wait []Committer, first error) {
	b.seq++
	r = Record{Seq: b.seq, Time: at, Event: e}
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
	return r, wait, first
}

// Emit is Publish for those who do not need the record; it fits engine.Options.Emit.
func (b *Bus) Emit(e Event) error {
	_, err := b.Publish(e)
	return err
}
