// Package problemtest sends what nobody should send to every route of an OpenAPI document: a server answers with a
// problem, and never with a 5xx.
package problemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// World is what hostile requests are sent to.
type World struct {
	Handler http.Handler
	Doc     *huma.OpenAPI
	// Known are values that mean something, by the names of parameters and fields: what exists, and what is valid. Most
	// requests have them, so that they come further than to "there is none".
	Known map[string][]string
	// Ready is called before each request, and sees to it that what is known is there; nil: nothing.
	Ready func()
	// Sign adds credentials to a request.
	Sign func(*http.Request)
}

// Hostile sends requests to each operation of the document: bodies and parameters of its schemas, and such as have
// other types, sizes and characters. The seed makes them the same each time. Every answer is one that the document
// promises, and none is an error of the server.
func (w World) Hostile(t *testing.T, seed uint64, each int) {
	t.Helper()
	text, err := json.Marshal(w.Doc)
	if err != nil {
		t.Fatal(err)
	}
	promise, err := NewContract(text)
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), doc: w.Doc, known: w.Known}
	for _, path := range slices.Sorted(maps.Keys(w.Doc.Paths)) {
		all := problem.Operations(w.Doc.Paths[path])
		for _, method := range slices.Sorted(maps.Keys(all)) {
			for range each {
				if w.Ready != nil {
					w.Ready()
				}
				r, text := g.request(method, path, all[method])
				w.Sign(r)
				is := httptest.NewRecorder()
				w.Handler.ServeHTTP(is, r)
				if is.Code >= http.StatusInternalServerError {
					t.Errorf("%s %s: %d %s\n%.500s", method, r.URL, is.Code, is.Body, text)
				}
				if kind := is.Header().Get("Content-Type"); is.Code == http.StatusNotFound &&
					strings.HasPrefix(kind, "text/plain") {
					continue // a mux that has nothing else says so itself
				}
				if err := promise.Kept(method, r.URL.EscapedPath(), Answer{is.Code, is.Header(),
					is.Body.Bytes()}); err != nil {
					t.Errorf("%v\n%.500s", err, text)
				}
			}
		}
	}
}

type generator struct {
	*rand.Rand
	doc   *huma.OpenAPI
	known map[string][]string
	tame  bool // the body is one of its schema, with little besides what it has to have
}

// valid is a known value of a parameter or a field, most of the time.
func (g *generator) valid(name string) (string, bool) {
	list := g.known[name]
	if len(list) == 0 || !g.tame && g.IntN(5) == 0 {
		return "", false
	}
	return g.pick(list...), true
}

func (g *generator) request(method, path string, op *huma.Operation) (*http.Request, string) {
	g.tame = false
	path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(path, func(name string) string {
		if text, is := g.valid(strings.Trim(name, "{}")); is {
			return url.PathEscape(text)
		}
		return url.PathEscape(g.text())
	})
	query := url.Values{}
	for _, p := range op.Parameters {
		if p.In == "query" && g.IntN(2) == 0 {
			query.Add(p.Name, fmt.Sprint(g.value(p.Schema, 0)))
		}
	}
	text := ""
	if g.tame = g.IntN(2) == 0; op.RequestBody != nil {
		for _, m := range op.RequestBody.Content {
			text = g.body(m.Schema)
		}
	}
	u := &url.URL{Scheme: "https", Host: "eggo.example", RawQuery: query.Encode()}
	u.Path, _ = url.PathUnescape(path)
	u.RawPath = path
	r := httptest.NewRequest(method, "https://eggo.example/", io.NopCloser(strings.NewReader(text)))
	r.URL, r.RequestURI = u, u.RequestURI()
	r.ContentLength = int64(len(text))
	r.Header.Set("Accept-Language", g.pick("zh", "en", "zh;q=x,,;", g.text()))
	if g.tame || g.IntN(8) > 0 {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Header.Set("Content-Type", g.pick("text/xml", "application/cbor", "application/json; charset=x", ";", "*/*"))
	}
	if !g.tame && g.IntN(4) == 0 {
		r.Header.Set("If-Match", g.pick(`"1"`, "*", `W/"`, "0", g.text()))
	}
	if g.IntN(4) == 0 {
		r.Header.Set("Idempotency-Key", g.text())
	}
	return r, text
}

func (g *generator) body(s *huma.Schema) string {
	if !g.tame && g.IntN(10) == 0 {
		return g.pick("", "{", "null", "[]", "\x00", `{"a":`+strings.Repeat("[", 5000), strings.Repeat(`{"a":`, 5000),
			`"`+strings.Repeat("x", 100_000)+`"`, "{\"name\":\"\xff\"}", `{"name":"a","name":"b"}`, "1e999", "-0")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(g.value(s, 0)); err != nil {
		return "{}"
	}
	return b.String()
}

// value is one of a schema, most of the time.
func (g *generator) value(s *huma.Schema, depth int) any {
	if s != nil && s.Ref != "" {
		s = g.doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	if s == nil || depth > 6 || !g.tame && g.IntN(12) == 0 {
		return g.pickAny(nil, true, -1, 1<<60, 0.5, g.text(), []any{}, map[string]any{"a": []any{nil}})
	}
	if len(s.Enum) > 0 && (g.tame || g.IntN(3) > 0) {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	switch s.Type {
	case huma.TypeObject:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if g.tame && !slices.Contains(s.Required, name) && g.IntN(3) > 0 || !g.tame && g.IntN(6) == 0 {
				continue
			}
			out[name] = g.field(name, s.Properties[name], depth+1)
		}
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			for range g.IntN(3) {
				out[g.text()] = g.value(values, depth+1)
			}
		}
		if !g.tame && g.IntN(10) == 0 {
			out[g.text()] = nil
		}
		return out
	case huma.TypeArray:
		out := []any{}
		for range g.IntN(4) {
			out = append(out, g.value(s.Items, depth+1))
		}
		return out
	case huma.TypeInteger, huma.TypeNumber:
		if g.tame {
			return g.within(s)
		}
		return g.pickAny(0, 1, -1, 500, 501, 1<<31, -(1 << 62), 1.5)
	case huma.TypeBoolean:
		return g.IntN(2) == 0
	}
	if g.tame && s.Format == "" {
		return g.short(s)
	}
	if s.Format == "date-time" && g.tame {
		return "2027-01-02T03:04:05Z"
	}
	if s.Format == "date-time" && g.IntN(3) > 0 {
		return g.pick("2027-01-02T03:04:05Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday")
	}
	return g.text()
}

// field is the value of a field, or of each element of one that is a list.
func (g *generator) field(name string, s *huma.Schema, depth int) any {
	if s.Type != huma.TypeString && (s.Type != huma.TypeArray || s.Items == nil || s.Items.Type != huma.TypeString) {
		return g.value(s, depth)
	}
	text, is := g.valid(name)
	switch {
	case !is:
		return g.value(s, depth)
	case s.Type == huma.TypeArray:
		return []any{text}
	}
	return text
}

// within is a number that a schema allows.
func (g *generator) within(s *huma.Schema) int {
	low, high := 0, 3
	if s.Minimum != nil {
		low = int(*s.Minimum)
	}
	if high = max(high, low); s.Maximum != nil {
		high = int(*s.Maximum)
	}
	return low + g.IntN(high-low+1)
}

// short is a text of a length that a schema allows, and of any content.
func (g *generator) short(s *huma.Schema) string {
	for {
		text := g.text()
		n := utf8.RuneCountInString(text)
		if (s.MinLength == nil || n >= *s.MinLength) && (s.MaxLength == nil || n <= *s.MaxLength) {
			return text
		}
	}
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) pickAny(from ...any) any { return from[g.IntN(len(from))] }

// text is one that has done harm somewhere.
func (g *generator) text() string {
	return g.pick("rack", "n1", "10.0.0.1", "", ".", "..", "../../etc/passwd", "..%2f..%2fetc", "/etc/shadow",
		`..\..\x`, "a\x00b", "a\nb: c", "\x1b[31mred", "a\u202eb", "'; DROP TABLE users;--", "{{.}}", "${HOME}",
		"$(reboot)", "`id`",
		"<script>alert(1)</script>", "%s%n%d", "\xff\xfe", "名字", "🐧", "-rf", "--help", strings.Repeat("a", 300),
		strings.Repeat("é", 70000), "null", "NaN", "0", "-1", "9999999999999999999999", "system:masters", "a b", "A")
}
