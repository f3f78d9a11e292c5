package binary

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// proof is what shows that a component works, and what is told of a restart.
type proof struct {
	probe driver.Ready // nil: that it was started is enough
	// aside does what a restart of one that runs needs before and after; nil does nothing.
	aside func(ctx context.Context, n config.Node, restart func(context.Context) error) error
	// reports has it told how long a restart took it away. The time for which one that stops still does its work does
	// not count: serves, whatever happens, and up to votes of what stopping really took.
	reports       bool
	serves, votes time.Duration
}

// work starts a unit with its files and binaries. One that runs already is restarted only when they changed, and then
// on one node at a time; those that do not run yet start side by side.
func (r *Binary) work(c driver.Component, n config.Node, p proof) driver.Work {
	s := driver.Work{Retry: engine.Retry{Tries: 2, Delay: 2 * time.Second}, Timeout: rolling.Timeout}
	name := string(c)
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		svc, err := r.service(c, n)
		if err != nil || r.Unproven(name, n.Name) {
			return false, err
		}
		return nd.Running(ctx, svc)
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		svc, err := r.service(c, n)
		if err != nil {
			return err
		}
		if err := r.CheckLinks(ctx, n, nd, svc); err != nil {
			return err
		}
		runs, err := running(ctx, nd, svc.Unit)
		if err != nil {
			return err
		}
		again := false // an earlier try restarted it, and what follows did not end well
		if r.Unproven(name, n.Name) {
			if again, err = nd.Running(ctx, svc); err != nil {
				return err
			}
		}
		restart := func(ctx context.Context) (err error) {
			began := time.Now()
			if !again {
				err = nd.Restart(ctx, svc)
			}
			if err == nil && p.probe != nil {
				err = p.probe(ctx, nd)
			}
			if err != nil || !runs || again || !p.reports || r.Dry {
				return err
			}
			return r.reportAway(ctx, nd, c, p, time.Since(began))
		}
		if !runs {
			if err := nd.Prepare(ctx, svc); err != nil {
				return err
			}
			return restart(ctx)
		}
		return r.OneAtATime(ctx, name, n.Name, func(ctx context.Context) error {
			if err := nd.Prepare(ctx, svc); err != nil {
				return err
			}
			if p.aside == nil {
				return restart(ctx)
			}
			return p.aside(ctx, n, restart)
		})
	})
	return s
}

// reportAway reports how long a restart that took so long in all took a component away.
func (r *Binary) reportAway(ctx context.Context, nd *node.Node, c driver.Component, p proof,
	took time.Duration) error {
	text := event.M("notice.away", "component", string(c), "node", nd.Name(), "seconds", wait.Seconds(took-p.serves))
	if p.votes > 0 {
		if stopping, err := stoppedIn(ctx, nd, unit(c), took); err == nil {
			// else all of it is reported: the restart is done
			stopping = min(stopping, p.votes)
			text = event.M("notice.away-voting", "component", string(c), "node", nd.Name(), "seconds",
				wait.Seconds(took-stopping), "stopping", wait.Seconds(stopping))
		}
	}
	return r.Emit(event.Notice{Host: nd.Name(), Step: engine.StepID(ctx), Text: text})
}

// stoppedIn says how much of a restart that took so long passed until the unit was started: until then its old process
// lived.
func stoppedIn(ctx context.Context, nd *node.Node, unit string, took time.Duration) (time.Duration, error) {
	out, err := nd.Query(ctx, "systemctl show -p InactiveExitTimestampMonotonic --value "+shell.Quote(unit)+
		"\ncat /proc/uptime 2>/dev/null || true\n")
	if err != nil {
		return 0, err
	}
	w := strings.Fields(out)
	if len(w) < 2 {
		return 0, nil
	}
	started, err := strconv.ParseFloat(w[0], 64) // microseconds since the machine was started
	now, err2 := strconv.ParseFloat(w[1], 64)
	if err != nil || err2 != nil || started == 0 {
		return 0, nil
	}
	return max(0, took-time.Duration((now-started/1e6)*float64(time.Second))), nil
}

// running says whether a unit runs or is just being restarted: both times another node must wait. One that we never
// started does not run yet while it starts, and an etcd that starts may wait for the others.
func running(ctx context.Context, nd *node.Node, unit string) (bool, error) {
	u, err := nd.Unit(ctx, unit)
	if err != nil {
		return false, err
	}
	switch u.State {
	case "active", "deactivating", "reloading":
		return true, nil
	case "activating":
		return u.Applied != "" && unit != "etcd.service", nil
	}
	return false, nil
}
