package phases

import (
	"context"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// rollTimeout bounds a step that may have to wait until the same component of every other node was restarted.
const rollTimeout = 40 * time.Minute

// turn is held by the one node of the cluster whose running component is being restarted.
type turn struct {
	place  chan struct{} // one place
	broken string        // the node whose restart did not end well; written by who holds the place
}

func (r *run) turnOf(what string) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns = map[string]*turn{}
	}
	if r.turns[what] == nil {
		r.turns[what] = &turn{place: make(chan struct{}, 1)}
	}
	return r.turns[what]
}

// inTurn calls f when no other node is at it. f restarts the component and proves that it is well again: where that failed on one node, no
// other is touched any more (rolling.stopped), for what ended it there would end it everywhere. The node itself may try again.
func (r *run) inTurn(ctx context.Context, what, host string, f func(context.Context) error) error {
	t := r.turnOf(what)
	select {
	case t.place <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.place }()
	if t.broken != "" && t.broken != host {
		return event.NewFault(event.ClassFailed, "rolling.stopped", nil, "what", what, "other", t.broken).On(host)
	}
	err := f(ctx)
	t.broken = ""
	if err != nil {
		t.broken = host
	}
	return err
}

// service is the step that starts a unit of ours with its files. probe, when given, proves that it works. One that runs already is
// restarted only when its files changed, and then in its turn; those that do not run yet start side by side.
func (r *run) service(phase, what string, n config.Node, needs []string, make func(config.Node) (node.Service, error), probe func(context.Context, *node.Node) error) *engine.Step {
	s := step(phase, what, n.Name, needs)
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Timeout = rollTimeout
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		svc, err := make(n)
		if err != nil {
			return false, err
		}
		return nd.Running(ctx, svc)
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		svc, err := make(n)
		if err != nil {
			return err
		}
		start := func(ctx context.Context) error {
			if err := nd.Start(ctx, svc); err != nil || probe == nil {
				return err
			}
			return probe(ctx, nd)
		}
		runs, err := active(ctx, nd, svc.Unit)
		if err != nil {
			return err
		}
		if !runs {
			return start(ctx)
		}
		return r.inTurn(ctx, what, n.Name, start)
	})
	return s
}

// active says whether a unit runs now.
func active(ctx context.Context, nd *node.Node, unit string) (bool, error) {
	out, err := nd.Query(ctx, "systemctl is-active "+node.Quote(unit)+" || true")
	return strings.TrimSpace(out) == "active", err
}

// until tries f until it succeeds, the limit is over or ctx is done; the last error counts.
func until(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if rehearsed(ctx) {
			return errRehearsed
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
