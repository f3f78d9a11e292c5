// Package problem has what all routes of a server answer alike: what is wrong, as RFC 9457 problems with the codes and
// sentences of this program, in the language of the caller; and lists, in parts. It imports event and i18n.
package problem

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Problem is the body of a response that is no success.
type Problem struct {
	Type   string `json:"type" doc:"urn:eggo: and the code."`
	Title  string `json:"title" doc:"The HTTP status in words."`
	Status int    `json:"status" doc:"The HTTP status."`
	Detail string `json:"detail" doc:"What is wrong, in the language of the request."`
	Code   string `json:"code" doc:"The code of the fault. It never changes its meaning."`
	Node   string `json:"node,omitempty" doc:"The node that it is about."`
	Step   string `json:"step,omitempty" doc:"The step that failed."`
	Next   string `json:"next,omitempty" doc:"What to do next."`
	after  string // seconds until it may be sent again
	// Errors are all that is wrong with the request.
	Errors []Item `json:"errors,omitempty" doc:"All that is wrong with the request."`
}

// Item is one of several things that are wrong.
type Item struct {
	Location string `json:"location,omitempty" doc:"The part of the request, such as body.nodes[2].address."`
	Code     string `json:"code,omitempty"`
	Detail   string `json:"detail"`
	Next     string `json:"next,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.after != "" {
		h.Set("Retry-After", p.after)
	}
	return h
}

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// At is a fault in a part of a request.
type At struct {
	Location string
	Fault    *event.Fault
}

// All lists every problem of a request.
type All []At

// Error implements error.
func (l All) Error() string {
	var out []string
	for _, at := range l {
		out = append(out, at.Location+": "+at.Fault.Error())
	}
	return strings.Join(out, "; ")
}

// Err is the list as an error, nil if it is empty.
func (l All) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Of is an error as a problem.
func Of(p *i18n.Printer, err error) *Problem {
	var own *Problem
	if errors.As(err, &own) {
		return own
	}
	var list All
	if errors.As(err, &list) && len(list) > 0 {
		n := strconv.Itoa(len(list))
		out := of(p, event.NewFault(event.ClassUsage, "api.invalid", nil, "n", n))
		for _, at := range list {
			text, next := Said(p, at.Fault)
			out.Errors = append(out.Errors, Item{at.Location, at.Fault.Code, text, next})
		}
		return out
	}
	return of(p, event.AsFault(err))
}

// Said is a fault in the words of the API, where it has its own: of fields of requests and routes, in place of flags,
// commands, and files that are gone.
func Said(p *i18n.Printer, f *event.Fault) (text, next string) {
	text, next = p.FaultIn("api", f)
	if f.Node != "" && !strings.Contains(text, f.Node) {
		text = f.Node + ": " + text
	}
	return text, next
}

func of(p *i18n.Printer, f *event.Fault) *Problem {
	text, next := Said(p, f)
	status, after := Status(f), ""
	if status == http.StatusTooManyRequests {
		after = f.Args["seconds"]
	}
	return &Problem{after: after,
		Type: "urn:eggo:" + f.Code, Title: http.StatusText(status), Status: status, Detail: text, Code: f.Code,
		Node: f.Node, Step: f.Step, Next: next,
	}
}

// Status is the HTTP status of a fault.
func Status(f *event.Fault) int {
	if s := statuses()[f.Code]; s != 0 {
		return s
	}
	switch f.Class {
	case event.ClassUsage, event.ClassPreflight, event.ClassBundle:
		return http.StatusUnprocessableEntity
	case event.ClassAuth:
		return http.StatusForbidden
	case event.ClassLocked:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// statuses are those that do not follow from the class.
func statuses() map[string]int {
	return map[string]int{
		"access.unauthenticated": http.StatusUnauthorized,
		"api.bodies":             http.StatusTooManyRequests,
		"api.body":               http.StatusBadRequest,
		"api.busy":               http.StatusTooManyRequests,
		"api.values":             http.StatusRequestEntityTooLarge,
		"api.websocket":          http.StatusBadRequest,
		"control.gone":           http.StatusConflict,
		"control.not-asked":      http.StatusConflict,
		"account.ended":          http.StatusUnauthorized,
		"account.locked":         http.StatusTooManyRequests,
		"account.login":          http.StatusUnauthorized,
		"account.refused":        http.StatusTooManyRequests,
		"account.stale":          http.StatusUnauthorized,
		"account.token":          http.StatusUnauthorized,
		"account.unknown":        http.StatusNotFound,
		"account.unknown-token":  http.StatusNotFound,
		"database.busy":          http.StatusServiceUnavailable,
		"database.full":          http.StatusInsufficientStorage,
		"listen.too-large":       http.StatusRequestEntityTooLarge,
		"sso.unreachable":        http.StatusBadGateway,
		"manager.unknown":        http.StatusNotFound,
		"usage.no-run":           http.StatusNotFound,
		"kubeconfig.none":        http.StatusNotFound,
		"state.moved":            http.StatusConflict,

		"manager.nothing-to-import": http.StatusNotFound,
		"manager.revision":          http.StatusPreconditionFailed,
		"manager.not-ready":         http.StatusServiceUnavailable,
		"manager.unreachable":       http.StatusServiceUnavailable,
		"manager.no-kubeconfig":     http.StatusServiceUnavailable,
		"api.method":                http.StatusMethodNotAllowed,
		"api.no-route":              http.StatusNotFound,
		"page.no-node":              http.StatusNotFound,
		"api.not-ready":             http.StatusServiceUnavailable,
		"api.no-backup":             http.StatusNotFound,
		"api.no-snapshot":           http.StatusNotFound,
	}
}

type printerKey struct{}

// Speaking gives a context with the language of a request, Accept-Language.
func Speaking(ctx context.Context, accept string) context.Context {
	return context.WithValue(ctx, printerKey{}, Printer(accept))
}

// From is the language of a context, English if nothing was said.
func From(ctx context.Context) *i18n.Printer {
	if p, ok := ctx.Value(printerKey{}).(*i18n.Printer); ok {
		return p
	}
	return i18n.NewPrinter(i18n.English)
}

// Printer is the best of our languages for an Accept-Language.
func Printer(accept string) *i18n.Printer {
	best, most := i18n.English, 0.0
	for _, part := range strings.Split(accept, ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		weight := 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			if w, err := strconv.ParseFloat(v, 64); err == nil {
				weight = w
			}
		}
		lang, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if l := i18n.Lang(lang); (l == i18n.English || l == i18n.Chinese) && weight > most {
			best, most = l, weight
		}
	}
	return i18n.NewPrinter(best)
}

// Handler has the errors of a route said as problems, in the language of its request. A request that a Guard has denied
// does not reach the route: refused is called for it, such as to write it down, and gives what its sender learns.
func Handler[I, O any](
	do func(context.Context, *I) (*O, error), refused ...func(context.Context, *I, error) error,
) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		decoded(ctx)
		err := deniedBy(ctx)
		if err == nil {
			var out *O
			if out, err = do(ctx, in); err == nil {
				return out, nil
			}
		} else {
			for _, f := range refused {
				err = f(ctx, in, err)
			}
		}
		return nil, Of(From(ctx), err)
	}
}

// Transform is a transformer of huma: what huma itself finds wrong with a request becomes a problem, too.
func Transform(ctx huma.Context, _ string, v any) (any, error) {
	m, is := v.(*huma.ErrorModel)
	if !is {
		return v, nil
	}
	p := Printer(ctx.Header("Accept-Language"))
	if d, is := ctx.(*denied); is {
		d.said = true
		return Of(p, d.err), nil
	}
	return Shape(p, m, bodyOf(ctx.Context())), nil
}

// Shape returns what huma finds wrong with the shape of a request, which had a body, as a problem.
func Shape(p *i18n.Printer, m *huma.ErrorModel, body []byte) *Problem {
	code := "api.request"
	if m.Status >= http.StatusInternalServerError {
		code = "internal"
	}
	why := p.Msg(shape(m.Detail))
	if n := len(m.Errors); n > 0 {
		why = p.T("api.shape.problems", "n", strconv.Itoa(n))
	}
	out := of(p, event.NewFault(event.ClassUsage, code, nil, "why", why))
	out.Status, out.Title = m.Status, http.StatusText(m.Status)
	said, next, torn := malformed(body)
	for _, e := range m.Errors[:min(len(m.Errors), mostErrors)] {
		switch {
		case e == nil:
		case torn && e.Location == "body":
			out.Next = p.Msg(next)
			out.Errors = append(out.Errors, Item{e.Location, code, p.Msg(said), out.Next})
		default:
			out.Errors = append(out.Errors, Item{Location: e.Location, Code: code, Detail: p.Msg(shape(e.Message))})
		}
	}
	return out
}

// Write is a problem where no huma is: in what wraps the API.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := Of(Printer(r.Header.Get("Accept-Language")), err)
	w.Header().Set("Content-Type", p.ContentType(""))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	maps.Copy(w.Header(), p.GetHeaders())
	w.WriteHeader(p.Status)
	_ = huma.DefaultJSONFormat.Marshal(w, p)
}
