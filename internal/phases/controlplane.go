package phases

import (
	"context"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// controlPlane starts the API server, the controller manager and the scheduler, and gives the rights that nodes and the
// API server need.
func (r *run) controlPlane() []*engine.Step {
	var steps []*engine.Step
	cps := r.Cluster.With(bundle.ControlPlane)
	for _, n := range cps {
		ready := []string{plan.ID(plan.PhaseEtcd, "health", ""), plan.Programs(n, plan.GroupControl),
			plan.ID(plan.PhaseInfra, "system", n.Name)}
		start := func(c driver.Component, what string, needs []string) {
			steps = append(steps, r.driver.Start(c, n).Steps(plan.PhaseControl, what, n, needs)...)
		}
		start(driver.APIServer, "apiserver", ready)
		after := []string{plan.ID(plan.PhaseControl, "apiserver", n.Name)}
		start(driver.ControllerManager, "controller-manager", after)
		start(driver.Scheduler, "scheduler", after)
	}
	ready := plan.Step(plan.PhaseControl, "ready", "", plan.IDs(plan.PhaseControl, "apiserver", cps))
	ready.Verify = r.apiReady
	ready.Retry = engine.Retry{Tries: 60, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
	ready.Timeout = 30 * time.Second
	rbac := plan.Step(plan.PhaseControl, "rights", "", []string{ready.ID})
	rbac.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	rbac.Check = func(ctx context.Context) (bool, error) { return r.AppliedAsset(ctx, r.rights) }
	rbac.Apply = func(ctx context.Context) error { return r.ApplyAsset(ctx, r.rights) }
	conf := plan.Step(plan.PhaseControl, "kubeconfig", "", []string{ready.ID})
	conf.Check = r.adminConfWritten
	conf.Apply = r.writeAdminConf
	return append(append(steps, ready, rbac, conf), r.driver.Publish([]string{ready.ID})...)
}

// apiReady makes the clients, which reach whichever API server lives, and waits for /readyz of all of them.
func (r *run) apiReady(ctx context.Context) error {
	if err := r.serversReady(ctx); err != nil && !r.Dry { // a rehearsal asks those that there are
		return err
	}
	return r.ConnectAPI()
}

// serversReady wants every API server to be ready; all are asked at once.
func (r *run) serversReady(ctx context.Context) error {
	cps := r.Cluster.With(bundle.ControlPlane)
	faults := make([]error, len(cps))
	var wg sync.WaitGroup
	for i, n := range cps {
		wg.Go(func() { faults[i] = r.serverAnswers(ctx, r.Node(n.Name)) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// serverReady waits until the node's API server is ready.
func (r *run) serverReady(ctx context.Context, nd *node.Node) error {
	return wait.Until(ctx, 2*wait.ProbeLimit, func(ctx context.Context) error { return r.serverAnswers(ctx, nd) })
}

// serverAnswers asks the node's own API server whether it is ready, as the administrator: an anonymous request may be
// refused.
func (r *run) serverAnswers(ctx context.Context, nd *node.Node) error {
	err := r.Readyz(ctx, nd.Dial, "127.0.0.1:6443")
	if err == nil {
		return nil
	}
	f := event.NewFault(event.ClassFailed, "kube.not-ready", clients.Unready(err), "log",
		r.driver.LastWords(ctx, nd, driver.APIServer)).On(nd.Name())
	f.Retry = true
	return f
}
