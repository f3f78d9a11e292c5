package rules

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// make build, make demo and make test compile each package once: with other flags, the second one would compile the
// whole project again.
func TestMakefile_OneSetOfFlags(t *testing.T) {
	show := exec.Command("make", "-s", "-C", "../../..", "--eval", "flags: ; @echo $$GOFLAGS $$CGO_ENABLED", "flags")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, "CGO_ENABLED=") && !strings.HasPrefix(v, "MAKE") {
			show.Env = append(show.Env, v)
		}
	}
	out, err := show.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "-buildvcs=false -trimpath 0" {
		t.Errorf("recipes of the Makefile have %q, %v", got, err)
	}
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "\t") &&
			(strings.Contains(line, "-trimpath") || strings.Contains(line, "CGO_ENABLED=0")) {
			t.Errorf("a recipe has flags of its own: %s", line)
		}
	}
}
