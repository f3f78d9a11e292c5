package bundle_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// TestEverySentence: each code that the room can report has its words in both languages, and each sentence that a verb
// names too.
func TestEverySentence(t *testing.T) {
	codes := regexp.MustCompile(`"((?:bundle|deb|fetch|spec|build)\.[a-z-]+(?:\.[a-z-]+)*)"`)
	found := map[string]bool{}
	for _, dir := range []string{".", "../../cmd/eggo-bundle"} {
		err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return err
			}
			text, err := os.ReadFile(p)
			for _, m := range codes.FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 80 {
		t.Fatalf("only %d codes were found", len(found))
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for c := range found {
			if c == "spec.image" || strings.HasSuffix(c, ".yaml") || strings.HasSuffix(c, ".lock") &&
				c == "bundle.lock" {
				continue
			}
			if !p.Has(c) && !p.Has("fault."+c) {
				t.Errorf("%s: no sentence for %s", lang, c)
			}
		}
	}
}
