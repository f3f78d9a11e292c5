package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

const (
	directIn   = 2 * time.Second  // for the direct way, where there is another one
	directFrom = 10 * time.Minute // until the direct way is tried first again
	loginIn    = 30 * time.Second
	loginAgain = time.Minute
	// A login that was refused is not repeated often: machines lock accounts.
	refusedAgain = 15 * time.Minute
	unusedFor    = 2 * time.Minute
)

// nodeTunnel opens connections from a node of a cluster.
type nodeTunnel interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
	io.Closer
}

// apiRoute leads to the API server of a cluster: directly, or through the SSH connections of its control planes, where
// a firewall or a bastion leaves no other way. It logs in beside the requests, which do not wait for it.
type apiRoute struct {
	login func(context.Context) (nodeTunnel, error)
	now   func() time.Time

	mu      sync.Mutex
	through nodeTunnel  // nil: there is none
	first   time.Time   // until then it is taken before the direct way, for it has led there
	unused  *time.Timer // closes it
	busy    bool        // logging in
	again   time.Time   // no login before then
	why     error       // the last login failed
}

// wayTo is the way to a cluster that is logged in to; nil for others, which are reached directly.
func (r *Runner) wayTo(rec manager.Record) *apiRoute {
	if r.o.Deps == nil || rec.Kubeconfig {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.ways[rec.Name]
	if w == nil {
		w = &apiRoute{now: time.Now, login: func(ctx context.Context) (nodeTunnel, error) {
			secrets := r.toldFor(rec.Name)
			t, err := operation.OpenThrough(ctx, rec.Name, r.o.Deps(secrets.values))
			if err != nil { // a login to one control plane does not say that the secrets of all nodes are right
				r.used(rec.Name, "", secrets, event.AsFault(err))
			}
			return t, err
		}}
		r.ways[rec.Name] = w
	}
	return w
}

// dial opens a connection to the API server.
func (w *apiRoute) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	t, first := w.current()
	if first {
		if c, err := w.over(ctx, t, network, addr); err == nil {
			return c, nil
		}
	}
	direct, cancel := ctx, context.CancelFunc(func() {})
	if t != nil {
		direct, cancel = context.WithTimeout(ctx, directIn)
	}
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(direct, network, addr)
	switch {
	case err == nil:
		w.drop(t)
		return c, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, err
	case t == nil:
		return nil, w.alone(err)
	case first:
		return nil, err
	}
	return w.over(ctx, t, network, addr)
}

// current is what is open, and whether it goes before the direct way.
func (w *apiRoute) current() (t nodeTunnel, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.through == nil {
		return nil, false
	}
	w.unused.Reset(unusedFor)
	return w.through, w.now().Before(w.first)
}

// over dials through t. What is no longer a way is closed.
func (w *apiRoute) over(ctx context.Context, t nodeTunnel, network, addr string) (net.Conn, error) {
	c, err := t.Dial(ctx, network, addr)
	switch {
	case err == nil:
		w.mu.Lock()
		if w.through == t && !w.now().Before(w.first) {
			w.first = w.now().Add(directFrom)
		}
		w.mu.Unlock()
		return tunneled{c}, nil
	case ctx.Err() == nil && event.AsFault(err).Code != "ssh.forward-failed":
		w.drop(t)
	}
	return nil, err
}

// tunneled is a connection that leads through a node of the cluster.
type tunneled struct{ net.Conn }

// alone has a login tried, and says why the last one failed, beside why there is no direct way.
func (w *apiRoute) alone(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why != nil {
		err = fmt.Errorf("%w; over SSH: %w", err, w.why)
	}
	if w.busy || w.now().Before(w.again) {
		return err
	}
	w.busy = true
	go w.open()
	return err
}

func (w *apiRoute) open() {
	ctx, cancel := context.WithTimeout(context.Background(), loginIn)
	defer cancel()
	t, err := w.login(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy, w.why = false, err
	switch {
	case err == nil:
		w.through, w.first = t, time.Time{}
		w.unused = time.AfterFunc(unusedFor, func() { w.drop(t) })
	case event.AsFault(err).Class == event.ClassAuth:
		w.again = w.now().Add(refusedAgain)
	default:
		w.again = w.now().Add(loginAgain)
	}
}

// close ends the connection, if there is one.
func (w *apiRoute) close() {
	t, _ := w.current()
	w.drop(t)
}

// drop closes t, if it is still open.
func (w *apiRoute) drop(t nodeTunnel) {
	w.mu.Lock()
	open := t != nil && w.through == t
	if open {
		w.unused.Stop()
		w.through = nil
	}
	w.mu.Unlock()
	if open {
		_ = t.Close()
	}
}

// retry allows a login at once: there is another password.
func (w *apiRoute) retry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = time.Time{}
}
