package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// A past run is as its log says it ended and when it began, whatever connections were made before and closed
// afterwards.
func TestAPastRunIsAsItEnded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store, err := journal.Open(root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		verb    string
		outcome event.Outcome
		want    string
	}{{"join", event.Changed, request.Installed}, {"cleanup", event.Changed, request.Removed},
		{"deploy", event.Failed, request.Failed}, {"deploy", event.Interrupted, request.Interrupted},
		{"deploy", "", request.Interrupted}} {
		log, err := store.NewRun(c.verb, begun)
		if err != nil {
			t.Fatal(err)
		}
		now := begun
		bus := event.NewBus(func() time.Time { now = now.Add(time.Second); return now }, log)
		list := []event.Event{event.HostState{Host: "n1", State: "connected"},
			event.RunStarted{Cluster: "rack", Verb: c.verb}, event.PlanMade{}}
		if c.outcome != "" {
			list = append(list, event.RunEnded{Outcome: c.outcome})
		}
		for range 100 {
			list = append(list, event.HostState{Host: "n1", State: "closed"})
		}
		for _, e := range list {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		log.Close()
		all, err := (&environment{State: root}).host().Clusters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := all[0].Runs[0]
		if r.Said() != c.want || r.Verb != c.verb || !r.At.Equal(begun.Add(2*time.Second)) || c.outcome != "" &&
			r.Took != 2*time.Second {
			t.Errorf("%s, %s: %+v", c.verb, c.outcome, r)
		}
		begun = begun.Add(time.Hour)
	}
	home := t.TempDir()
	if err := os.Symlink(root, filepath.Join(home, "state")); err != nil {
		t.Fatal(err)
	}
	says(t, atMenu(t, home, "0", "/interrupted", "/", "q", "q"), "Install: failed, 2.0s", "Clean up: done, 2.0s")
}
