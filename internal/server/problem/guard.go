package problem

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
)

type humaContext = huma.Context

// denied is a request that its sender may not send. It is answered with that, whatever else is wrong with it.
type denied struct {
	humaContext
	err  error
	said bool
}

// SetStatus implements huma.Context.
func (d *denied) SetStatus(status int) {
	if d.said {
		status = Of(Printer(d.Header("Accept-Language")), d.err).Status
	}
	d.humaContext.SetStatus(status)
}

// Unwrap is for huma's adapter.
func (d *denied) Unwrap() huma.Context { return d.humaContext }

type deniedKey struct{}

// deniedBy is why a Guard has denied a request; nil: none has.
func deniedBy(ctx context.Context) error {
	err, _ := ctx.Value(deniedKey{}).(error)
	return err
}

// Guard is a middleware of huma for a route whose rights follow from its path. A request that check refuses is read, so
// that it can be written down with what it is about, and ends in Handler: the route is never called, and its sender
// does not learn which shape the request is to have.
func Guard(check func(huma.Context) error) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if err := check(ctx); err != nil {
			ctx = &denied{humaContext: huma.WithValue(ctx, deniedKey{}, err), err: err}
		}
		next(ctx)
	}
}
