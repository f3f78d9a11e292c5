package sign

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// TestEverySentence: each code that this package can report has its words in both languages.
func TestEverySentence(t *testing.T) {
	codes := regexp.MustCompile(`"(sign\.[a-z-]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codes.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	}
	if len(found) < 30 {
		t.Fatalf("only %d codes were found", len(found))
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
