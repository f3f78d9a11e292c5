package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// No new cluster has the name of a file that the wizard keeps beside the clusters.
func TestNoClusterIsCalledLikeADraft(t *testing.T) {
	root := t.TempDir()
	d := Dir{Root: root}.Draft()
	if err := d.Save([]byte("{}"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.KnownHosts(), []byte("m1 ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(root, e.Name())); err != nil { // the name counts, not that it is taken
			t.Fatal(err)
		}
		if _, err := journal.Open(root, e.Name()); err == nil || event.AsFault(err).Code != "journal.reserved" {
			t.Errorf("%s: %v", e.Name(), err)
		}
	}
}
