package runner

import (
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Connect returns a client without a cache: of the API server of the pod, or outside a pod of the kubeconfig that
// KUBECONFIG names.
func Connect() (client.WithWatch, error) {
	log.SetLogger(logr.Discard()) // stdout and stderr are those of the run
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, event.NewFault(event.ClassFailed, "internal", err)
		}
	}
	c, err := config.GetConfig()
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "operation.no-api", err)
	}
	out, err := client.NewWithWatch(c, client.Options{Scheme: s})
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "operation.no-api", err)
	}
	return out, nil
}
