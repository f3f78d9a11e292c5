package assets_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/assets"
)

// An operating system is its spec, and its ID where no family has it: nothing else has to know it. This adds one to the
// sources that the compiler sees, and has everybody tested who has to do with operating systems.
func TestASystemIsItsSpecAndItsID(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles")
	}
	like, err := os.ReadFile("os/debian-13.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec := regexp.MustCompile(`(?m)^os: .*$`).ReplaceAllString(string(like),
		`os: {family: debian, id: beard, release: "1", codename: long}`)
	const families = "../internal/phases/node/facts/system.go"
	known, err := os.ReadFile(families)
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(known), `{"debian", "ubuntu"}`, `{"debian", "ubuntu", "beard"}`, 1)
	if with == string(known) {
		t.Fatalf("%s does not say which are Debian's family", families)
	}
	first := map[string]string{"os/beard-1.yaml": spec}
	// The second place is asked for as long as it is not there.
	if out, ok := tested(t, first); ok || !strings.Contains(out, "beard-1: no family has the ID beard") ||
		!strings.Contains(out, "--- PASS: TestEmbeddedSpecs/beard-1") {
		t.Errorf("with its spec alone: %v\n%s", ok, out)
	}
	if out, ok := tested(t, map[string]string{"os/beard-1.yaml": spec, families: with}); !ok ||
		!strings.Contains(out, "--- PASS: TestEmbeddedSpecs/beard-1") {
		t.Errorf("with both: %v\n%s", ok, out)
	}
	if len(assets.Systems()) < 7 {
		t.Error("systems that there are:", assets.Systems())
	}
}

// tested are the tests of what has to do with operating systems, where these files stand.
func tested(t *testing.T, files map[string]string) (out string, ok bool) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for name, text := range files {
		at, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replace[at] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replace[at], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), "go", "test", "-v", "-overlay", file, "-run",
		"^(TestEmbeddedSpecs|TestTheSchemaJudgesSpecs|TestEverySystemIsServedByItsBundle)$",
		"../internal/bundle/spec", "../internal/phases/node/facts").CombinedOutput()
	return string(text), err == nil
}
