package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link   = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	target = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `)
	made   = regexp.MustCompile("(?m)(?:`|^ {4,})make ([a-z][a-z0-9-]*)")
)

func root() string { return filepath.Join("..", "..", "..") }

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A document that leads nowhere is worse than none: what the documents link to is there, and the make targets that they
// name exist.
func TestDocumentsLeadSomewhere(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, filepath.Join(root(), "Makefile")), -1) {
		targets[m[1]] = true
	}
	links, makes := 0, 0
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		text := read(t, path)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		for _, m := range made.FindAllStringSubmatch(text, -1) {
			makes++
			if !targets[m[1]] {
				t.Errorf("%s names make %s, which the Makefile does not have", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 5 || makes < 5 || len(targets) < 10 {
		t.Errorf("%d links, %d commands, %d targets: the search is broken", links, makes, len(targets))
	}
}

// A path of this repository that a document or a comment names is there.
func TestNamedPathsExist(t *testing.T) {
	named := regexp.MustCompile(`(?:^|[^\w/.-])(internal/[\w/.-]*\w)`)
	found := 0
	read := func(path string, text []byte) {
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(path, ".go") {
				_, line, _ = strings.Cut(line, "//")
			}
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				found++
				if _, err := os.Stat(filepath.Join(root(), filepath.FromSlash(m[1]))); err != nil {
					t.Errorf("%s names %s, which is not there", path, m[1])
				}
			}
		}
	}
	files(t, ".md", read)
	files(t, ".go", read)
	if found < 50 {
		t.Errorf("%d paths: the search is broken", found)
	}
}
