package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A directory whose process was killed is removed when the next one is made; one that is in use, and what only has such
// a name, stays.
func TestDirectoriesOfDeadProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	const prefix = "eggo-test-"
	parent, later := t.TempDir(), time.Now().Add(2*young)
	used, remove, err := Dir(parent, prefix, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dead, old := filepath.Join(parent, prefix+"ABCDEFGHIJKLMNOPQRSTUVWXYZ"), filepath.Join(parent, prefix+"123456")
	link, named := filepath.Join(parent, prefix+"1234567"), filepath.Join(parent, prefix+"mine")
	open, file := filepath.Join(parent, prefix+"12345678"), filepath.Join(parent, prefix+"99")
	if err := errors.Join(os.Mkdir(dead, 0o700), os.WriteFile(filepath.Join(dead, "key"), nil, 0o600),
		os.Mkdir(old, 0o700), os.Mkdir(named, 0o700), os.Mkdir(open, 0o700), os.Chmod(open, 0o755),
		os.WriteFile(file, nil, 0o600), os.Symlink(used, link)); err != nil {
		t.Fatal(err)
	}
	Sweep(parent, prefix, time.Now())
	if _, err := os.Stat(dead); err != nil {
		t.Error("its process may be about to lock it:", err)
	}
	fresh, last, err := Dir(parent, prefix, later)
	if err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{
		used: true, dead: false, old: false, link: true, named: true, open: true, file: true, fresh: true,
	} {
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, end := range []func() error{remove, last} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{used, fresh} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
