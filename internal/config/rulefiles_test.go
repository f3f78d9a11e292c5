package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var mark = regexp.MustCompile(`(error|warning) (config\.[a-z0-9-]+)`)

// Each file of testdata/rules breaks one rule, whose number in the table of what the earlier program did not check is
// the file's (17 is for rules beside that table). A comment "# <- error config.CODE" stands in the line of the problem;
// nothing else is found. Rule 12's file modes are in TestLoadFile's, rule 14 is the bundle's: its file is in order
// here, and refused by preflight.
func TestEveryRuleHasAFileThatBreaksIt(t *testing.T) {
	names, err := filepath.Glob("testdata/rules/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, name := range names {
		rules[filepath.Base(name)[:2]] = true
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for i, line := range strings.Split(string(data), "\n") {
				if _, comment, ok := strings.Cut(line, "# <- "); ok {
					for _, m := range mark.FindAllStringSubmatch(comment, -1) {
						want = append(want, fmt.Sprintf("%d: %s %s", i+1, m[1], m[2]))
					}
				}
			}
			c, ps := Load(data, name)
			for _, p := range ps {
				got = append(got, fmt.Sprintf("%d: %s %s", p.Line, p.Severity, p.Code))
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("want %v, got:\n%s", want, dump(ps))
			}
			if (c == nil) != ps.HasErrors() {
				t.Error("a cluster in spite of errors, or none without one")
			}
			rendered(t, ps)
		})
	}
	for i := 1; i <= 16; i++ {
		if !rules[fmt.Sprintf("%02d", i)] {
			t.Errorf("rule %d has no file", i)
		}
	}
}
