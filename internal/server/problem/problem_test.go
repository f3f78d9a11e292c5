package problem

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The language is the one of ours that the caller wants most.
func TestLanguages(t *testing.T) {
	for accept, want := range map[string]i18n.Lang{
		"": i18n.English, "zh": i18n.Chinese, "zh-CN,zh;q=0.9,en;q=0.8": i18n.Chinese, "fr, en;q=0.5": i18n.English,
		"en;q=0.3, zh;q=0.7": i18n.Chinese, "de": i18n.English, "zh;q=x": i18n.Chinese, "zh;q=0": i18n.English,
	} {
		if got := Printer(accept).Lang(); got != want {
			t.Errorf("%q: %s", accept, got)
		}
	}
}

// A problem has the code, its status, and the sentences of its language.
func TestProblems(t *testing.T) {
	fault := func(class event.Class, code string) error { return &event.Fault{Class: class, Code: code} }
	for _, c := range []struct {
		err  error
		want int
	}{
		{fault(event.ClassAuth, "access.unauthenticated"), 401}, {fault(event.ClassAuth, "access.denied"), 403},
		{fault(event.ClassUsage, "manager.unknown"), 404}, {fault(event.ClassLocked, "journal.locked"), 409},
		{fault(event.ClassUsage, "config.no-masters"), 422}, {errors.New("disk"), 500},
		{All{{"body.name", &event.Fault{Class: event.ClassUsage, Code: "config.no-masters"}}}, 422},
	} {
		p := Of(i18n.NewPrinter(i18n.Chinese), c.err)
		if p.Status != c.want || p.Detail == "" || p.Title == "" || p.Type != "urn:eggo:"+p.Code || p.Error() == "" {
			t.Errorf("%v: %+v", c.err, p)
		}
		if again := Of(i18n.NewPrinter(i18n.English), p); again != p {
			t.Errorf("%v: %+v", c.err, again)
		}
	}
	l := All{{"body.name", &event.Fault{Code: "a"}}, {"body.nodes", &event.Fault{Code: "b"}}}
	if l.Err().Error() != "body.name: a; body.nodes: b" || All(nil).Err() != nil {
		t.Error(l)
	}
	if p := Of(i18n.NewPrinter(i18n.English), l); len(p.Errors) != 2 || p.Errors[1].Code != "b" {
		t.Errorf("%+v", p)
	}
}

// What huma finds, what a route finds and what wraps the API find wrong look the same.
func TestEverythingWrongIsAProblem(t *testing.T) {
	mux := http.NewServeMux()
	cfg := huma.DefaultConfig("test", "1")
	cfg.Transformers, cfg.CreateHooks = []huma.Transformer{Transform}, nil
	api := humago.New(mux, cfg)
	type in struct {
		Body struct {
			Name string `json:"name" minLength:"3"`
		}
	}
	huma.Post(api, "/x", Handler(func(context.Context, *in) (*struct{}, error) {
		return nil, &event.Fault{Class: event.ClassUsage, Code: "manager.unknown",
			Args: map[string]string{"cluster": "c"}}
	}))
	mux.HandleFunc("/y", func(w http.ResponseWriter, r *http.Request) { Write(w, r, errors.New("disk")) })
	for _, c := range []struct {
		path, body string
		status     int
		code       string
		errors     int
	}{
		{"/x", `{"name":"a"}`, 422, "api.request", 1}, {"/x", `{"name":"abc"}`, 404, "manager.unknown", 0},
		{"/x", `{`, 400, "api.request", 1}, {"/y", "", 500, "internal", 0},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r.WithContext(Speaking(r.Context(), "zh")))
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%s: %s", c.path, w.Body)
		}
		if w.Code != c.status || p.Status != c.status || p.Code != c.code || len(p.Errors) != c.errors ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %+v %v", c.path, c.body, w.Code, p, w.Header())
		}
	}
	if From(t.Context()).Lang() != i18n.English {
		t.Error("not English")
	}
}

// A request that a Guard has refused does not reach its route, whatever its shape: what is wrong with its shape is not
// said. It is written down once.
func TestAGuardEndsARequest(t *testing.T) {
	mux := http.NewServeMux()
	cfg := huma.DefaultConfig("test", "1")
	cfg.Transformers, cfg.CreateHooks = []huma.Transformer{Transform}, nil
	api := humago.New(mux, cfg)
	type in struct {
		Body struct {
			Name string `json:"name" minLength:"3"`
		}
	}
	var why error
	reached, written := 0, 0
	huma.Register(api, huma.Operation{OperationID: "x", Method: "POST", Path: "/x", Middlewares: huma.Middlewares{
		Guard(func(huma.Context) error { return why })}}, Handler(func(context.Context, *in) (*struct{}, error) {
		reached++
		return nil, nil
	}, func(_ context.Context, in *in, err error) error {
		if written++; in.Body.Name != "abc" {
			t.Error(in.Body.Name)
		}
		return err
	}))
	send := func(body string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/x", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r)
		return w
	}
	if w := send(`{"name":"abc"}`); w.Code != http.StatusNoContent || reached != 1 || written != 0 {
		t.Error(w.Code, w.Body, reached, written)
	}
	why = event.NewFault(event.ClassAuth, "account.ended", nil)
	for body, times := range map[string]int{`{"name":"abc"}`: 1, `{"name":1}`: 0, `{`: 0, ``: 0} {
		written = 0
		if w := send(body); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "account.ended") ||
			strings.Contains(w.Body.String(), "errors") || reached != 1 || written != times {
			t.Errorf("%s: %d %s, reached %d times, written %d times", body, w.Code, w.Body, reached, written)
		}
	}
}

// What huma says of the shape of a request is said in both languages; what nobody knows is not lost.
func TestShapes(t *testing.T) {
	en, zh := i18n.NewPrinter(i18n.English), i18n.NewPrinter(i18n.Chinese)
	for said, want := range map[string][2]string{
		"expected required property name to be present":   {"name is missing", "缺少 name"},
		"expected length <= 64":                           {"is longer than 64 characters", "不能超过 64 个字符"},
		"expected value to be one of \"clean, keep\"":     {"must be one of clean, keep", "必须是以下值之一：clean, keep"},
		"expected string":                                 {"must be a string", "必须是字符串"},
		"expected string to be RFC 3339 date-time":        {"must be a time such as", "必须是形如"},
		"invalid character 'x' looking for beginning of…": {"is not valid JSON", "不是有效的 JSON"},
		"something new":                                   {"something new", "请求格式有误（something new）"},
	} {
		for i, p := range []*i18n.Printer{en, zh} {
			if got := p.Msg(shape(said)); !strings.HasPrefix(got, want[i]) {
				t.Errorf("%q: %q, want %q", said, got, want[i])
			}
		}
	}
}

// Who has to wait is told for how long.
func TestRetryAfter(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, httptest.NewRequest(http.MethodPost, "/", nil), event.NewFault(event.ClassAuth, "account.locked", nil,
		"seconds", "10"))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "10" {
		t.Error(w.Code, w.Header())
	}
}
