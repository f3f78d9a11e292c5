package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A copy whose process was killed is removed when the next one is made; one that is in use, and what only has such a
// name, stays.
func TestCopiesOfDeadProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	parent, later := t.TempDir(), time.Now().Add(2*scratchYoung)
	used, lock, err := scratch(parent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	dead, killed, err := scratch(parent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	killed.Close()
	link := filepath.Join(parent, scratchPrefix+"link")
	if err := os.Symlink(used, link); err != nil {
		t.Fatal(err)
	}
	fresh, last, err := scratch(parent, later)
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	for path, stays := range map[string]bool{used: true, dead: false, link: true, fresh: true} {
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
}
