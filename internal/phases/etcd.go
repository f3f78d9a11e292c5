package phases

import (
	"context"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// etcd makes the authorities and certificates, starts every member, and waits until each answers a linearized read. The
// members of a new cluster start side by side, for each waits for the quorum; so none is started before all can be.
func (r *run) etcd() []*engine.Step {
	members := r.Cluster.With(bundle.Etcd)
	certs := plan.Step(plan.PhaseEtcd, "certificates", "", plan.Verdict())
	certs.Apply = r.EnsurePKI
	ready := []string{certs.ID}
	for _, n := range members {
		ready = append(ready, plan.Programs(n, plan.GroupEtcd), plan.ID(plan.PhaseInfra, "system", n.Name))
	}
	settle := plan.Step(plan.PhaseEtcd, "membership", "", ready)
	settle.Verify = r.settleMembership
	settle.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 5 * time.Second}
	steps := []*engine.Step{certs, settle}
	for _, n := range members {
		w := r.driver.Start(driver.Etcd, n)
		running, restart := w.Check, w.Apply
		w.Check = func(ctx context.Context) (bool, error) {
			if r.etcdState().unfinished[n.Name] {
				return false, nil
			}
			return running(ctx)
		}
		w.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.startMember(ctx, n, nd, restart)
		})
		steps = append(steps, w.Steps(plan.PhaseEtcd, "start", n, []string{settle.ID})...)
	}
	check := plan.Step(plan.PhaseEtcd, "health", "", plan.IDs(plan.PhaseEtcd, "start", members))
	check.Verify = r.etcdHealth
	check.Retry = engine.Retry{Tries: 30, Delay: time.Second, MaxDelay: 3 * time.Second}
	check.Timeout = time.Minute
	return append(steps, check)
}

// etcdHealth wants a linearized read from every member, so that each has a leader and is up to date; all are asked at
// once.
func (r *run) etcdHealth(ctx context.Context) error {
	members := r.Cluster.With(bundle.Etcd)
	faults := make([]error, len(members))
	var wg sync.WaitGroup
	for i, n := range members {
		wg.Go(func() { faults[i] = r.memberReads(ctx, n) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// memberReads is one linearized read through the node's member alone.
func (r *run) memberReads(ctx context.Context, n config.Node) error {
	err := r.ReadThrough(ctx, layout.ClientURL(n))
	if err == nil {
		return nil
	}
	log := ""
	if nd := r.Node(n.Name); nd != nil {
		log = r.driver.Log(ctx, nd, driver.Etcd)
	}
	f := event.NewFault(event.ClassFailed, "etcd.unhealthy", err, "log", log).On(n.Name)
	f.Retry = true
	return f
}

// memberWell waits until a member that was just started answers.
func (r *run) memberWell(ctx context.Context, n config.Node) error {
	return wait.Until(ctx, wait.ProbeLimit, func(ctx context.Context) error { return r.memberReads(ctx, n) })
}
