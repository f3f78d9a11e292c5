// Package etcd has the nodes of the role etcd run a member each: it forms the cluster of them or lets one join that is
// there, removes members, saves snapshots and restores one. It may import driver and what lies beneath it, and knows
// neither runtime nor packages.
package etcd

import (
	"context"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

const (
	component       = string(driver.Etcd) // under which members are restarted, and join, one at a time
	listPatience    = 90 * time.Second    // for the members to be ready before one is added
	promotePatience = 15 * time.Minute    // for a learner to have all data
)

// Etcd brings the members of a run up, by the steps of its phase.
type Etcd struct {
	*Members
	*rolling.Rolling
	Snapshots *Snapshots
	payload   *payload.Payload
	// Revert is called with the cause when a member that ran does not come up again; what it returns is the fault. nil
	// leaves the member as it is.
	Revert func(ctx context.Context, n config.Node, cause error) error

	seed   Seed // that the members begin with; without a token with nothing
	unread error
	mu     sync.Mutex
	found  membership
	putOff []restart // of members that lead, until all others are restarted
}

// New is the etcd of a run; d runs its members.
func New(c *clients.Clients, p *payload.Payload, r *rolling.Rolling, d driver.Driver) *Etcd {
	return &Etcd{Members: &Members{Clients: c, Driver: d}, Rolling: r, Snapshots: &Snapshots{Clients: c, Driver: d},
		payload: p}
}

// Steps makes the CAs and certificates, starts every member, and waits until each answers a linearized read. The
// members of a new cluster start side by side, for each waits for the quorum; so none is started before all can be.
// Those that run are restarted one at a time, and the one that leads last, when another one leads.
func (r *Etcd) Steps() []*engine.Step {
	members := r.Cluster.With(bundle.Etcd)
	certs := plan.Step(plan.PhaseEtcd, "certificates", "", plan.Checked())
	certs.Apply = r.EnsurePKI
	ready := []string{certs.ID}
	for _, n := range members {
		ready = append(ready, plan.Programs(n, plan.GroupEtcd), plan.ID(plan.PhaseInfra, "system", n.Name))
	}
	found := plan.Step(plan.PhaseEtcd, "membership", "", ready)
	found.Verify = r.resolve
	if r.Seeded() {
		found.Verify = r.unseeded
	}
	found.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 5 * time.Second}
	steps := []*engine.Step{certs, found}
	ready = []string{found.ID}
	if r.Seeded() {
		seeds := r.seeds(ready)
		steps, ready = append(steps, seeds...), []string{seeds[len(seeds)-1].ID}
	}
	for _, n := range members {
		w := r.Driver.Start(driver.Etcd, n,
			func(ctx context.Context, _ *node.Node) error { return r.WaitReady(ctx, n) })
		running, again := w.Check, w.Apply
		w.Check = func(ctx context.Context) (bool, error) {
			if r.isUnfinished(n.Name) {
				return false, nil
			}
			return running(ctx)
		}
		w.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			do := restart{n, func(ctx context.Context) error { return r.restart(ctx, n, nd, again) }}
			if r.puttingOff(ctx, do, nd) {
				return engine.ErrUnchanged
			}
			return do.f(ctx)
		})
		steps = append(steps, w.Steps(plan.PhaseEtcd, "start", n, ready)...)
	}
	started := plan.IDs(plan.PhaseEtcd, "start", members)
	if len(members) > 1 {
		last := r.restartLeader(started)
		steps, started = append(steps, last), []string{last.ID}
	}
	check := plan.Step(plan.PhaseEtcd, "health", "", started)
	check.Verify = r.Health
	check.Retry = engine.Retry{Tries: 30, Delay: time.Second, MaxDelay: 3 * time.Second, Polls: true}
	check.Timeout = time.Minute
	return append(steps, check)
}
