package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"

	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// API is the API server, reached through a control plane's SSH connection.
type API struct {
	kubernetes.Interface
	dyn    dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// newAPI makes the clients; the certificate is the admin's. The server is known by a name that kubeadm gives its
// certificates, too, unlike 127.0.0.1. What they send goes through wrap, if it is not nil.
func newAPI(d Dialer, ca, cert, key []byte, wrap transport.WrapperFunc) (*API, error) {
	cfg := &rest.Config{
		Host:            "https://127.0.0.1:6443",
		Dial:            d.Dial,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: cert, KeyData: key, ServerName: "kubernetes"},
		QPS:             50, Burst: 100,
		UserAgent:      "eggo",
		WarningHandler: rest.NoWarnings{},
		WrapTransport:  wrap,
	}
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	disc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &API{Interface: cs, dyn: dyn,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disc))}, nil
}

// Dynamic is the client of objects of any kind.
func (k *API) Dynamic() dynamic.Interface { return k.dyn }

// AppliedAsset says whether the manifests that make returns are applied.
func (r *Clients) AppliedAsset(ctx context.Context, make func() ([]byte, error)) (bool, error) {
	data, err := make()
	if err != nil {
		return false, err
	}
	objs, err := ParseManifests(data)
	if err != nil {
		return false, err // none of a user's: these come with the program
	}
	return r.API().Applied(ctx, objs)
}

// ApplyAsset applies the manifests that make returns.
func (r *Clients) ApplyAsset(ctx context.Context, make func() ([]byte, error)) error {
	data, err := make()
	if err != nil {
		return err
	}
	objs, err := ParseManifests(data)
	if err != nil {
		return err
	}
	return r.API().Apply(ctx, objs)
}

// Dialer opens connections from a node.
type Dialer interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// ParseManifests splits a YAML stream into objects.
func ParseManifests(data []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	dec := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := dec.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(u.Object) == 0:
		case u.IsList():
			if err := u.EachListItem(func(o runtime.Object) error {
				out = append(out, o.(*unstructured.Unstructured))
				return nil
			}); err != nil {
				return nil, err
			}
		default:
			out = append(out, u)
		}
	}
}

func (k *API) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	m, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		k.mapper.Reset()
		m, err = k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return k.dyn.Resource(m.Resource), nil
	}
	ns := o.GetNamespace()
	if ns == "" {
		ns = metav1.NamespaceDefault
	}
	return k.dyn.Resource(m.Resource).Namespace(ns), nil
}

// Applied says whether the cluster already has every object as given: a server-side apply as a dry run would change
// nothing.
func (k *API) Applied(ctx context.Context, objects []*unstructured.Unstructured) (bool, error) {
	for _, o := range objects {
		res, err := k.resource(o)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		if err != nil {
			return false, Fault(err)
		}
		is, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, Fault(err)
		}
		would, err := k.patch(ctx, res, o, true)
		if err != nil {
			return false, err
		}
		for _, x := range []*unstructured.Unstructured{is, would} {
			x.SetManagedFields(nil)
			x.SetResourceVersion("")
		}
		if !equality.Semantic.DeepEqual(is.Object, would.Object) {
			return false, nil
		}
	}
	return true, nil
}

// Apply makes the objects so, in the order given.
func (k *API) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		res, err := k.resource(o)
		if err != nil {
			return Fault(err)
		}
		if _, err := k.patch(ctx, res, o, false); err != nil {
			return err
		}
	}
	return nil
}

func (k *API) patch(ctx context.Context, res dynamic.ResourceInterface, o *unstructured.Unstructured,
	dry bool) (*unstructured.Unstructured, error) {
	data, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	force := true
	opt := metav1.PatchOptions{FieldManager: layout.FieldManager, Force: &force}
	if dry {
		opt.DryRun = []string{metav1.DryRunAll}
	}
	got, err := res.Patch(ctx, o.GetName(), types.ApplyPatchType, data, opt)
	if err != nil {
		return nil, Fault(fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err))
	}
	return got, nil
}

// Fault classes an error of the API: one that may pass is worth another try.
func Fault(err error) *event.Fault {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return f
	}
	f := event.NewFault(event.ClassFailed, "kube.api", err)
	f.Retry = !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsMethodNotSupported(err)
	return f
}

// Quiet keeps the Kubernetes libraries from writing to stderr by themselves, and so over the screen: what goes wrong
// comes back as errors, and is told as faults. Their logger is one for the process, so main calls it once, before
// anything else.
func Quiet() {
	klog.SetLogger(klog.Logger{}) // whatever its output is set to, klog's own writes errors to stderr too
}

// NotReady says why the cluster takes a node for not Ready; "" when it is.
func NotReady(n corev1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if c.Status == corev1.ConditionTrue {
				return ""
			}
			return c.Reason + ": " + c.Message
		}
	}
	return "no condition Ready yet"
}
