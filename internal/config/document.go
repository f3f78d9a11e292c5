package config

import (
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Document is a deploy.yaml.md with its tables of keys as they are now: each stands between "<!-- keys: PATH -->" and
// "<!-- end -->", and has the keys below a path of the table; "all" are those that are below none of the others.
func Document(text string, p *i18n.Printer) string { return theTable().tables(text, p) }

func (t *table) tables(text string, p *i18n.Printer) string {
	out := ""
	own := map[string]bool{}
	for part := range strings.SplitSeq(text, "<!-- keys: ") {
		path, _, _ := strings.Cut(part, " -->")
		own[path] = true
	}
	for {
		before, rest, ok := strings.Cut(text, "<!-- keys: ")
		out += before
		if !ok {
			return out
		}
		path, rest, _ := strings.Cut(rest, " -->\n")
		_, text, _ = strings.Cut(rest, "<!-- end -->")
		lines := p.T("key.head") + "\n|---|---|---|---|---|\n" + t.rows(p, path, own)
		out += "<!-- keys: " + path + " -->\n" + lines + "<!-- end -->"
	}
}

// rows are the lines of the keys below a path, and of those below them, as far as they have no table of their own.
func (t *table) rows(p *i18n.Printer, path string, own map[string]bool) string {
	top, at := path+".", path
	switch {
	case path == "all":
		top, at = "", ""
	case len(t.below[path]) == 0:
		top, at = "<"+path+">.", "<"+path+">"
	}
	var b strings.Builder
	var walk func(at string)
	walk = func(at string) {
		for _, k := range t.below[at] {
			if k.Kind != Map || own[k.Path] {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
					k.spelled(p, top), t.typed(k, p), k.otherwise(p), k.meaning(p), k.effect(p))
			}
			if !own[k.Path] {
				walk(k.Path)
			}
		}
	}
	walk(at)
	return b.String()
}

// spelled is the key as it is written, below top.
func (k Key) spelled(p *i18n.Printer, top string) string {
	out := "`" + strings.TrimPrefix(k.Path, top) + "`"
	if k.Written != "" {
		return "`" + k.Written + "` (" + p.T("key.also", "words", out) + ")"
	}
	if len(k.Also) > 0 {
		out += " (" + p.T("key.also", "words", "`"+strings.Join(k.Also, "`, `")+"`") + ")"
	}
	return out
}

// typed says what may be written.
func (t *table) typed(k Key, p *i18n.Printer) string {
	switch {
	case k.Kind == Choice:
		return "`" + strings.Join(k.Choices, "`, `") + "`"
	case k.Kind == Number:
		return fmt.Sprintf("%d–%d", k.Low, k.High)
	case k.Kind == Machines && k.form != "", k.Kind == Block && len(t.below[k.Path]) > 0:
		return p.T("key.type.map")
	case k.Kind == Block && k.Of != "" && k.form == "":
		return p.T("key.type.list")
	case k.Kind == Text || k.Kind == Path:
		_, word, _ := strings.Cut(k.rule.code, ".")
		if rule := "key.type." + word; p.Has(rule) {
			return p.T(rule)
		}
	}
	return p.T("key.type." + string(k.Kind))
}

// otherwise returns the default of the key as documents show it.
func (k Key) otherwise(p *i18n.Printer) string {
	words := "key." + k.words() + ".default"
	switch {
	case p.Has(words):
		return p.T(words)
	case k.Default != "":
		return "`" + k.Default + "`"
	case k.Kind == List || k.Kind == Machines:
		return "`[]`"
	}
	return "–"
}

func (k Key) meaning(p *i18n.Printer) string {
	out := p.T("key." + k.words())
	if k.Layout != Both {
		out += " (" + p.T("key.layout."+string(k.Layout)) + ")"
	}
	return out
}

func (k Key) effect(p *i18n.Printer) string {
	if k.Effect == Yes {
		return p.T("key.effect.yes")
	}
	return p.T("key.effect." + string(k.Effect))
}
