package route

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Route is a method of a service, and what has to hold before it is called.
type Route[I, O any] struct {
	huma.Operation
	// Allow checks who sends a request, with what the path of the request names. It is the only check of access that a
	// method has to have: it is called once, after the body was read and before anything is decoded.
	Allow func(ctx context.Context, path Path) (access.Grant, error)
	// Method handles the request.
	Method func(context.Context, access.Grant, *I) (*O, error)
	// Audit selects the requests that are written down before Method is called.
	Audit Audit
	// About returns what the audit log has of a request besides its path; nil: nothing.
	About func(*I) (cluster, target string)
	// Self makes the caller the target of the entry in the audit log.
	Self bool
	// Enter lets a request in until leave is called, or refuses one of too many, of which nothing is written down; nil:
	// all are let in.
	Enter func(access.Grant, *I) (leave func(), err error)

	api huma.API
	by  access.Control
}

// Path returns a part of the path of a request by its name; "": the path has no such part.
type Path func(name string) string

// clusterPart is the part of a path that names a cluster.
const clusterPart = "cluster"

// Audit selects the requests of a known caller that are written down.
type Audit int

// What is written down.
const (
	Changes  Audit = iota // all requests but GET, also those that are refused
	All                   // also GET: who reads a secret
	Refusals              // those that are refused: the method writes down what it does
	None
)

// May returns a check of a route whose caller needs a role on the cluster that its path names, or on all of them.
func May(by access.Control, a access.Action) func(context.Context, Path) (access.Grant, error) {
	return func(ctx context.Context, path Path) (access.Grant, error) {
		return access.Allow(ctx, by, a, path(clusterPart))
	}
}

// allowed has the result of the check of a request.
type allowed struct {
	grant access.Grant
	err   error
}

type allowedKey struct{}

// Add adds a route to an API. A request that is refused is answered with that, whatever else is wrong with it. A route
// without a check refuses all.
func Add[I, O any](api huma.API, by access.Control, r Route[I, O]) *Route[I, O] {
	if r.api, r.by = api, by; r.Allow == nil {
		r.Allow = func(context.Context, Path) (g access.Grant, err error) { return g, unchecked() }
	}
	o := r.Operation
	o.Middlewares = append(o.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		g, err := r.Allow(ctx.Context(), ctx.Param)
		next(huma.WithValue(ctx, allowedKey{}, allowed{g, err}))
	}, problem.Guard(func(ctx huma.Context) error { return checked(ctx.Context()).err }))
	huma.Register(api, o, problem.Handler(func(ctx context.Context, in *I) (*O, error) {
		return r.run(ctx, checked(ctx).grant, in)
	}, r.record))
	return &r
}

func checked(ctx context.Context) allowed {
	a, is := ctx.Value(allowedKey{}).(allowed)
	if !is {
		a.err = unchecked()
	}
	return a
}

// unchecked returns the fault of a request that nothing has checked.
func unchecked() error { return event.NewFault(event.ClassAuth, "access.unauthenticated", nil) }

// Call calls the method for a caller in this process, as a request of the API would: with the same check, the same
// entry in the audit log, and the same limits of the input. What is wrong is a problem, in the language of the context.
func (r *Route[I, O]) Call(ctx context.Context, in *I) (*O, error) {
	if in == nil { // nothing has to be said
		in = new(I)
	}
	body, done, err := turn(ctx, in)
	if err != nil {
		return nil, err
	}
	defer done()
	g, err := r.Allow(ctx, pathOf(in)) // after the turn: the wait may be long, and a right may end meanwhile
	if err != nil {
		return nil, problem.Of(problem.From(ctx), r.record(ctx, in, err))
	}
	if err := r.shaped(ctx, in, body); err != nil {
		return nil, err
	}
	done()
	out, err := r.run(ctx, g, in)
	if err != nil {
		return nil, problem.Of(problem.From(ctx), err)
	}
	return out, nil
}

// run calls the method after the request is in the audit log.
func (r *Route[I, O]) run(ctx context.Context, g access.Grant, in *I) (*O, error) {
	if r.Enter != nil {
		leave, err := r.Enter(g, in)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	if err := r.record(ctx, in, nil); err != nil {
		return nil, err
	}
	return r.Method(ctx, g, in)
}

// record writes down a request that is refused with an error, or is let through (nil). It returns what its sender
// learns: that error, or that nothing can be written down.
func (r *Route[I, O]) record(ctx context.Context, in *I, refused error) error {
	known, is := access.From(ctx)
	if !is || !r.recorded(refused != nil) {
		return refused
	}
	e := entry(known, r.OperationID, pathOf(in)(clusterPart))
	if r.Self {
		e.Target = event.Clean(known.Name)
	}
	if r.About != nil {
		cluster, target := r.About(in)
		e.Cluster, e.Target = cmp.Or(e.Cluster, cluster), event.Clean(target)
	}
	if err := r.by.Record(ctx, e); refused == nil {
		return err
	}
	return refused
}

func (r *Route[I, O]) recorded(refused bool) bool {
	switch r.Audit {
	case All:
		return true
	case Refusals:
		return refused
	case None:
		return false
	}
	return r.Operation.Method != http.MethodGet
}

func entry(who access.Caller, action, cluster string) access.Entry {
	return access.Entry{At: time.Now(), Caller: who, Action: action, Cluster: cluster}
}
