package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPathsAreCompleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &Host{Dir: filepath.Join(dir, "sub"), Getenv: func(string) string { return dir }}
	for _, name := range []string{"eggo-debian-amd64.tar.gz", "eggo-debian-arm64.tar.gz", "other", ".ssh/id_ed25519",
		"sub/离线包一", "sub/离线包二"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		dir + "/e":                  dir + "/eggo-debian-a 2",
		dir + "/eggo-debian-am":     dir + "/eggo-debian-amd64.tar.gz 1",
		dir + "/su":                 dir + "/sub/ 1",
		dir + "/sub/":               dir + "/sub/离线包 2",
		dir + "/.s":                 dir + "/.ssh/ 1",
		dir + "/":                   dir + "/ 4",
		"~/.ssh/":                   "~/.ssh/id_ed25519 1",
		"离":                         "离线包 2",
		dir + "/nothing":            dir + "/nothing 0",
		dir + "/no/such/directory/": dir + "/no/such/directory/ 0",
	} {
		text, names := h.CompletePath(in)
		if got := text + " " + string(rune('0'+len(names))); got != want {
			t.Errorf("%s: %s (%s), want %s", in, got, strings.Join(names, " "), want)
		}
	}
}

// The names come in the order of the alphabet, whatever that of the directory is.
func TestPathsAreSorted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	for i := range 40 {
		want = append(want, "bundle-"+string(rune('a'+i/10))+string(rune('0'+i%10)))
	}
	for i := range want {
		if err := os.WriteFile(filepath.Join(dir, want[(i*7)%len(want)]), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, names := (&Host{}).CompletePath(dir + "/b"); !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}
