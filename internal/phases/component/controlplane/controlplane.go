// Package controlplane starts the API servers and what works through them, gives nodes and API servers their rights,
// and writes the administrator's kubeconfig. It may import driver and clients and what lies beneath them.
package controlplane

import (
	"context"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ControlPlane makes the steps of the control plane of a run.
type ControlPlane struct {
	*clients.Clients
	Driver driver.Driver
}

// Steps start the API server, the controller manager and the scheduler, and give the rights that nodes and the
// API server need.
// nodes and users get a kubeconfig of an endpoint that the steps of answers have shown to answer.
func (r *ControlPlane) Steps(answers []string) []*engine.Step {
	var steps []*engine.Step
	cps := r.Cluster.With(bundle.ControlPlane)
	for _, n := range cps {
		ready := []string{plan.ID(plan.PhaseEtcd, "health", ""), plan.Programs(n, plan.GroupControl),
			plan.ID(plan.PhaseInfra, "system", n.Name)}
		start := func(c driver.Component, what string, answers driver.Ready, needs []string) {
			steps = append(steps, r.Driver.Start(c, n, answers).Steps(plan.PhaseControl, what, n, needs)...)
		}
		start(driver.APIServer, "apiserver", r.ServerReady, ready)
		after := []string{plan.ID(plan.PhaseControl, "apiserver", n.Name)}
		start(driver.ControllerManager, "controller-manager", nil, after)
		start(driver.Scheduler, "scheduler", nil, after)
	}
	steps = append(steps, r.Settle(plan.IDs(plan.PhaseControl, "apiserver", cps), answers)...)
	return append(steps, r.Publish()...)
}

// Settle are the steps that come after the API servers were started by the steps of needs.
func (r *ControlPlane) Settle(needs, answers []string) []*engine.Step {
	ready := plan.Step(plan.PhaseControl, "ready", "", needs)
	ready.Verify = r.Ready
	ready.Retry = engine.Retry{Tries: 60, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second, Polls: true}
	ready.Timeout = 30 * time.Second
	rbac := plan.Step(plan.PhaseControl, "rights", "", []string{ready.ID})
	rbac.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	rbac.Check = func(ctx context.Context) (bool, error) { return r.AppliedAsset(ctx, r.rights) }
	rbac.Apply = func(ctx context.Context) error { return r.ApplyAsset(ctx, r.rights) }
	conf := plan.Step(plan.PhaseControl, "kubeconfig", "", append([]string{ready.ID}, answers...))
	conf.Check = r.adminConfWritten
	conf.Apply = r.writeAdminConf
	return []*engine.Step{ready, rbac, conf}
}

// Publish are the steps by which the driver publishes what it has for all nodes, when Settle's say that the API servers
// are ready. An upgrade does so at its end.
func (r *ControlPlane) Publish() []*engine.Step {
	return r.Driver.Publish([]string{plan.ID(plan.PhaseControl, "ready", "")})
}

// Ready makes the clients, which reach whichever API server lives, and waits for /readyz of all of them.
func (r *ControlPlane) Ready(ctx context.Context) error {
	if err := r.ServersReady(ctx); err != nil && !r.Dry { // a dry run asks those that there are
		return err
	}
	return r.ConnectAPI()
}

// ServersReady wants every API server to be ready; all are asked at once.
func (r *ControlPlane) ServersReady(ctx context.Context) error {
	cps := r.Cluster.With(bundle.ControlPlane)
	faults := make([]error, len(cps))
	var wg sync.WaitGroup
	for i, n := range cps {
		wg.Go(func() { faults[i] = r.ServerAnswers(ctx, r.Node(n.Name)) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// ServerReady waits until the node's API server is ready.
func (r *ControlPlane) ServerReady(ctx context.Context, nd *node.Node) error {
	return wait.Until(ctx, 2*wait.ProbeLimit, func(ctx context.Context) error { return r.ServerAnswers(ctx, nd) })
}

// ServerAnswers asks the node's own API server whether it is ready, as the administrator: an anonymous request may be
// refused.
func (r *ControlPlane) ServerAnswers(ctx context.Context, nd *node.Node) error {
	err := r.Readyz(ctx, nd.Dial, "127.0.0.1:6443")
	if err == nil {
		return nil
	}
	f := event.NewFault(event.ClassFailed, "kube.not-ready", clients.Unready(err), "log",
		r.Driver.LastWords(ctx, nd, driver.APIServer)).On(nd.Name())
	f.Retry = true
	return f
}
