package clients

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Leases tells kubelets that live from what restored data say of them: who lives renews his lease.
type Leases struct {
	mu    sync.Mutex
	first map[string]metav1.MicroTime // as first seen
}

// Renewed says whether the kubelet of a node has renewed its lease since this was first asked.
func (l *Leases) Renewed(ctx context.Context, k kubernetes.Interface, node string) (bool, error) {
	lease, err := k.CoordinationV1().Leases("kube-node-lease").Get(ctx, node, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, Fault(err)
	}
	var renewed metav1.MicroTime
	if err == nil && lease.Spec.RenewTime != nil {
		renewed = *lease.Spec.RenewTime
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first, seen := l.first[node]
	if !seen {
		if l.first == nil {
			l.first = map[string]metav1.MicroTime{}
		}
		l.first[node] = renewed
	}
	return seen && !renewed.Equal(&first), nil
}
