package facts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A place whose free space nobody can tell leaves the others known.
func TestAPlaceWithoutAnAnswer(t *testing.T) {
	_, rest, ok := strings.Cut(factsScript, "# there PATH")
	part, _, ok2 := strings.Cut(rest, "\nfor p in /opt/eggo")
	if !ok || !ok2 {
		t.Fatal("the script asks for free space in another way")
	}
	dir := t.TempDir()
	stub := "#!/bin/sh\ns=0\necho head\nfor a; do case $a in -PB1) ;; *stale*) echo stale >&2; s=1 ;; " +
		"*) echo \"/dev/x 9 5 4242 1% $a\" ;; esac; done\nexit $s\n"
	if err := os.WriteFile(filepath.Join(dir, "df"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"a", "stale", "b"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for paths, want := range map[string]string{
		"a b/below": "free=DIR/a /dev/x 4242\nfree=DIR/b/below /dev/x 4242",
		"a stale b": "free=DIR/a /dev/x 4242\nfree=DIR/b /dev/x 4242",
	} {
		var at []string
		for p := range strings.FieldsSeq(paths) {
			at = append(at, filepath.Join(dir, p))
		}
		c := exec.CommandContext(t.Context(), "sh", "-c", "set -eu\n#"+strings.ReplaceAll(part, "@PATHS@",
			strings.Join(at, " "))+"\necho end")
		c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		out, err := c.CombinedOutput()
		lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(string(out)), dir, "DIR"), "\n")
		got := map[string]bool{}
		for _, l := range lines {
			got[l] = true
		}
		for l := range strings.SplitSeq(want+"\nend", "\n") {
			if !got[l] || err != nil {
				t.Errorf("%s: %q is missing, %v:\n%s", paths, l, err, out)
			}
		}
		if len(got) != len(lines) || len(lines) != 3 {
			t.Errorf("%s:\n%s", paths, out)
		}
	}
}
