// Package meta is a cluster that manages others, as a control host sees it: it holds the state of clusters that were
// handed over. Begin reading at Connect.
package meta

import (
	"context"
	"net/url"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

const (
	// answers is how long a request to the API server may take.
	answers = 30 * time.Second
	// patience is how long the lock of a cluster is waited for: longer than one that a dead process has left is held.
	patience = 20 * time.Second
)

// Meta is one namespace of a cluster.
type Meta struct {
	c         client.Client
	ca        []byte
	namespace string
	server    string
}

// Connect returns the namespace of the cluster that a kubeconfig names. No request is made. context is that of the
// kubeconfig, "": its current one.
func Connect(kubeconfig, context, namespace string) (*Meta, error) {
	refused := func(err error) error {
		return event.NewFault(event.ClassUsage, "handover.kubeconfig", err, "file", kubeconfig)
	}
	conf, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, refused(err)
	}
	conf.Timeout = answers
	if err := rest.LoadTLSFiles(conf); err != nil {
		return nil, refused(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	// Both kinds are known: nothing has to be discovered, which a user who may do nothing else might be denied.
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), apimeta.RESTScopeNamespace)
	c, err := client.New(conf, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, refused(err)
	}
	return New(c, conf.CAData, namespace, serverOf(conf.Host)), nil
}

// New returns a namespace of the cluster that a client reaches: its API server is at server, and has a certificate of
// the CA, as PEM.
func New(c client.Client, ca []byte, namespace, server string) *Meta {
	return &Meta{c: c, ca: ca, namespace: namespace, server: server}
}

// serverOf is the address of an API server without what may be secret in it.
func serverOf(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return strings.SplitN(host, "/", 2)[0]
	}
	return u.Scheme + "://" + u.Host
}

// Place names the namespace in messages.
func (m *Meta) Place() string { return m.namespace + " @ " + m.server }

// Store returns the clusters of the namespace; their files are in a directory while the process lives. waits is called
// when a lock is waited for.
func (m *Meta) Store(root string, waits func(journal.Holder)) operation.Meta {
	return clusters{m, state.New(state.Options{Client: m.c, Namespace: m.namespace, Root: root, Wait: patience,
		Waits: waits})}
}

// clusters are those of a Meta.
type clusters struct {
	*Meta
	operation.Store
}

// CA implements operation.Meta.
func (c clusters) CA() []byte { return c.ca }

// Remove implements operation.Meta.
func (c clusters) Remove(ctx context.Context, cluster string) error {
	return state.Remove(ctx, c.c, c.namespace, cluster)
}
