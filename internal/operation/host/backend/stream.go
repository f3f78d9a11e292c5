package backend

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// streamAhead is how many records are read before they are taken.
const streamAhead = 1024

// Stream makes Records of a sequence that waits for the next record: the events of a handle, or a log from anywhere.
type Stream struct {
	come chan streamed
	over bool
	err  error
}

// streamed is a record, or the reason why there are no more.
type streamed struct {
	rec event.Record
	err error
}

// NewStream reads the records until they or ctx end.
func NewStream(ctx context.Context, records iter.Seq2[event.Record, error]) *Stream {
	s := &Stream{come: make(chan streamed, streamAhead)}
	go func() {
		defer close(s.come)
		for rec, err := range records {
			select {
			case s.come <- streamed{rec, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// Next implements Records.
func (s *Stream) Next() (event.Record, error) {
	if s.err != nil {
		return event.Record{}, s.err
	}
	select {
	case x, more := <-s.come:
		if !more {
			s.over = true
			return event.Record{}, io.EOF
		}
		s.err = x.err
		return x.rec, x.err
	default:
		return event.Record{}, io.EOF
	}
}

// Alive reports whether there may be more records than Next has returned.
func (s *Stream) Alive() bool { return !s.over }

// Printed passes records on and keeps the output of nodes: the logs of a run that has no directory here.
type Printed struct {
	from  Records
	mu    sync.Mutex
	hosts map[string][]byte
}

// NewPrinted keeps the output of nodes in the records that are taken from it.
func NewPrinted(from Records) *Printed { return &Printed{from: from, hosts: map[string][]byte{}} }

// Next implements Records.
func (p *Printed) Next() (event.Record, error) {
	r, err := p.from.Next()
	if o, ok := r.Event.(event.Output); ok && err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		at := r.Time.UTC().Format("2006-01-02T15:04:05.000Z")
		p.hosts[o.Host] = append(p.hosts[o.Host], at+" "+o.Step+" "+o.Stream+"| "+o.Line+"\n"...)
	}
	return r, err
}

// NodeLog returns the output of a node, which grows.
func (p *Printed) NodeLog(host string) (NodeLog, error) { return printedBy{p, host}, nil }

// printedBy is the output of one node so far.
type printedBy struct {
	*Printed
	host string
}

// ReadAt implements io.ReaderAt.
func (l printedBy) ReadAt(p []byte, off int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.hosts[l.host]
	if off >= int64(len(all)) {
		return 0, io.EOF
	}
	n := copy(p, all[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size implements NodeLog.
func (l printedBy) Size() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.hosts[l.host])), nil
}
