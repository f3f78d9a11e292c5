package phases

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// check proves that the cluster is what deploy.yaml says, and removes what gave way.
func (r *run) check() []*engine.Step {
	proofs := r.proofs()
	return append(proofs, r.host.Retire(plan.StepIDs(proofs))...)
}

// proofs want every node Ready in the right version, the system's workloads rolled out, and the control plane well.
func (r *run) proofs() []*engine.Step {
	addons := []string{plan.ID(plan.PhaseAddons, "manifests", ""), plan.ID(plan.PhaseAddons, "dns", "")}
	nodes := plan.Step(plan.PhaseCheck, "nodes", "", addons)
	nodes.Verify, nodes.Retry, nodes.Timeout = r.join.Ready, wait.Patience(), 30*time.Second
	system := plan.Step(plan.PhaseCheck, "system", "", []string{nodes.ID})
	for _, what := range []string{"controller-manager", "scheduler"} {
		system.Needs = append(system.Needs, plan.IDs(plan.PhaseControl, what, r.Cluster.With(bundle.ControlPlane))...)
	}
	system.Verify, system.Retry, system.Timeout = r.addons.Ready, wait.Patience(), 30*time.Second
	control := plan.Step(plan.PhaseCheck, "control-plane", "", []string{nodes.ID})
	control.Verify, control.Timeout = r.controlWell, time.Minute
	control.Retry = engine.Retry{Tries: 30, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second, Polls: true}
	return []*engine.Step{nodes, system, control}
}

// controlWell wants every member of etcd, every API server and the load balancer to answer, now that all is restarted
// that had to be.
func (r *run) controlWell(ctx context.Context) error {
	if err := r.etcd.Health(ctx); err != nil {
		return err
	}
	if err := r.control.ServersReady(ctx); err != nil {
		return err
	}
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		if err := r.balancer.Answers(ctx, n, r.Node(n.Name)); err != nil {
			return err
		}
	}
	return nil
}
