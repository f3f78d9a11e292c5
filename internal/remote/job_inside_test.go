package remote

import (
	"bytes"
	"io"
	"testing"
	"time"
)

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// An upload that is cancelled is killed by two: who waits for it, and who watches its context. The later of them finds
// the session at work for somebody else.
func TestALateKillLeavesTheNextJobAlone(t *testing.T) {
	var sent bytes.Buffer
	s := &session{opt: &Options{Timeouts: Timeouts{Kill: time.Hour}}, in: closer{&sent}, ended: make(chan struct{})}
	ends := func(j *job) {
		for stream := range 2 {
			s.marked(stream, mark{"b", j.id, 0})
			s.marked(stream, mark{"x", j.id, 0})
		}
	}
	first, next := newJob(nil), newJob(nil)
	if err := s.begin("r", first, nil); err != nil {
		t.Fatal(err)
	}
	ends(first)
	if err := s.begin("r", next, nil); err != nil {
		t.Fatal(err)
	}
	if !s.kill(first) {
		t.Error("a job that has ended is not known to have ended")
	}
	ends(next)
	select {
	case <-next.done:
	default:
		t.Error("the end of the next job was not heard")
	}
}
