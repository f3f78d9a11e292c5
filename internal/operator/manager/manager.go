// Package manager runs the controllers of the operator in one process: it connects to the meta cluster, elects a
// leader, and serves health and metrics. Begin reading at Run.
package manager

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	operations "github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operator/bundles"
	"github.com/eggo-k8s/eggo/internal/operator/cluster"
	"github.com/eggo-k8s/eggo/internal/operator/guard"
	"github.com/eggo-k8s/eggo/internal/operator/operation"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/pool"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Options of the operator.
type Options struct {
	// Log gets the log, a line of JSON for each entry.
	Log io.Writer
	// Namespaces are those with clusters and machines; none: all.
	Namespaces []string
	// Namespace is the operator's own, with the Lease of its leader.
	Namespace string
	// LeaderElection allows several operators, of which one works.
	LeaderElection bool
	// Metrics and Health are addresses to listen on; "0": none.
	Metrics, Health string
	// Image is the image of runs.
	Image pod.Image
	// MaxRuns is how many runs there are at the same time.
	MaxRuns int
	// History is how many ended Operations of a cluster are kept.
	History int
	// Dialer returns what logs in to machines, but never to own addresses: they are read for each login.
	Dialer func(own func() config.Addresses) operations.Dialer
	// Refused are networks whose addresses are not machines of the pool, beside those that the meta cluster shows.
	Refused []string
	// Scratch is a directory in memory for keys during a probe; "": the temporary directory.
	Scratch string
	// Sentence returns a fault in English, and what to do next.
	Sentence func(*event.Fault) (text, next string)
}

// leaderLease is the name of the Lease of the leader, as in the original eggops.
const leaderLease = "ce9441bc.isula.org"

// recorder is the name of the operator in Events.
const recorder = "eggops"

// Requests to the API server: status updates of many clusters are its load.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// Scheme returns the types that the operator reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, eggov1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Run runs the controllers until the context ends, in the meta cluster of KUBECONFIG or else in that of its own pod.
// The faults are operator.no-image, operator.limits, operator.network, operator.no-kubeconfig
// and operator.manager.
func Run(ctx context.Context, o Options) error {
	if o.Image.Name == "" {
		return event.NewFault(event.ClassUsage, "operator.no-image", nil)
	}
	if o.MaxRuns < 1 || o.History < 1 {
		return event.NewFault(event.ClassUsage, "operator.limits", nil)
	}
	refused, err := o.refused()
	if err != nil {
		return err
	}
	connection, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return event.NewFault(event.ClassUsage, "operator.no-kubeconfig", err)
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(o.Log, nil)))
	m, err := newManager(connection, o)
	if err != nil {
		return err
	}
	to, err := o.outside(m, refused)
	if err != nil {
		return err
	}
	if err := o.controllers(m, to); err != nil {
		return err
	}
	return m.Start(ctx)
}

func newManager(connection *rest.Config, o Options) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	connection.QPS, connection.Burst, connection.UserAgent = requestsPerSecond, requestsAtOnce, "eggops"
	grace := 30 * time.Second
	metrics := metricsserver.Options{BindAddress: cmp.Or(o.Metrics, "0")}
	if metrics.BindAddress != "0" {
		metrics.SecureServing, metrics.FilterProvider = true, filters.WithAuthenticationAndAuthorization
	}
	m, err := ctrl.NewManager(connection, ctrl.Options{
		Scheme: scheme, Metrics: metrics, HealthProbeBindAddress: cmp.Or(o.Health, "0"),
		LeaderElection: o.LeaderElection, LeaderElectionID: leaderLease, LeaderElectionNamespace: o.Namespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: &grace, Cache: o.cache(),
		// Secrets are read one by one: no list of them is in memory, and the operator needs no right to list them.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{},
			&corev1.Pod{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.PersistentVolumeClaim{},
			&coordinationv1.Lease{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}}}},
	})
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "operator.manager", err)
	}
	for _, add := range []func(string, healthz.Checker) error{m.AddHealthzCheck, m.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// cache keeps objects of the operator's namespaces, without their managed fields.
func (o Options) cache() cache.Options {
	out := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if len(o.Namespaces) > 0 {
		out.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range o.Namespaces {
			out.DefaultNamespaces[name] = cache.Config{}
		}
	}
	return out
}

// refused returns the networks of Refused. The fault is operator.network.
func (o Options) refused() (out config.Addresses, err error) {
	for _, text := range o.Refused {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "operator.network", nil, "value", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// outside are the parts that reach beyond the objects of the meta cluster. Tests replace them.
type outside struct {
	addresses *pool.Addresses
	prober    pool.Prober
	launcher  operation.Launcher
	health    cluster.Health
	bundles   interface{ SetUp(m ctrl.Manager) error } // the controller of Infrastructures
}

// outside returns the parts of a real meta cluster. Machines have no address of refused.
func (o Options) outside(m ctrl.Manager, refused config.Addresses) (outside, error) {
	own := &pool.Addresses{Live: m.GetAPIReader(), More: refused}
	host, err := os.Hostname()
	if err != nil {
		return outside{}, event.NewFault(event.ClassFailed, "operator.manager", err)
	}
	prober := &pool.SSH{Dialer: o.Dialer(own.Known), Dir: o.Scratch,
		Who: journal.Holder{Program: "eggops", User: o.Namespace, Host: host, PID: os.Getpid()}}
	inspects := &bundles.Infrastructures{Client: m.GetClient(), Live: m.GetAPIReader(),
		Events: m.GetEventRecorderFor(recorder), Image: o.Image}
	return outside{own, prober, &operation.Jobs{Client: m.GetClient()}, cluster.API{}, inspects}, nil
}

// controllers adds all controllers to a manager.
func (o Options) controllers(m ctrl.Manager, to outside) error {
	c, live, events := m.GetClient(), m.GetAPIReader(), m.GetEventRecorderFor(recorder)
	return errors.Join(
		(&pool.Machines{Client: c, Live: live, Prober: to.prober, Addresses: to.addresses, Events: events}).SetUp(m),
		to.bundles.SetUp(m),
		(&pool.Binder{Client: c, Live: live, Events: events}).SetUp(m),
		m.Add(&guard.Guard{Client: c, Live: live}),
		(&cluster.Controller{Client: c, Events: events, Health: to.health}).SetUp(m),
		(&operation.Controller{Client: c, Launcher: to.launcher, Events: events, Now: time.Now,
			Sentence: o.Sentence, Image: o.Image, MaxRuns: o.MaxRuns, History: o.History}).SetUp(m),
	)
}
