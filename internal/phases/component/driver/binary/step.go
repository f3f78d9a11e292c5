package binary

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/start"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// service is a unit on a node with its files and binaries.
type service struct {
	r   *Binary
	n   config.Node
	nd  *node.Node
	svc node.Service
}

// work starts a component's unit.
func (r *Binary) work(c driver.Component, n config.Node, p start.Proof) driver.Work {
	return r.starts().Work(c, n, p, func(nd *node.Node) (start.Part, error) {
		svc, err := r.service(c, n)
		return service{r, n, nd, svc}, err
	})
}

func (r *Binary) starts() *start.Start { return &start.Start{Nodes: r.Nodes, Rolling: r.Rolling} }

// Current implements start.Part.
func (s service) Current(ctx context.Context) (bool, error) { return s.nd.Running(ctx, s.svc) }

// Runs implements start.Part.
func (s service) Runs(ctx context.Context) (bool, error) { return running(ctx, s.nd, s.svc.Unit) }

// Check implements start.Part.
func (s service) Check(ctx context.Context) error { return s.r.CheckLinks(ctx, s.n, s.nd, s.svc) }

// Prepare implements start.Part.
func (s service) Prepare(ctx context.Context) error { return s.nd.Prepare(ctx, s.svc) }

// Restart implements start.Part.
func (s service) Restart(ctx context.Context) error { return s.nd.Restart(ctx, s.svc) }

// StoppedIn implements start.Part.
func (s service) StoppedIn(ctx context.Context, took time.Duration) (time.Duration, error) {
	return stoppedIn(ctx, s.nd, s.svc.Unit, took)
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
