package pack

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// TestEverySentence: each fault of the room has its words in both languages.
func TestEverySentence(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes, found := regexp.MustCompile(`"(pack\.[a-z-]+)"`), map[string]bool{}
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codes.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	}
	if len(found) != 8 {
		t.Errorf("%d codes: %v", len(found), found)
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for c := range found {
			if !p.Has("fault." + c) {
				t.Errorf("%s: no sentence for %s", lang, c)
			}
		}
	}
}
