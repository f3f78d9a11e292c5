package runs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The log of a run is read when it has changed, also that of a run that was killed, which has no end.
func TestALogIsReadOnce(t *testing.T) {
	r := runner(t)
	id := logged(t, r, "deploy", event.RunStarted{Cluster: "one", Verb: "deploy"},
		event.RunEnded{Outcome: event.Failed, Fault: event.NewFault(event.ClassFailed, "run.failed", nil)})
	path := filepath.Join(r.o.Root, "one", "runs", id, "events.jsonl")
	ended, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(ended, '\n') + 1
	killed := append(bytes.Clone(ended[:first]), bytes.Repeat([]byte("x"), len(ended)-first)...) // in a line
	at := time.Now().Add(-time.Hour)
	for i, c := range []struct {
		log  []byte
		at   time.Time
		want string
	}{
		{killed, at, ""}, {ended, at, ""}, // as long, and at the same time: nobody looks
		{ended, at.Add(time.Second), "run.failed"}, {killed, at.Add(time.Second), "run.failed"},
		{killed, at.Add(time.Minute), ""},
	} {
		if err := errors.Join(os.WriteFile(path, c.log, 0o600), os.Chtimes(path, c.at, c.at)); err != nil {
			t.Fatal(err)
		}
		if got := r.Why("one", id).Code; got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
	if got := r.Why("one", "none").Code + r.Why("one", "").Code; got != "" {
		t.Error(got)
	}
}
