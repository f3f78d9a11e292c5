package join

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Ready wants every node to be Ready in the cluster, and its kubelet to have the version of its bundle. In a cluster
// that began with a snapshot it wants to hear of the kubelet first: what the snapshot says of the node is history.
func (r *Join) Ready(ctx context.Context) error {
	list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	byName := map[string]corev1.Node{}
	for _, n := range list.Items {
		byName[n.Name] = n
	}
	if err := r.heard(ctx); err != nil {
		return err
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

// heard wants to hear of every kubelet in a cluster that began with a snapshot. All are asked for each time, so that
// nobody's time begins when the one before is well.
func (r *Join) heard(ctx context.Context) error {
	var silent error
	for _, n := range r.Expected() {
		if !r.Seeded {
			break
		}
		renewed, err := r.leases.Renewed(ctx, r.API(), n.Name)
		if err != nil {
			return err
		}
		if !renewed && silent == nil {
			silent = wait.Again("check.node-not-ready", "why", "no new lease yet").On(n.Name)
		}
	}
	return silent
}

// AllReady wants every node that is asked for to be Ready in the cluster, whatever the version of its kubelet.
func (r *Join) AllReady(ctx context.Context, asked func(config.Node) bool) error {
	ready, err := r.ReadyNodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range r.Expected() {
		if asked(n) && !ready[n.Name] {
			return wait.Again("check.node-not-ready", "why", "NotReady").On(n.Name)
		}
	}
	return nil
}

// Versions are those of the kubelets by the names of their nodes, as the cluster last heard of them.
func (r *Join) Versions(ctx context.Context) (map[string]string, error) {
	list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	out := map[string]string{}
	for _, n := range list.Items {
		out[n.Name] = n.Status.NodeInfo.KubeletVersion
	}
	return out, nil
}

// Behind are the nodes whose kubelet has another version than this, whether they are skipped or not.
func (r *Join) Behind(ctx context.Context, version string) ([]string, error) {
	is, err := r.Versions(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range inventory.Kubelets(r.Cluster) {
		if is[n.Name] != version {
			out = append(out, n.Name)
		}
	}
	return out, nil
}

// ReadyNodes says of every node by its name whether it is Ready. The API server has half a minute to answer.
func (r *Join) ReadyNodes(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ready := map[string]bool{}
	err := wait.Until(ctx, 30*time.Second, func(ctx context.Context) error {
		list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, o := range list.Items {
				ready[o.Name] = clients.NotReady(o) == ""
			}
		}
		return err
	})
	return ready, err
}

// Names are those of the cluster's Nodes.
func (r *Join) Names(ctx context.Context) ([]string, error) {
	list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Name)
	}
	return out, nil
}
