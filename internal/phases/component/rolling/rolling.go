// Package rolling serializes restarts of a component across nodes and stops after the first one that is not healthy
// again.
package rolling

import (
	"context"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Timeout bounds a step that may have to wait until the same component of every other node was restarted.
const Timeout = 40 * time.Minute

// Rolling restarts components on one node at a time.
type Rolling struct {
	mu         sync.Mutex
	components map[string]*component // by component
}

// New is for a run in which nothing was restarted yet.
func New() *Rolling { return &Rolling{components: map[string]*component{}} }

// Restart calls f when no other node is at it. f restarts the component and verifies that it is healthy again: where
// that failed on one node, no other is touched any more (rolling.stopped), for what ended it there would end it
// everywhere. The node itself may try again.
func (r *Rolling) Restart(ctx context.Context, what, host string, f func(context.Context) error) error {
	t := r.componentOf(what)
	select {
	case t.place <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.place }()
	if other := t.whose(); other != "" && other != host {
		return event.NewFault(event.ClassFailed, "rolling.stopped", nil, "what", what, "other", other).On(host)
	}
	err := f(ctx)
	t.end(host, err)
	return err
}

// LastRestartFailed reports whether the component's last restart on the node failed.
func (r *Rolling) LastRestartFailed(what, host string) bool {
	return r.componentOf(what).lastFailed(host)
}

func (r *Rolling) componentOf(what string) *component {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.components[what] == nil {
		r.components[what] = &component{place: make(chan struct{}, 1)}
	}
	return r.components[what]
}

// component has a place for the one node of the cluster on which it is being restarted.
type component struct {
	place chan struct{} // one place

	mu     sync.Mutex
	broken string // the node whose restart did not end well; written by who holds the place
}

// lastFailed reports whether the component's last restart on the node failed.
func (t *component) lastFailed(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken == host
}

func (t *component) whose() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

func (t *component) end(host string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = ""
	if err != nil {
		t.broken = host
	}
}
