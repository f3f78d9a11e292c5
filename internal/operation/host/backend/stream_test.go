package backend

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A feed of a stream waits for nobody, ends with the stream, and says what broke it.
func TestAFeedOfAStream(t *testing.T) {
	pass := make(chan error)
	records := func(yield func(event.Record, error) bool) {
		for seq := uint64(1); ; seq++ {
			err, more := <-pass
			if !more || !yield(event.Record{Seq: seq, Event: event.Notice{}}, err) || err != nil {
				return
			}
		}
	}
	s := NewStream(t.Context(), records)
	for name, f := range map[string]Feed{
		"live":   &Live{From: s, Alive: s.Alive},
		"replay": &Replay{From: s, Alive: s.Alive, Now: time.Now, speed: 1},
	} {
		if got, err := f.Take(10); len(got) != 0 || err != nil {
			t.Error(name, got, err)
		}
	}
	pass <- nil
	f := &Live{From: s, Alive: s.Alive}
	if got := taken(t, f); got[0].Seq != 1 {
		t.Error(got)
	}
	pass <- io.ErrUnexpectedEOF
	for {
		if _, err := f.Take(10); err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Error(err)
			}
			break
		}
	}
	if _, err := f.Take(10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the second time:", err)
	}
}

// taken are the next records, as soon as there are some.
func taken(t *testing.T, f Feed) []event.Record {
	t.Helper()
	for t.Context().Err() == nil {
		if got, err := f.Take(10); len(got) > 0 || err != nil {
			return got
		}
	}
	return nil
}

func TestAStreamThatEnds(t *testing.T) {
	var records iter.Seq2[event.Record, error] = func(yield func(event.Record, error) bool) {
		_ = yield(event.Record{Seq: 1, Event: event.Output{Host: "m1", Step: "s", Stream: "out", Line: "hello"}}, nil)
	}
	s := NewStream(context.Background(), records)
	p := NewPrinted(s)
	f := &Live{From: p, Alive: s.Alive}
	if got := taken(t, f); len(got) != 1 {
		t.Fatal(got)
	}
	for {
		if _, err := f.Take(10); errors.Is(err, io.EOF) {
			break
		}
	}
	log, err := p.NodeLog("m1")
	if err != nil {
		t.Fatal(err)
	}
	size, _ := log.Size()
	text := make([]byte, size)
	if _, err := log.ReadAt(text, 0); err != nil || string(text) != "0001-01-01T00:00:00.000Z s out| hello\n" {
		t.Errorf("%q %v", text, err)
	}
}
