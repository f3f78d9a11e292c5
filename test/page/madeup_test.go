package page_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/problem"
	"github.com/eggo-k8s/eggo/test/page/site"
)

// schema is as much of one as answers are made of.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Format     string             `json:"format"`
	Enum       []any              `json:"enum"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Additional json.RawMessage    `json:"additionalProperties"`
}

// is reports whether a schema allows values of a type.
func (s *schema) is(kind string) bool {
	list, many := s.Type.([]any)
	return s.Type == kind || many && slices.Contains(list, any(kind))
}

// answers are those of an operation of the API.
type answers struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

// madeUp answers for the API as its own document says, with a value of others in every place, so that a field that is
// added to an answer is tried as well.
type madeUp struct {
	mu      sync.Mutex
	paths   map[string]map[string]answers
	schemas map[string]*schema
	value   string
	// fails: every request is refused, with the value as the reason.
	fails bool
	yes   bool // what is true or false is true
	// plain: words with a meaning have one of their own values, and what hides parts of a page is off.
	plain bool
}

func madeUpOf(t *testing.T, s *site.Site) *madeUp {
	t.Helper()
	var doc struct {
		Paths      map[string]map[string]answers
		Components struct{ Schemas map[string]*schema }
	}
	text := visit(t, s, "ann", "en").get(server.Prefix + "/openapi.json").text
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Paths) < 30 {
		t.Fatal(len(doc.Paths), err)
	}
	return &madeUp{paths: doc.Paths, schemas: doc.Components.Schemas}
}

// between is the API. What a reader may do is what the server says.
func (m *madeUp) between(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	for path, item := range m.paths {
		for method, a := range item {
			if path != server.Prefix+"/setup" && path != server.Prefix+"/me" {
				mux.HandleFunc(strings.ToUpper(method)+" "+path, func(w http.ResponseWriter, _ *http.Request) {
					m.answer(w, a)
				})
			}
		}
	}
	mux.HandleFunc("GET "+server.Prefix+"/me", func(w http.ResponseWriter, _ *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		me := map[string]any{"id": m.value, "name": m.value, "role": "admin", "clusters": map[string]string{
			m.value: m.value}, "kind": m.value}
		_ = json.NewEncoder(w).Encode(me) // who does not read it is gone
	})
	return mux
}

// called answers for a method that the page calls.
func (m *madeUp) called(op huma.Operation, body any) error {
	w := httptest.NewRecorder()
	m.between(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(op.Method, op.Path, nil))
	if w.Code >= http.StatusMultipleChoices {
		p := &problem.Problem{}
		if err := json.Unmarshal(w.Body.Bytes(), p); err != nil {
			return err
		}
		return p
	}
	if body == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), body)
}

// set changes what is answered from now on.
func (m *madeUp) set(value string, plain, fails bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.value, m.plain, m.fails = value, plain, fails
}

func (m *madeUp) answer(w http.ResponseWriter, a answers) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("ETag", `"7"`)
	if m.fails {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		what := map[string]any{"detail": m.value, "next": m.value, "location": "body." + m.value, "code": m.value}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": 422, "title": m.value, "type": m.value,
			"code": m.value, "detail": m.value, "next": m.value, "errors": []any{what, what}})
		return
	}
	for status, r := range a.Responses {
		for kind, c := range r.Content {
			if status >= "300" || !strings.HasSuffix(kind, "json") {
				continue
			}
			w.Header().Set("Content-Type", kind)
			_ = json.NewEncoder(w).Encode(m.made(c.Schema))
			return
		}
	}
	_, _ = w.Write([]byte(m.value))
}

func (m *madeUp) made(s *schema) any {
	m.yes = true
	return m.of("", s, 0)
}

// meaning is a word that stands in an answer.
func meaning(name string) string {
	return map[string]string{"state": "Running", "status": "failed", "kind": "upgrade", "role": "operator",
		"arch": "amd64", "result": "403", "continues": "upgrade", "verb": "deploy"}[name]
}

// of is a value of a schema.
func (m *madeUp) of(name string, s *schema, depth int) any {
	if s == nil || depth > 40 { // one that has itself
		return nil
	}
	if s.Ref != "" {
		return m.of(name, m.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]], depth+1)
	}
	switch {
	case s.Type == nil: // what the document does not describe: the facts of nodes that a check has seen
		return []any{}
	case s.is("string") && s.Format == "date-time":
		return time.Now().Add(-time.Hour)
	case s.is("string"):
		if word := meaning(name); m.plain && word != "" {
			return word
		}
		return m.value
	case s.is("boolean"):
		return m.yes != (m.plain && slices.Contains([]string{"view_only", "provider", "reset", "setup", "joins"}, name))
	case s.is("integer"), s.is("number"):
		return 7
	case s.is("array"):
		if m.plain && name == "roles" {
			return []any{"controlplane", "worker"}
		}
		first := m.of(name, s.Items, depth+1)
		was := m.yes
		m.yes = m.plain && !was // the second has what the first has not
		second := m.of(name, s.Items, depth+1)
		m.yes = was
		return []any{first, second}
	}
	out := map[string]any{}
	for key, p := range s.Properties {
		out[key] = m.of(key, p, depth+1)
	}
	if _, list := out["items"]; list { // there is no other page
		delete(out, "next")
	}
	if kind := (&schema{}); len(s.Additional) > 0 && json.Unmarshal(s.Additional, kind) == nil {
		out[m.value] = m.of(name, kind, depth+1)
	}
	if s.Properties["arch"] != nil { // a bundle that could not be read is not offered
		delete(out, "fault")
	}
	return out
}
