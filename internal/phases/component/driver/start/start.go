// Package start starts a component of Kubernetes on a node, or restarts it on one node at a time, whichever way it
// runs.
//
// It may import component/driver, component/rolling, and of node inventory, wait and node itself.
package start

import (
	"context"
	"net"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Start starts components.
type Start struct {
	*inventory.Nodes
	*rolling.Rolling
}

// Part is a component on a node, as it is to run.
type Part interface {
	// Current says whether it runs as it is to.
	Current(context.Context) (bool, error)
	// Runs says whether it runs in whichever way, or is being restarted: both times another node must wait.
	Runs(context.Context) (bool, error)
	// Check refuses to start it where somebody else could change what it would run.
	Check(context.Context) error
	// Prepare does what precedes a (re)start and leaves what runs alone.
	Prepare(context.Context) error
	// Restart (re)starts it, with what was prepared.
	Restart(context.Context) error
	// StoppedIn says for how much of a restart that took so long the old one still ran.
	StoppedIn(ctx context.Context, took time.Duration) (time.Duration, error)
}

// Health is the address at which a component that runs on a node is asked for its health; "" of one that is asked in
// another way.
func Health(c driver.Component, n config.Node) string {
	switch c {
	case driver.ControllerManager:
		return "https://127.0.0.1:10257/healthz"
	case driver.Scheduler:
		return "https://127.0.0.1:10259/healthz"
	case driver.Kubelet:
		return "http://127.0.0.1:10248/healthz"
	case driver.Proxy:
		return "http://" + net.JoinHostPort(n.IP.String(), "10256") + "/healthz"
	}
	return ""
}

// Proof is what shows that a component works, and what is told of a restart.
type Proof struct {
	Probe driver.Ready // nil: that it was started is enough
	// Aside does what a restart of one that runs needs before and after; nil does nothing.
	Aside func(ctx context.Context, n config.Node, restart func(context.Context) error) error
	// Reports has it told how long a restart took it away. The time for which one that stops still does its work does
	// not count: Serves, whatever happens, and up to Votes of what stopping really took.
	Reports       bool
	Serves, Votes time.Duration
}

// Work starts a part. One that runs already is restarted only when it is to run in another way, and then on one node at
// a time; those that do not run yet start side by side.
func (r *Start) Work(c driver.Component, n config.Node, p Proof, part func(*node.Node) (Part, error)) driver.Work {
	s := driver.Work{Retry: engine.Retry{Tries: 2, Delay: 2 * time.Second}, Timeout: rolling.Timeout}
	name := string(c)
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		is, err := part(nd)
		if err != nil || r.LastRestartFailed(name, n.Name) {
			return false, err
		}
		return is.Current(ctx)
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		is, err := part(nd)
		if err != nil {
			return err
		}
		if err := is.Check(ctx); err != nil {
			return err
		}
		runs, err := is.Runs(ctx)
		if err != nil {
			return err
		}
		again := false // an earlier try restarted it, and what follows did not end well
		if r.LastRestartFailed(name, n.Name) {
			if again, err = is.Current(ctx); err != nil {
				return err
			}
		}
		restart := func(ctx context.Context) (err error) {
			began := time.Now()
			if !again {
				err = is.Restart(ctx)
			}
			if err == nil && p.Probe != nil {
				err = p.Probe(ctx, nd)
			}
			if err != nil || !runs || again || !p.Reports || r.Dry {
				return err
			}
			return r.reportAway(ctx, nd, c, p, is, time.Since(began))
		}
		if !runs {
			if err := is.Prepare(ctx); err != nil {
				return err
			}
			return restart(ctx)
		}
		return r.Restart(ctx, name, n.Name, func(ctx context.Context) error {
			if err := is.Prepare(ctx); err != nil {
				return err
			}
			if p.Aside == nil {
				return restart(ctx)
			}
			return p.Aside(ctx, n, restart)
		})
	})
	return s
}

// reportAway reports how long a restart that took so long in all took a component away.
func (r *Start) reportAway(ctx context.Context, nd *node.Node, c driver.Component, p Proof, is Part,
	took time.Duration) error {
	text := event.M("notice.away", "component", string(c), "node", nd.Name(), "seconds", wait.Seconds(took-p.Serves))
	if p.Votes > 0 {
		if stopping, err := is.StoppedIn(ctx, took); err == nil {
			// else all of it is reported: the restart is done
			stopping = min(stopping, p.Votes)
			text = event.M("notice.away-voting", "component", string(c), "node", nd.Name(), "seconds",
				wait.Seconds(took-stopping), "stopping", wait.Seconds(stopping))
		}
	}
	return r.Emit(event.Notice{Host: nd.Name(), Step: engine.StepID(ctx), Text: text})
}
