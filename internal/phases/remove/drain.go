package remove

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Drain are the steps that empty the nodes that leave, when the steps of needs are done.
func (r *Removal) Drain(needs []string) []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Leaving.Nodes {
		if !inventory.IsKubelet(n) {
			continue
		}
		s := plan.Step(plan.PhaseDrain, "node", n.Name, needs)
		s.Timeout = r.Leaving.Drain + 2*time.Minute
		s.When = func(ctx context.Context) (bool, event.Msg, error) { return r.drainable(ctx, n) }
		s.Apply = func(ctx context.Context) error { return r.empty(ctx, n) }
		steps = append(steps, s)
	}
	return steps
}

// Drained lets pods onto the nodes again that we have closed to them, when one of those that leave could not be
// emptied: the leave ends there, and the cluster has all its nodes.
func (r *Removal) Drained(ctx context.Context, how event.Outcome) error {
	if how.Done() {
		return nil
	}
	for _, n := range r.Leaving.Nodes {
		if !inventory.IsKubelet(n) {
			continue
		}
		step := engine.WithStep(ctx, plan.ID(plan.PhaseDrain, "node", n.Name))
		if err := r.drains.Uncordon(step, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// drainable says whether there is something to drain: a node that the cluster knows and whose kubelet can end its pods.
func (r *Removal) drainable(ctx context.Context, n config.Node) (bool, event.Msg, error) {
	if r.Unreachable(n) && !r.fitToDrain(ctx, n) {
		return false, event.M("why.node-gone"), nil
	}
	_, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, event.M("why.no-object"), nil
	}
	if err != nil {
		return false, event.Msg{}, clients.Fault(err)
	}
	return true, event.Msg{}, nil
}

// fitToDrain says whether the node's kubelet answers the cluster, though the node does not answer us.
func (r *Removal) fitToDrain(ctx context.Context, n config.Node) bool {
	o, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	return err == nil && clients.NotReady(*o) == ""
}

// empty lets no new pod onto the node and evicts those that are there, as their disruption budgets allow, until the
// time is over.
func (r *Removal) empty(ctx context.Context, n config.Node) error {
	o, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	if err := r.drains.Cordon(ctx, o); err != nil {
		return err
	}
	return r.drains.Evict(ctx, n.Name)
}
