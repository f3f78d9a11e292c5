package journal

import (
	"context"
	"errors"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestARunIsFollowedToItsEnd(t *testing.T) {
	w := newRun(t, open(t), "deploy")
	rec := func(seq uint64, e event.Event) event.Record { return event.Record{Seq: seq, Time: t0, Event: e} }
	write := func(r event.Record) {
		t.Helper()
		if err := errors.Join(w.Append(r), w.Commit(r)); err != nil {
			t.Fatal(err)
		}
	}
	write(rec(1, event.RunStarted{Run: w.ID(), Verb: "deploy"}))
	looks, seen := 0, 0
	for r, err := range Follow(t.Context(), w.Dir(), func() bool {
		if looks++; looks == 2 { // the reader has come to the end twice; now the run goes on
			write(rec(2, event.Notice{Text: event.M("notice.done")}))
			write(rec(3, event.RunEnded{Outcome: event.OK}))
			write(rec(4, event.Notice{Text: event.M("notice.late")}))
		}
		return true
	}) {
		if seen++; err != nil || r.Seq != uint64(seen) {
			t.Fatal(r, err)
		}
	}
	if seen != 3 {
		t.Error("records:", seen)
	}
}

func TestNobodyIsWaitedForWhoWritesNoMore(t *testing.T) {
	w := newRun(t, open(t), "deploy")
	write := func(r event.Record) {
		t.Helper()
		if err := errors.Join(w.Append(r), w.Commit(r)); err != nil {
			t.Fatal(err)
		}
	}
	write(event.Record{Seq: 1, Time: t0, Event: event.RunStarted{}})
	seen := 0
	for _, err := range Follow(t.Context(), w.Dir(), func() bool {
		// It wrote its last words and went.
		write(event.Record{Seq: uint64(seen + 1), Time: t0, Event: event.Notice{Text: event.M("notice.done")}})
		return false
	}) {
		if seen++; err != nil {
			t.Fatal(err)
		}
	}
	if seen != 2 {
		t.Error("records:", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, err := range Follow(ctx, w.Dir(), func() bool { cancel(); return true }) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	for _, err := range Follow(t.Context(), t.TempDir(), func() bool { return true }) {
		if codeOf(err) != "journal.read" {
			t.Error(err)
		}
	}
}
