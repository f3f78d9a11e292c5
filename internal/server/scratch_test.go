package server

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a server that was killed has left of requests, keys among it, is removed when the next one starts.
func TestWhatAKilledServerLeftIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	past := time.Now().Add(-time.Hour)
	old := []string{
		filepath.Join(tmp, checkPrefix+"ABCDEFGHIJKLMNOPQRSTUVWXYZ"), filepath.Join(tmp, keyPrefix+"123456"),
	}
	for _, dir := range old {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "identity"), nil, 0o600),
			os.Chtimes(dir, past, past)); err != nil {
			t.Fatal(err)
		}
	}
	dir, remove, err := scratchDir(keyPrefix)
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	begin(t)
	for _, path := range old {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error("one in use is gone:", err)
	}
}
