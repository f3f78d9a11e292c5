package phases

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// judgeLeave refuses a leave that the cluster would not survive, before anything is touched.
func (r *run) judgeLeave(ctx context.Context) error {
	if err := r.ReadPKI(ctx); err != nil {
		return err
	}
	var all []event.Finding
	add := func(sev event.Severity, host, code string, kv ...string) {
		all = append(all, finding(sev, host, code, kv...))
	}
	if err := r.ConnectAPI(); err != nil { // the nodes are drained by it
		return err
	}
	k := r.API()
	ask, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var list *corev1.NodeList
	if err := wait.Until(ask, 30*time.Second, func(ctx context.Context) (err error) {
		list, err = k.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	}); err != nil {
		add(event.Error, "", "leave-no-api", "cause", event.Clean(err.Error()), "cluster", r.Cluster.Name)
	}
	for _, n := range r.Removing {
		f := r.Fact(n.Name)
		switch {
		case f == nil:
			why := r.Failure(n.Name, n.Name)
			alive := false
			if list != nil {
				i := slices.IndexFunc(list.Items, func(o corev1.Node) bool { return o.Name == n.Name })
				alive = i >= 0 && clients.NotReady(list.Items[i]) == ""
			}
			switch {
			case why.Fault.Class == event.ClassLocked, why.Fault.Class == event.ClassAuth && !r.force:
				all = append(all, why)
			case alive && !r.force:
				add(event.Error, n.Name, "leave-alive", "cause", event.Clean(cmp.Or(why.Fault.Cause, why.Fault.Code)))
			default:
				add(event.Warning, n.Name, "leave-gone", "ip", n.IP.String(), "cluster", r.Cluster.Name)
			}
		case f.Cluster != "" && f.Cluster != r.Cluster.Name:
			add(event.Error, n.Name, "other-cluster", "cluster", f.Cluster)
		default:
			all = append(all, judgeRecord(n, node.Beyond(f.RecordFormat, f.RecordKinds))...)
		}
	}
	all = append(all, r.judgeQuorum(ctx)...)
	return r.tell(all)
}
