package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// The templates say what the catalogs have, and the catalogs have nothing of the page that it does not say.
func TestTemplatesHaveSentences(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	said := regexp.MustCompile(`\bt "([a-z][a-zA-Z0-9.-]*)"`)
	begin := regexp.MustCompile(`\bwords? "([a-z][a-z.-]*\.)"`)
	all, prefixes := "", []string{}
	for _, pattern := range []string{"templates/*.html", "*.go"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all += string(text)
		}
	}
	n := 0
	for _, m := range said.FindAllStringSubmatch(all, -1) {
		if n++; !p.Has(m[1]) {
			t.Errorf("%s has no sentence", m[1])
		}
	}
	for _, m := range begin.FindAllStringSubmatch(all, -1) {
		prefixes = append(prefixes, m[1])
	}
	if n < 150 || len(prefixes) < 5 {
		t.Fatalf("%d sentences, %d words: the search is broken", n, len(prefixes))
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "output", "i18n", "sentences", "en.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sentences map[string]string
	if err := json.Unmarshal(text, &sentences); err != nil {
		t.Fatal(err)
	}
	for key := range sentences {
		used := strings.Contains(all, `"`+key+`"`)
		for _, prefix := range prefixes {
			used = used || strings.HasPrefix(key, prefix)
		}
		if strings.HasPrefix(key, "page.") && !used {
			t.Errorf("nothing says %s", key)
		}
	}
}
