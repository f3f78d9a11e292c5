package operation

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A log comes through a pipe: each record is given as it comes, and who stops waiting is not held up by a pipe that is
// silent.
func TestALogComesThroughAPipe(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	lines := make(chan event.Event)
	defer close(lines)
	go func() {
		seq := uint64(0)
		for e := range lines {
			seq++
			line, _ := event.Encode(event.Record{Seq: seq, Event: e})
			_, _ = out.Write(append(line, '\n'))
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []event.Event
	var last error
	lines <- event.RunStarted{Run: "r", Verb: "deploy"}
	for rec, err := range Stream(ctx, in, "a pipe", false) {
		if last = err; err != nil {
			break
		}
		seen = append(seen, rec.Event)
		switch rec.Seq {
		case 1:
			lines <- event.Notice{Text: event.M("notice.done")}
		case 2:
			cancel()
		}
	}
	if len(seen) != 2 || !errors.Is(last, context.Canceled) {
		t.Error(seen, last)
	}
}

// The end of a pipe is the end of its log.
func TestALogEndsWithItsPipe(t *testing.T) {
	in, out := io.Pipe()
	go func() {
		line, _ := event.Encode(event.Record{Seq: 1, Event: event.RunStarted{Run: "r", Verb: "deploy"}})
		_, _ = out.Write(append(line, `{"seq":2,"ti`...)) // whoever wrote it is gone
		_ = out.Close()
	}()
	var keys []string
	for rec, err := range Stream(t.Context(), in, "a pipe", false) {
		if err != nil {
			t.Fatal(err)
		}
		if n, is := rec.Event.(event.Notice); is {
			keys = append(keys, n.Text.Key)
		}
	}
	if len(keys) != 1 || keys[0] != "journal.cut-line" {
		t.Error(keys)
	}
}
