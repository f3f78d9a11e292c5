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

	"github.com/danielgtaylor/huma/v2"
)

// Hostile sends requests to each operation of a document: bodies and parameters of its schemas, and such as have other
// types, sizes and characters. The seed makes them the same each time. Before may add credentials.
func Hostile(t *testing.T, h http.Handler, doc *huma.OpenAPI, seed uint64, each int, before func(*http.Request)) {
	t.Helper()
	g := &generator{rand.New(rand.NewPCG(seed, 1)), doc}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range operations(doc.Paths[path]) {
			if op == nil {
				continue
			}
			for range each {
				r, text := g.request(method, path, op)
				before(r)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code >= http.StatusInternalServerError {
					t.Errorf("%s %s: %d %s\n%.500s", method, r.URL, w.Code, w.Body, text)
				}
				// the mux says so itself
				unknown := w.Code == http.StatusNotFound || w.Code == http.StatusMethodNotAllowed
				if w.Code >= http.StatusBadRequest && !unknown && !json.Valid(w.Body.Bytes()) {
					t.Errorf("%s %s: %d is no problem: %.200s", method, r.URL, w.Code, w.Body)
				}
			}
		}
	}
}

func operations(p *huma.PathItem) map[string]*huma.Operation {
	return map[string]*huma.Operation{http.MethodGet: p.Get, http.MethodPost: p.Post, http.MethodPut: p.Put,
		http.MethodPatch: p.Patch, http.MethodDelete: p.Delete}
}

type generator struct {
	*rand.Rand
	doc *huma.OpenAPI
}

func (g *generator) request(method, path string, op *huma.Operation) (*http.Request, string) {
	path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(path, func(string) string {
		return url.PathEscape(g.text())
	})
	query := url.Values{}
	for _, p := range op.Parameters {
		if p.In == "query" && g.IntN(2) == 0 {
			query.Add(p.Name, fmt.Sprint(g.value(p.Schema, 0)))
		}
	}
	text := ""
	if op.RequestBody != nil {
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
	if g.IntN(8) > 0 {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Header.Set("Content-Type", g.pick("text/xml", "application/cbor", "application/json; charset=x", ";", "*/*"))
	}
	if g.IntN(4) == 0 {
		r.Header.Set("If-Match", g.pick(`"1"`, "*", `W/"`, "0", g.text()))
	}
	if g.IntN(4) == 0 {
		r.Header.Set("Idempotency-Key", g.text())
	}
	return r, text
}

func (g *generator) body(s *huma.Schema) string {
	if g.IntN(10) == 0 {
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
	if s == nil || depth > 6 || g.IntN(12) == 0 {
		return g.pickAny(nil, true, -1, 1<<60, 0.5, g.text(), []any{}, map[string]any{"a": []any{nil}})
	}
	if len(s.Enum) > 0 && g.IntN(3) > 0 {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	switch s.Type {
	case huma.TypeObject:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if g.IntN(6) > 0 {
				out[name] = g.value(s.Properties[name], depth+1)
			}
		}
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			for range g.IntN(3) {
				out[g.text()] = g.value(values, depth+1)
			}
		}
		if g.IntN(10) == 0 {
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
		return g.pickAny(0, 1, -1, 500, 501, 1<<31, -(1 << 62), 1.5)
	case huma.TypeBoolean:
		return g.IntN(2) == 0
	}
	if s.Format == "date-time" && g.IntN(3) > 0 {
		return g.pick("2027-01-02T03:04:05Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday")
	}
	return g.text()
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
