package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// A key is a row of the table, the field that it is read into, and its sentences: nothing else has to know it. This
// adds one, and asks everybody who has to do with keys.

// Every row can be read, written down and explained.
func TestEveryRowIsWhole(t *testing.T) {
	all := theTable()
	seen := map[string]bool{}
	for _, k := range all.keys {
		if seen[k.Path] {
			t.Errorf("%s stands there twice", k.Path)
		}
		seen[k.Path] = true
		if _, known := all.find(k.above()); k.above() != "" && !known && !strings.HasPrefix(k.Path, "<") {
			t.Errorf("%s: there is nothing above it", k.Path)
		}
		if strings.HasPrefix(k.Of, "<") && len(all.below[k.Of]) == 0 {
			t.Errorf("%s: there is no shape %s", k.Path, k.Of)
		}
		if k.Kind == Choice && k.Default != "" && !slices.Contains(k.Choices, k.Default) {
			t.Errorf("%s: the default is no choice", k.Path)
		}
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		tpl := string(Template(TemplateOptions{LoadBalancer: "10.0.0.9"}, i18n.NewPrinter(lang)))
		if strings.Contains(tpl, "# template.") {
			t.Errorf("a key of the template has no sentence:\n%s", tpl)
		}
	}
}
