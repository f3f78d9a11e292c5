package phases

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// check proves that the cluster is what deploy.yaml says: every node Ready in the right version, the system's workloads
// rolled out.
func (r *run) check() []*engine.Step {
	addons := []string{plan.ID(plan.PhaseAddons, "manifests", ""), plan.ID(plan.PhaseAddons, "dns", "")}
	nodes := plan.Step(plan.PhaseCheck, "nodes", "", addons)
	nodes.Verify, nodes.Retry, nodes.Timeout = r.nodesReady, wait.Patience(), 30*time.Second
	system := plan.Step(plan.PhaseCheck, "system", "", []string{nodes.ID})
	for _, what := range []string{"controller-manager", "scheduler"} {
		system.Needs = append(system.Needs, plan.IDs(plan.PhaseControl, what, r.Cluster.With(bundle.ControlPlane))...)
	}
	system.Verify, system.Retry, system.Timeout = r.addons.Ready, wait.Patience(), 30*time.Second
	control := plan.Step(plan.PhaseCheck, "control-plane", "", []string{nodes.ID})
	control.Verify, control.Timeout = r.controlWell, time.Minute
	control.Retry = engine.Retry{Tries: 30, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
	return append([]*engine.Step{nodes, system, control}, r.host.Retire([]string{nodes.ID, system.ID, control.ID})...)
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

func (r *run) nodesReady(ctx context.Context) error {
	list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	byName := map[string]corev1.Node{}
	for _, n := range list.Items {
		byName[n.Name] = n
	}
	for _, n := range r.Expected() {
		obj, ok := byName[n.Name]
		if !ok {
			return wait.Again("check.node-absent").On(n.Name)
		}
		if why := clients.NotReady(obj); why != "" {
			return wait.Again("check.node-not-ready", "why", event.Clean(why)).On(n.Name)
		}
		if want := r.BundleOf(n).Manifest().Kubernetes; obj.Status.NodeInfo.KubeletVersion != want {
			return event.NewFault(event.ClassFailed, "check.version", nil, "is", obj.Status.NodeInfo.KubeletVersion,
				"want", want).On(n.Name)
		}
	}
	return nil
}
