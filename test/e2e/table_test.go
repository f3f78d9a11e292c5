package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCellIsInTheTable: docs/cells.md says of every cell what it proves.
func TestEveryCellIsInTheTable(t *testing.T) {
	doc, err := os.ReadFile("../../docs/cells.md")
	must(t, "table", err)
	files, err := filepath.Glob("*_test.go")
	must(t, "cells", err)
	cell := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, file, err)
		for _, m := range cell.FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != t.Name() && !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("docs/cells.md does not name %s", name)
			}
		}
	}
}
