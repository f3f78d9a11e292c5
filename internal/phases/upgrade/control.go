package upgrade

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// partLimit bounds one component of a turn: a service of systemd has a minute and a half to start, its proof a minute,
// and the balancers hear of it before and after. The API server of a static pod gets a minute and a half to stop, and
// two minutes to start.
const partLimit = 10 * time.Minute

// Part is one component of a node and how it is started.
type Part struct {
	Component driver.Component
	driver.Work
}

// ControlPlanes brings control planes to other versions of their components, one node after another.
type ControlPlanes struct {
	Env *input.Env
	// To are the components of a node as they are to be, in the order of their start; Back are those that a node gets
	// that does not come up, in the same order; with nil it stays as it is.
	To, Back func(config.Node) []Part
	// Serves says whether a node's API server is ready and gets its share of the requests: no load balancer leaves it
	// out. Serve waits until it is ready, and has the load balancers send to it again. A component that runs proves
	// neither: a run that was killed may have left it so.
	Serves func(context.Context, config.Node) (bool, error)
	Serve  func(context.Context, config.Node) error
}

// Turn is the turn of one node in a phase, when the steps of needs are done.
func (c *ControlPlanes) Turn(phase string, n config.Node, needs []string) *engine.Step {
	s := plan.Step(phase, "turn", n.Name, needs)
	s.Timeout = 65 * time.Minute // all parts, there and back
	s.Check = func(ctx context.Context) (bool, error) {
		for _, p := range c.To(n) {
			if ok, err := p.done(ctx); !ok || err != nil {
				return false, err
			}
		}
		return c.Serves(ctx, n)
	}
	s.Apply = func(ctx context.Context) error { return c.turn(ctx, n) }
	return s
}

// turn starts what is to be started. When one is not well the whole node is reverted: nobody is served by
// half of it.
func (c *ControlPlanes) turn(ctx context.Context, n config.Node) error {
	var unsure error
	for _, p := range c.To(n) {
		err := p.start(ctx)
		switch {
		case err == nil:
		case c.Env.Dry && errors.Is(err, wait.ErrDry): // what would be waited for
			unsure = err
		case ctx.Err() != nil || lost(err):
			return err
		default:
			return c.revert(ctx, n, p.Component, err)
		}
	}
	if unsure != nil {
		return unsure
	}
	err := c.Serve(ctx, n)
	if err == nil || c.Env.Dry || ctx.Err() != nil || lost(err) {
		return err
	}
	return c.revert(ctx, n, driver.APIServer, err)
}

// lost says whether it was a node that could not be asked, which cannot be reverted either: this one, or a load
// balancer, while the component itself is well.
func lost(err error) bool {
	f := event.AsFault(err)
	return f != nil && (strings.HasPrefix(f.Code, "ssh.") || f.Code == "balancer.server-down")
}

// revert starts the components again that the node had, the last one first: a controller manager must not be newer
// than its API server. Where there is no way back the node stays as it is.
func (c *ControlPlanes) revert(ctx context.Context, n config.Node, failed driver.Component, cause error) error {
	if c.Back == nil {
		return cause
	}
	parts := slices.Clone(c.Back(n))
	slices.Reverse(parts)
	return Revert(ctx, c.Env, n, parts, c.Serve, failed, cause)
}

// Revert starts components of a node in this order, after one that failed, and returns the fault of that. serve is
// called when they run.
func Revert(ctx context.Context, e *input.Env, n config.Node, parts []Part,
	serve func(context.Context, config.Node) error, failed driver.Component, cause error,
) error {
	if len(parts) == 0 || lost(cause) {
		return cause
	}
	why := event.AsFault(cause)
	if err := e.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
		Text: event.M("notice.upgrade-reverting", "node", n.Name, "component", string(failed))}); err != nil {
		return err
	}
	not := func(other driver.Component, err error) error {
		return event.NewFault(event.ClassFailed, "upgrade.not-reverted", errors.Join(why, err),
			"component", string(failed), "other", string(other)).On(n.Name)
	}
	for _, p := range parts {
		if err := p.start(ctx); err != nil {
			return not(p.Component, err)
		}
	}
	if err := serve(ctx, n); err != nil {
		return not(parts[len(parts)-1].Component, err)
	}
	return event.NewFault(event.ClassFailed, "upgrade.reverted", why, "component", string(failed), "log",
		why.Args["log"]).On(n.Name)
}

// done says whether the component runs as it is to.
func (p Part) done(ctx context.Context) (bool, error) {
	for _, b := range p.Before {
		if b.Check == nil {
			continue
		}
		if ok, err := b.Check(ctx); !ok || err != nil {
			return false, err
		}
	}
	return p.Check(ctx)
}

// start starts the component unless it runs as it is to, as often as its driver wants it tried.
func (p Part) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, partLimit)
	defer cancel()
	for _, b := range p.Before {
		if err := once(ctx, b.Check, b.Apply); err != nil {
			return err
		}
	}
	for try := 1; ; try++ {
		err := once(ctx, p.Check, p.Apply)
		f := event.AsFault(err)
		if f == nil || !f.Retry || try >= p.Retry.Tries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(p.Retry.Delay):
		}
	}
}

// once does the work if it is not done.
func once(ctx context.Context, check func(context.Context) (bool, error), apply func(context.Context) error) error {
	if check != nil {
		if ok, err := check(ctx); ok || err != nil {
			return err
		}
	}
	if err := apply(ctx); err != nil && !errors.Is(err, engine.ErrUnchanged) {
		return err
	}
	return nil
}
