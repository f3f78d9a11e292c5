package operatortest

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// Client returns a client of an API server in memory, which has the objects of the operator and of Kubernetes. between
// sees each request first.
func Client(t testing.TB, between interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).WithInterceptorFuncs(between).
		WithStatusSubresource(&v1.Cluster{}, &v1.Machine{}, &v1.MachineBinding{}, &v1.Infrastructure{},
			&v1.Operation{}).WithReturnManagedFields().Build()
}
