package host

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// inProgress is a run whose process lives, with a question that was asked long ago and answered.
func inProgress(t *testing.T, root string) (ref request.Ref, bus *event.Bus, end func()) {
	t.Helper()
	runs, err := journal.Open(root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := runs.Lock(journal.Holder{PID: os.Getpid(), Verb: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	log, err := runs.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Writes(log.ID()); err != nil {
		t.Fatal(err)
	}
	bus = event.NewBus(nil, log)
	emit(t, bus, event.RunStarted{Cluster: "rack", Verb: "deploy"},
		event.PlanMade{Hosts: []event.Host{{Name: "n1"}}, Steps: []event.Step{{ID: "a/n1", Phase: "a", Host: "n1"}}},
		event.StepStarted{Step: "a/n1", Try: 1},
		event.StepAsked{Step: "a/n1", Try: 1, Fault: *event.NewFault(event.ClassFailed, "ssh.connect", nil)},
		event.StepDecided{Step: "a/n1", Decision: event.TryAgain}, event.StepStarted{Step: "a/n1", Try: 2})
	for range 3000 {
		emit(t, bus, event.HostState{Host: "n1", State: "connected"})
	}
	return request.Ref{Cluster: "rack", Run: log.ID()}, bus, func() {
		if err := errors.Join(log.Close(), lock.Unlock()); err != nil {
			t.Error(err)
		}
	}
}

func emit(t *testing.T, bus *event.Bus, list ...event.Event) {
	t.Helper()
	for _, e := range list {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
}

// A board shows the moment at which it is opened, not one before: all that is logged by then is there to be taken, so
// that no question is open that was answered. What is logged later comes after it, until the run has ended.
func TestABoardBeginsWithAllThatIsLogged(t *testing.T) {
	t.Parallel()
	h := testHost(t, t.TempDir(), nil)
	ref, bus, end := inProgress(t, h.Root)
	board, err := h.Open(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	if board.Control == nil {
		t.Error("a run in progress cannot be stopped")
	}
	state := state.New()
	take := func(n int) error {
		t.Helper()
		list, err := board.Feed.Take(n)
		for _, r := range list {
			state.Apply(r)
		}
		return err
	}
	if err := take(1 << 20); err != nil || state.Seq != 3006 || state.Step("a/n1").Asked {
		t.Errorf("%v: %d records, %+v", err, state.Seq, state.Step("a/n1"))
	}
	emit(t, bus, event.HostState{Host: "n1", State: "closed"})
	if err := take(10); err != nil || state.Seq != 3007 {
		t.Errorf("%v: %d records", err, state.Seq)
	}
	emit(t, bus, event.RunEnded{Outcome: event.OK})
	end()
	if err := take(10); err != nil && !errors.Is(err, io.EOF) || state.Seq != 3008 {
		t.Errorf("%v: %d records", err, state.Seq)
	}
	if err := take(10); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// The log of a node is read as it grows; one that has said nothing has an empty one.
func TestABoardHasTheNodesLogs(t *testing.T) {
	t.Parallel()
	h := testHost(t, t.TempDir(), nil)
	ref, _, end := inProgress(t, h.Root)
	defer end()
	board, err := h.Open(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	said := func() string {
		t.Helper()
		log, err := board.NodeLog("n1")
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 100)
		n, err := log.ReadAt(text, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return string(text[:n])
	}
	if got := said(); got != "" {
		t.Errorf("%q", got)
	}
	file := board.LogPath("n1")
	if filepath.Dir(file) == "." {
		t.Fatal(file)
	}
	err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("hello\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if got := said(); got != "hello\n" {
		t.Errorf("%q", got)
	}
}

// A run that nobody knows has no board, and one whose log is gone says which file is missing.
func TestABoardOfNoRun(t *testing.T) {
	t.Parallel()
	h := testHost(t, t.TempDir(), nil)
	ref, _, end := inProgress(t, h.Root)
	end()
	if err := os.Remove(filepath.Join(h.Root, "rack", "runs", ref.Run, "events.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(t.Context(), ref, 0); event.AsFault(err) == nil || event.AsFault(err).Code != "journal.read" {
		t.Error(err)
	}
}
