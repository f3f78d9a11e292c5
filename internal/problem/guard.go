package problem

import "github.com/danielgtaylor/huma/v2"

type humaContext = huma.Context

// denied is a request that its sender may not send. If its shape is wrong, too, he is told the former.
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

// Guard is a middleware of huma for a route whose rights follow from its path: who may not send a request does not
// learn which shape it is to have. Of a request whose shape is right, the route says so itself.
func Guard(check func(huma.Context) error) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if err := check(ctx); err != nil {
			ctx = &denied{humaContext: ctx, err: err}
		}
		next(ctx)
	}
}
