package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryScenarioIsInTheMatrix: docs/test-matrix.md says of every scenario what it verifies.
func TestEveryScenarioIsInTheMatrix(t *testing.T) {
	doc, err := os.ReadFile("../../docs/test-matrix.md")
	must(t, "matrix", err)
	files, err := filepath.Glob("*_test.go")
	must(t, "scenarios", err)
	scenario := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, file, err)
		for _, m := range scenario.FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != t.Name() && !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("docs/test-matrix.md does not name %s", name)
			}
		}
	}
}
