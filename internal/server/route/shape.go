package route

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// LongestName is how much of the name of a cluster the audit log has of a request without its shape.
const LongestName = 64

// Misshapen returns a transformer of huma, which answers requests by itself that do not have the shape of their route:
// those that would change something are written down, too. Such a request is refused also if that fails.
func Misshapen(by access.Control) huma.Transformer {
	return func(ctx huma.Context, _ string, v any) (any, error) {
		if _, is := v.(*huma.ErrorModel); is {
			misshapen(ctx.Context(), by, ctx.Operation(), ctx.Param)
		}
		return v, nil
	}
}

func misshapen(ctx context.Context, by access.Control, op *huma.Operation, path Path) {
	who, known := access.From(ctx)
	if !known || op == nil || op.Method == http.MethodGet {
		return
	}
	name := []rune(event.Clean(path(clusterPart)))
	_ = by.Record(ctx, entry(who, op.OperationID, string(name[:min(len(name), LongestName)])))
}

// shaped refuses an input, with its body as JSON, that does not have the shape of the route: the document has its
// limits, for all who call it.
func (r *Route[I, O]) shaped(ctx context.Context, in *I, text []byte) error {
	doc := r.api.OpenAPI()
	op := problem.Operations(doc.Paths[r.Operation.Path])[r.Operation.Method]
	found, all := &huma.ValidateResult{}, doc.Components.Schemas
	for _, p := range op.Parameters {
		value := parameter(reflect.ValueOf(in).Elem(), p.In, p.Name)
		if _, is := value.(time.Time); is || value == nil { // a time has its shape
			continue
		}
		at := huma.NewPathBuffer([]byte{}, 0)
		at.Push(p.In)
		at.Push(p.Name)
		huma.Validate(all, p.Schema, at, huma.ModeWriteToServer, value, found)
	}
	errs := problem.Details(found)
	if text != nil && op.RequestBody != nil {
		var body any
		if err := json.Unmarshal(text, &body); err != nil {
			return err
		}
		errs = append(errs, problem.Wrong(all, op.RequestBody.Content["application/json"].Schema, body)...)
	}
	if len(errs) == 0 {
		return nil
	}
	misshapen(ctx, r.by, op, pathOf(in))
	m := &huma.ErrorModel{Status: http.StatusUnprocessableEntity, Detail: "validation failed", Errors: errs}
	return problem.Shape(problem.From(ctx), m, nil)
}

type turnKey struct{}

// WithTurns gives a context the turns that large bodies are decoded in.
func WithTurns(ctx context.Context, wait func(context.Context, int) (done func(), err error)) context.Context {
	return context.WithValue(ctx, turnKey{}, wait)
}

// turn returns the body of an input as JSON, nil if it has none, once it may be decoded until done is called. Few large
// ones are decoded at the same time: a decoded body takes many times its size.
func turn(ctx context.Context, in any) (text []byte, done func(), err error) {
	done = func() {}
	body := reflect.ValueOf(in).Elem().FieldByName("Body")
	if !body.IsValid() {
		return nil, done, nil
	}
	if text, err = json.Marshal(body.Interface()); err != nil {
		return nil, nil, err
	}
	if wait, is := ctx.Value(turnKey{}).(func(context.Context, int) (func(), error)); is {
		over, err := wait(ctx, len(text))
		if err != nil {
			return nil, nil, err
		}
		done = sync.OnceFunc(over)
	}
	return text, done, nil
}

// pathOf returns the parts of a path that an input has.
func pathOf(in any) Path {
	return func(name string) string {
		text, _ := parameter(reflect.ValueOf(in).Elem(), "path", name).(string)
		return text
	}
}

// parameter returns the value of a parameter in an input; nil: it is not said.
func parameter(in reflect.Value, where, name string) any {
	for i := range in.NumField() {
		f := in.Type().Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			if value := parameter(in.Field(i), where, name); value != nil {
				return value
			}
		case f.Tag.Get(where) == name && f.IsExported() && !in.Field(i).IsZero():
			return in.Field(i).Interface()
		}
	}
	return nil
}
