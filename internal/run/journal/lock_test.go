package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Whoever looks whether a run lives is in no run's way.
func TestWhoAsksIsInNobodysWay(t *testing.T) {
	c := open(t)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.Busy()
				}
			}
		})
	}
	for range 50 {
		l, err := c.Lock(Holder{PID: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !c.Busy() || c.Free() == nil {
			t.Fatal("it is held")
		}
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	all.Wait()
	if c.Busy() || c.Free() != nil {
		t.Error("nobody holds it")
	}
}

// A run lives while the lock is held by whoever writes it, and no other run does.
func TestWhichRunIsWritten(t *testing.T) {
	c := open(t)
	old := newRun(t, c, "deploy")
	if c.Writing(old.ID()) {
		t.Error("nobody ever took the lock")
	}
	l, err := c.Lock(Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if c.Writing(old.ID()) {
		t.Error("who has just taken the lock writes no run yet")
	}
	w := newRun(t, c, "deploy")
	if err := l.Writes(w.ID()); err != nil {
		t.Fatal(err)
	}
	if c.Writing(old.ID()) || !c.Writing(w.ID()) {
		t.Error("it writes the new one")
	}
	// The file of an older version says no run.
	text, err := json.Marshal(map[string]any{"pid": 1, "verb": "deploy"})
	if err == nil {
		err = os.WriteFile(filepath.Join(c.Path(), "lock.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Writing(old.ID()) || !c.Writing(w.ID()) {
		t.Error("an older version writes the newest")
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Path(), "lock.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Writing(w.ID()) {
		t.Error("the lock is free, whatever the file says")
	}
}

// What is in the lock's place is named; what it says of its holder too, and then the lock is given back.
func TestALockThatCannotBeTaken(t *testing.T) {
	for _, name := range []string{"lock", "lock.json"} {
		c := open(t)
		path := filepath.Join(c.Path(), name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := c.Lock(Holder{PID: 1})
		if f := event.AsFault(err); f == nil || f.Code != "lock.cluster-failed" || f.Args["path"] != path ||
			f.Cause == "" {
			t.Errorf("%s: %+v", name, f)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		l, err := c.Lock(Holder{PID: 1})
		if err != nil {
			t.Fatalf("%s: free again: %v", name, err)
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
}
