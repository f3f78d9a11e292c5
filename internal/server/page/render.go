package page

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// parse reads the templates, once for each language: what they say is filled in by the printer.
func (p *Page) parse() (map[i18n.Lang]map[string]*template.Template, error) {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	out := map[i18n.Lang]map[string]*template.Template{}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		base, err := template.New("").Funcs(p.funcs(i18n.NewPrinter(lang))).ParseFS(files, "templates/_*.html")
		if err != nil {
			return nil, err
		}
		out[lang] = map[string]*template.Template{"": base}
		for _, name := range names {
			if short := strings.TrimSuffix(path.Base(name), ".html"); short[0] != '_' {
				t, err := base.Clone()
				if err == nil {
					t, err = t.ParseFS(files, name)
				}
				if err != nil {
					return nil, err
				}
				out[lang][short] = t
			}
		}
	}
	return out, nil
}

// funcs are what templates call.
func (p *Page) funcs(say *i18n.Printer) template.FuncMap {
	return template.FuncMap{
		"t": func(key string, kv ...any) string {
			words := make([]string, len(kv))
			for i, x := range kv {
				words[i] = fmt.Sprint(x)
			}
			return say.T(key, words...)
		},
		"word": func(key, word string) string { return worded(say, key, word) },
		"words": func(key string, list []string) string {
			out := make([]string, len(list))
			for i, w := range list {
				out[i] = worded(say, key, w)
			}
			return say.List(out)
		},
		"ago":    func(t time.Time) string { return ago(say, p.Now().Sub(t)) },
		"at":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"utc":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":    func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"took":   func(seconds float64) string { return report.Short(time.Duration(seconds * float64(time.Second))) },
		"size":   report.Size,
		"mark":   mark,
		"clean":  event.Clean,
		"file":   func(name string) string { return p.static[name].path },
		"path":   url.PathEscape,
		"has":    slices.Contains[[]string, string],
		"advice": func(code, next string) string { return advice(say, code, next) },
		// tokens are words of a filter, such as role:worker; control-plane is also controlplane.
		"tokens": func(kind string, list []string) string {
			var out strings.Builder
			for _, w := range list {
				out.WriteString(" " + kind + w)
				if short := strings.ReplaceAll(w, "-", ""); short != w {
					out.WriteString(" " + kind + short)
				}
			}
			return out.String()
		},
	}
}

// worded is the word of a value, or the value if it has none.
func worded(p *i18n.Printer, key, word string) string {
	if p.Has(key + word) {
		return p.T(key + word)
	}
	return event.Clean(word)
}

// ago says how long ago something was.
func ago(p *i18n.Printer, d time.Duration) string {
	n := func(d, unit time.Duration) string { return strconv.Itoa(int(d / unit)) }
	switch {
	case d < time.Minute:
		return p.T("menu.ago.now")
	case d < time.Hour:
		return p.T("menu.ago.minutes", "n", n(d, time.Minute))
	case d < 48*time.Hour:
		return p.T("menu.ago.hours", "n", n(d, time.Hour))
	}
	return p.T("menu.ago.days", "n", n(d, 24*time.Hour))
}

// mark is the glyph of a state, the same as on a terminal: no state is told by color alone.
func mark(state string) string {
	switch state {
	case "asked", "lost", "retry", "ignored", "Unreachable", "warning", "waiting-for":
		return "!"
	case "failed", "Unavailable", "error", "dead":
		return "✘"
	case "blocked":
		return "⊘"
	case "stopped", "interrupted", "Canceling":
		return "■"
	case "running", "Creating", "Updating", "Connecting", "Destroy", "busy":
		return "▸"
	case "done", "ok", "changed", "Running", "ready":
		return "✔"
	case "skipped":
		return "»"
	case "unknown":
		return "?"
	}
	return "◌"
}

// shown is what the layout of every page gets.
type shown struct {
	Title   string
	Lang    i18n.Lang
	Theme   string
	Path    string
	User    string
	Admin   bool
	Version string
	Body    any
}

// render draws a page.
func (p *Page) render(v *visit, status int, name, title string, body any) {
	s := shown{Title: title, Lang: v.lang, Theme: v.theme, Path: v.r.URL.Path, User: v.me.Name, Version: p.Version,
		Admin: v.may(access.Administer, ""), Body: body}
	var b bytes.Buffer
	if err := p.pages[v.lang][name].ExecuteTemplate(&b, "layout", s); err != nil {
		v.w.WriteHeader(http.StatusInternalServerError)
		_, _ = v.w.Write([]byte(event.Clean(err.Error())))
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	text := []byte(plain(b.String()))
	packed := pack(v.r, text)
	if packed != nil {
		v.w.Header().Set("Content-Encoding", "gzip")
		text = packed
	}
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text)
}

// piece draws a part of a page.
func (p *Page) piece(lang i18n.Lang, name string, data any) (string, error) {
	var b strings.Builder
	err := p.pages[lang][""].ExecuteTemplate(&b, name, data)
	return strings.TrimSpace(plain(b.String())), err
}

// plain drops what changes how other text is shown from what is drawn, wherever it came from: control characters, and
// those that are not seen, such as the marks that turn text round. None of them is part of markup.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' || r < 0x7f && r >= ' ' || !unicode.In(r, unicode.Cc, unicode.Cf) {
			return r
		}
		return -1
	}, text)
}

// may says whether the reader's role on a cluster allows something; "": on all clusters. It decides what is offered;
// the API decides what is done.
func (v *visit) may(a access.Action, cluster string) bool {
	return access.Role(v.me.Role).May(a) || cluster != "" && access.Role(v.me.Clusters[cluster]).May(a)
}
