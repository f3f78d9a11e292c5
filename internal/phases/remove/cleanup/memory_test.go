package cleanup_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/remove/cleanup"
)

// TestWhatTheControlHostHadIsRestored: files that were changed, removed and added since, with their modes; others stay.
func TestWhatTheControlHostHadIsRestored(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("pki/ca.key", "key", 0o600)
	write("pki/nodes/m1/a.crt", "old", 0o644)
	write("known_hosts", "one\n", 0o600)
	m, err := cleanup.Remember(dir)
	if err != nil || m.Empty() {
		t.Fatal(err)
	}
	write("pki/nodes/m1/a.crt", "new", 0o644)
	write("pki/nodes/w1/b.key", "new", 0o600)
	write("admin.conf", "new", 0o600)
	write("known_hosts", "two\n", 0o600)
	if err := os.Remove(filepath.Join(dir, "pki/ca.key")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be done again
		if err := m.Restore(); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"pki/ca.key": "key -rw-------",
			"pki/nodes/m1/a.crt": "old -rw-r--r--", "known_hosts": "two\n -rw-------"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			info, err2 := os.Stat(filepath.Join(dir, name))
			if err != nil || err2 != nil || string(data)+" "+info.Mode().String() != want {
				t.Errorf("%s: %q %v %v", name, data, err, err2)
			}
		}
		for _, name := range []string{"pki/nodes/w1", "admin.conf"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Error("still there:", name)
			}
		}
	}
	if none, err := cleanup.Remember(t.TempDir()); err != nil || !none.Empty() {
		t.Error(err)
	}
}
