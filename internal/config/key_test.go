package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// A key is a row of the table, the field that it is read into, and its sentences: nothing else has to know it. This
// adds one, and asks everybody who has to do with keys.
func TestAKeyIsARowAFieldAndItsSentences(t *testing.T) {
	var field int // the second place: it would stand in Cluster
	row := Key{
		Path: "service.dns.cache", Also: []string{"caching"}, Kind: Number, Low: 1, High: 90, Default: "30",
		Wizard: Place{"runtime", 4}, to: func(*loader, any) any { return &field },
	}
	with := newTable(append(Keys(), row))
	p := i18n.NewPrinter(i18n.English)

	if c, ps := with.load([]byte(minimal), "f"); c == nil || field != 30 {
		t.Errorf("the default: %d\n%s", field, dump(ps))
	}
	if c, ps := with.load([]byte(minimal+"service: {dns: {caching: 60}}\n"), "f"); c == nil || field != 60 {
		t.Errorf("read by its other spelling: %d\n%s", field, dump(ps))
	}
	for text, code := range map[string]string{
		"service: {dns: {cache: 91}}\n":              "config.integer",
		"service: {dns: {cahce: 60}}\n":              "config.misspelt-key",
		"service: {dns: {cache: 60, caching: 61}}\n": "config.given-twice",
	} {
		if _, ps := with.load([]byte(minimal+text), "f"); !strings.HasSuffix(codes(ps), code) {
			t.Errorf("%s%s", text, dump(ps))
		}
	}
	if !slices.ContainsFunc(with.settings(), func(s Setting) bool {
		return s.Key == row.Path && s.Kind == Number && s.Default == "30" && s.Wizard.Step == "runtime"
	}) {
		t.Error("nobody can fill it in")
	}
	// The third place: a key without a sentence is written as what it would be looked up by.
	if text := string(with.template(TemplateOptions{}, p)); !strings.Contains(text, "    cache: 30 ") ||
		!strings.Contains(text, "# template.service.dns.cache\n") {
		t.Errorf("the template does not have it:\n%s", text)
	}
	if text := string(with.schema(p)); strings.Count(text, `"default": "30"`) != 2 ||
		!strings.Contains(text, `"maximum": 90`) {
		t.Errorf("the schema does not have it:\n%s", text)
	}
	if text := with.tables("<!-- keys: all -->\n<!-- end -->", p); !strings.Contains(text,
		"| `service.dns.cache` (also `caching`) | 1–90 | `30` | key.service.dns.cache | yes |\n") {
		t.Errorf("the document does not have it:\n%s", text)
	}
	for _, other := range []string{string(Template(TemplateOptions{}, p)), string(Schema(p))} {
		if strings.Contains(other, "cach") {
			t.Error("the key of this test is a key: take another one")
		}
	}
}

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
		if k.to == nil && k.read == nil && len(all.below[k.Path]) == 0 {
			t.Errorf("%s: nothing reads it", k.Path)
		}
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		tpl := string(Template(TemplateOptions{LoadBalancer: "10.0.0.9"}, i18n.NewPrinter(lang)))
		if strings.Contains(tpl, "# template.") {
			t.Errorf("a key of the template has no sentence:\n%s", tpl)
		}
	}
}
