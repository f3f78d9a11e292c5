package foreign

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/phases/clients"
)

// KubeletConfig is the configuration that kubeadm gives the kubelets of a cluster; "" when there is none.
func KubeletConfig(ctx context.Context, api *clients.API) (string, error) {
	m, err := api.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubelet-config", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", clients.Fault(err)
	}
	return m.Data["kubelet"], nil
}
