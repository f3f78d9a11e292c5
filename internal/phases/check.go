package phases

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
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
	system.Verify, system.Retry, system.Timeout = r.systemReady, wait.Patience(), 30*time.Second
	control := plan.Step(plan.PhaseCheck, "control-plane", "", []string{nodes.ID})
	control.Verify, control.Timeout = r.controlWell, time.Minute
	control.Retry = engine.Retry{Tries: 30, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
	return append([]*engine.Step{nodes, system, control}, r.host.Retire([]string{nodes.ID, system.ID, control.ID})...)
}

// controlWell wants every member of etcd, every API server and the load balancer to answer, now that all is restarted
// that had to be.
func (r *run) controlWell(ctx context.Context) error {
	if err := r.etcdHealth(ctx); err != nil {
		return err
	}
	if err := r.serversReady(ctx); err != nil {
		return err
	}
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		if err := r.balancerAnswers(ctx, n, r.Node(n.Name)); err != nil {
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

// systemReady looks at every workload of the namespaces that we and the addons made.
func (r *run) systemReady(ctx context.Context) error {
	ours, err := r.addonNamespaces()
	if err != nil {
		return err
	}
	sets, err := r.API().AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	for _, d := range sets.Items {
		if !systemNamespace(d.Namespace) && !ours[d.Namespace] {
			continue
		}
		s := d.Status
		if want := s.DesiredNumberScheduled - r.SkippedCount(); d.Generation != s.ObservedGeneration ||
			s.NumberReady < want || s.UpdatedNumberScheduled < want || s.DesiredNumberScheduled == 0 {
			return wait.Again("check.workload", "what", "DaemonSet "+d.Namespace+"/"+d.Name, "ready",
				fmt.Sprintf("%d/%d", s.NumberReady, s.DesiredNumberScheduled))
		}
	}
	deps, err := r.API().AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	for _, d := range deps.Items {
		if (systemNamespace(d.Namespace) || ours[d.Namespace]) && !rolledOut(d) {
			return wait.Again("check.workload", "what", "Deployment "+d.Namespace+"/"+d.Name, "ready",
				fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, d.Status.Replicas))
		}
	}
	return nil
}

func systemNamespace(ns string) bool { return strings.HasPrefix(ns, "kube-") }

func rolledOut(d appsv1.Deployment) bool {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	return d.Generation == d.Status.ObservedGeneration && d.Status.UpdatedReplicas >= want &&
		d.Status.ReadyReplicas >= want && d.Status.Replicas == want
}

// podRoutes: flannel has the node's lease and a route to every other node's pods.
func (r *run) podRoutes(ctx context.Context, nd *node.Node) error {
	list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	out, err := nd.Query(ctx,
		"[ -s /run/flannel/subnet.env ] && echo lease || true\nip -4 route show 2>/dev/null || true\n")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(out, "lease") {
		return wait.Again("check.no-lease").On(nd.Name())
	}
	for _, o := range list.Items {
		if o.Name != nd.Name() && !r.Skipped(o.Name) && o.Spec.PodCIDR != "" &&
			!strings.Contains(out, o.Spec.PodCIDR+" via") {
			return wait.Again("check.no-route", "cidr", o.Spec.PodCIDR, "other", o.Name).On(nd.Name())
		}
	}
	return nil
}
