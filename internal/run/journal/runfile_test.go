package journal

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestTheVerbOfARun: what a run is stands in its directory, else in its log, else, of earlier programs, in its ID.
func TestTheVerbOfARun(t *testing.T) {
	c, err := Open(t.TempDir(), "rack")
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.NewRun("etcd-restore", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id := filepath.Base(w.Dir())
	if got := c.Verb(id); got != "etcd-restore" {
		t.Errorf("a new run is %q", got)
	}
	if i, err := os.Stat(filepath.Join(w.Dir(), runFile)); err != nil || i.Mode().Perm() != 0o600 {
		t.Error(i, err)
	}
	if err := os.Remove(filepath.Join(w.Dir(), runFile)); err != nil {
		t.Fatal(err)
	}
	if got := c.Verb(id); got != "etcd-restore" {
		t.Errorf("a run of an earlier program without a log is %q", got)
	}
	if err := event.NewBus(nil, w).Emit(event.RunStarted{Run: id, Verb: "certs"}); err != nil {
		t.Fatal(err)
	}
	if got := c.Verb(id); got != "certs" {
		t.Errorf("by its log the run is %q", got)
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), runFile), []byte(`{"format":1,"verb":"../x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.Verb(id); got != "certs" {
		t.Errorf("a damaged file says %q", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
