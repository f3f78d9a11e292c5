package route

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// control knows the role of everybody on the cluster one, and what was written down.
type control struct {
	role    access.Role
	full    bool // nothing can be written down any more
	checks  int
	entries []access.Entry
}

func (c *control) Identify(next http.Handler) http.Handler { return next }

func (c *control) RoleOf(_ context.Context, _ access.Caller, cluster string) (access.Role, error) {
	if c.checks++; cluster != "one" {
		return access.None, nil
	}
	return c.role, nil
}

func (c *control) Recheck(context.Context) error { return nil }

func (c *control) Record(_ context.Context, e access.Entry) error {
	if c.full {
		return event.NewFault(event.ClassFailed, "database.full", nil)
	}
	e.At = e.At.UTC().Truncate(1<<63 - 1)
	c.entries = append(c.entries, e)
	return nil
}

type input struct {
	Cluster string    `path:"cluster" maxLength:"4"`
	After   string    `query:"after" maxLength:"3"`
	Limit   int       `query:"limit" minimum:"1" maximum:"5" default:"2"`
	Since   time.Time `query:"since"`
	Body    struct {
		Name   string            `json:"name" maxLength:"5"`
		Labels map[string]string `json:"labels,omitempty" additionalProperties:"false"`
		Counts map[string]int    `json:"counts,omitempty"`
		Kind   string            `json:"kind,omitempty" enum:"a,b"`
		Nodes  []struct {
			Port int `json:"port" maximum:"9"`
		} `json:"nodes,omitempty" maxItems:"2"`
	}
}

type output struct{ Body struct{ Said string } }

// world is an API with one route.
type world struct {
	*control
	route *Route[input, output]
	mux   *http.ServeMux
	calls int
	busy  error
}

func newWorld() *world {
	w := &world{control: &control{role: access.Operator}, mux: http.NewServeMux()}
	c := huma.DefaultConfig("", "")
	c.CreateHooks, c.Transformers = nil, []huma.Transformer{Misshapen(w.control), nil, problem.Transform}
	c.Transformers[1] = problem.Located(c.Components.Schemas)
	w.route = Add(humago.New(w.mux, c), w.control, Route[input, output]{
		Operation: huma.Operation{OperationID: "act", Method: http.MethodPost, Path: "/clusters/{cluster}/act"},
		Allow:     May(w.control, access.Operate),
		Method: func(_ context.Context, who access.Grant, in *input) (*output, error) {
			if w.calls++; in.Body.Name == "bad" {
				return nil, event.NewFault(event.ClassLocked, "manager.revision", nil, "cluster", in.Cluster)
			}
			out := &output{}
			out.Body.Said = who.Name() + " of " + in.Cluster
			return out, nil
		},
		About: func(in *input) (string, string) { return "another", in.Body.Name },
		Enter: func(access.Grant, *input) (func(), error) { return func() {}, w.busy },
	})
	return w
}

func caller(ctx context.Context, name, lang string) context.Context {
	if ctx = problem.Speaking(ctx, lang); name == "" {
		return ctx
	}
	return access.With(ctx, access.Caller{ID: name, Name: name})
}

// sent sends a request to the API.
func (w *world) sent(t *testing.T, who, lang string, in *input) (out output, p *problem.Problem) {
	t.Helper()
	body, err := json.Marshal(in.Body)
	if err != nil {
		t.Fatal(err)
	}
	path := "/clusters/" + url.PathEscape(in.Cluster) + "/act?after=" + url.QueryEscape(in.After)
	if in.Limit != 0 {
		path += "&limit=" + strconv.Itoa(in.Limit) + "&since=" + in.Since.Format(time.RFC3339)
	}
	r := httptest.NewRequestWithContext(caller(problem.Reading(t.Context(), body), who, lang), http.MethodPost, path,
		strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept-Language", lang)
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	var into any = &out.Body
	if rec.Code >= http.StatusMultipleChoices {
		p = &problem.Problem{}
		into = p
	}
	if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
	return out, p
}

// A call in this process is checked, limited, written down and refused as the same request to the API is, in the
// language of its caller.
func TestCall_IsLikeARequest(t *testing.T) {
	with := func(change func(*input)) *input {
		in := &input{Cluster: "one"}
		in.Body.Name = "x"
		change(in)
		return in
	}
	fine := func(*input) {}
	for name, c := range map[string]struct {
		who    string
		in     *input
		set    func(*world)
		code   string
		called int
	}{
		"allowed": {who: "ann", in: with(func(in *input) {
			in.Limit, in.Since = 3, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
		}), called: 1},
		"nobody":      {in: with(fine), code: "access.unauthenticated"},
		"a viewer":    {who: "ann", in: with(fine), set: viewer, code: "access.denied"},
		"hidden":      {who: "ann", in: with(func(in *input) { in.Cluster = "two" }), code: "manager.unknown"},
		"busy":        {who: "ann", in: with(fine), set: busy, code: "api.busy"},
		"not written": {who: "ann", in: with(fine), set: func(w *world) { w.full = true }, code: "database.full"},
		"failing": {who: "ann", in: with(func(in *input) { in.Body.Name = "bad" }), code: "manager.revision",
			called: 1},
		"a long name":    {who: "ann", in: with(func(in *input) { in.Body.Name = "far too long" }), code: "api.request"},
		"a long part":    {who: "ann", in: with(func(in *input) { in.After = "far too long" }), code: "api.request"},
		"another kind":   {who: "ann", in: with(func(in *input) { in.Body.Kind = "c" }), code: "api.request"},
		"large, of many": {who: "ann", in: with(ports(1, 10, 11)), code: "api.request"},
		"misshapen and refused": {who: "ann", in: with(func(in *input) { in.Body.Kind = "c" }), code: "access.denied",
			set: viewer},
	} {
		for _, lang := range []string{"en", "zh"} {
			a, b := newWorld(), newWorld()
			if c.set != nil {
				c.set(a)
				c.set(b)
			}
			want, refused := a.sent(t, c.who, lang, c.in)
			got, err := b.route.Call(caller(t.Context(), c.who, lang), c.in)
			if refused == nil {
				if err != nil || got.Body != want.Body || c.code != "" {
					t.Errorf("%s: %v %v, want %v", name, got, err, want)
				}
			} else if p, is := err.(*problem.Problem); !is || refused.Code != c.code || !same(p, refused) {
				t.Errorf("%s in %s: %+v\nwant %+v", name, lang, err, refused)
			}
			if name == "misshapen and refused" { // its target is not decoded by the API
				a.entries, b.entries = nil, nil
			}
			if !reflect.DeepEqual(a.entries, b.entries) || a.calls != b.calls || b.calls != c.called {
				t.Errorf("%s: written %v and %v, called %d and %d", name, a.entries, b.entries, a.calls, b.calls)
			}
			if most := min(1, len(c.who)); a.checks > most || b.checks > most {
				t.Errorf("%s: access is checked %d and %d times", name, a.checks, b.checks)
			}
		}
	}
}

func viewer(w *world) { w.role = access.Viewer }

func busy(w *world) {
	w.busy = event.NewFault(event.ClassLocked, "api.busy", nil, "own", "1", "shared", "1", "all", "1", "seconds", "5")
}

func ports(list ...int) func(*input) {
	return func(in *input) {
		for _, n := range list {
			in.Body.Nodes = append(in.Body.Nodes, struct {
				Port int `json:"port" maximum:"9"`
			}{n})
		}
		in.Body.Counts = map[string]int{"a.dotted[key": 1}
	}
}

// same reports whether two problems are the same to who reads them.
func same(a, b *problem.Problem) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// Large inputs wait for their turn; one whose caller is gone meanwhile is not looked at.
func TestCall_WaitsForItsTurn(t *testing.T) {
	w, in := newWorld(), &input{Cluster: "one"}
	in.Body.Name = "x"
	var sizes []int
	ended := false
	ctx := WithTurns(caller(t.Context(), "ann", "en"), func(_ context.Context, size int) (func(), error) {
		sizes = append(sizes, size)
		return func() { ended = true }, nil
	})
	if _, err := w.route.Call(ctx, in); err != nil || len(sizes) != 1 || sizes[0] < 5 || !ended {
		t.Error(err, sizes, ended)
	}
	ctx = WithTurns(caller(t.Context(), "ann", "en"), func(context.Context, int) (func(), error) {
		return nil, context.Canceled
	})
	if _, err := w.route.Call(ctx, in); err == nil || w.calls != 1 {
		t.Error(err, w.calls)
	}
}

// A caller who loses the role while an input waits for its turn is refused, as by REST.
func TestCall_ChecksAccessAfterItsTurn(t *testing.T) {
	w, in := newWorld(), &input{Cluster: "one"}
	in.Body.Name = "x"
	ctx := WithTurns(caller(t.Context(), "ann", "en"), func(context.Context, int) (func(), error) {
		viewer(w)
		return func() {}, nil
	})
	_, err := w.route.Call(ctx, in)
	if p, is := err.(*problem.Problem); !is || p.Code != "access.denied" || w.calls != 0 {
		t.Error(err, w.calls)
	}
}

// A route that has no check refuses everybody, by REST and in this process.
func TestAdd_RefusesAllWithoutACheck(t *testing.T) {
	w := newWorld()
	r := *w.route
	r.Allow, r.Operation.Path, r.OperationID = nil, "/clusters/{cluster}/open", "open"
	mux := http.NewServeMux()
	unchecked := Add(humago.New(mux, huma.DefaultConfig("", "")), w.control, r)
	in := &input{Cluster: "one"}
	_, err := unchecked.Call(caller(t.Context(), "ann", "en"), in)
	if p, is := err.(*problem.Problem); !is || p.Code != "access.unauthenticated" {
		t.Error(err)
	}
	q := httptest.NewRequestWithContext(caller(t.Context(), "ann", "en"), http.MethodPost, "/clusters/one/open",
		strings.NewReader(`{"name":"x"}`))
	q.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	if mux.ServeHTTP(rec, q); rec.Code != http.StatusUnauthorized || w.calls != 0 {
		t.Error(rec.Code, w.calls)
	}
}
