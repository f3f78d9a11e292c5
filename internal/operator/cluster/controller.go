package cluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Owner is the field manager of the statuses that this package applies.
const Owner = "eggops-cluster"

// byCluster is the field by which Operations are found. The API server knows it too.
const byCluster = "spec.clusterRef.name"

// Controller brings clusters to what their objects want.
type Controller struct {
	Client client.Client // Secrets are read from the API server
	Events record.EventRecorder
	Health Health
	Now    func() time.Time // nil: the clock of this host

	printer  *i18n.Printer
	once     sync.Once
	mu       sync.Mutex
	answers  map[types.UID]answered // of the API servers of clusters
	expiries map[types.UID]expiry
}

// SetUp registers the controller with a manager.
func (c *Controller) SetUp(m ctrl.Manager) error {
	err := m.GetFieldIndexer().IndexField(context.Background(), &v1.Operation{}, byCluster,
		func(o client.Object) []string {
			if op, is := o.(*v1.Operation); is {
				return []string{op.Spec.ClusterRef.Name}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("cluster").For(&v1.Cluster{}).
		Watches(&v1.Operation{}, handler.EnqueueRequestsFromMapFunc(ofOperation)).
		Watches(&v1.MachineBinding{}, handler.EnqueueRequestsFromMapFunc(ofBinding)).
		Watches(&v1.Machine{}, handler.EnqueueRequestsFromMapFunc(ofMachine)).
		Watches(&v1.Infrastructure{}, handler.EnqueueRequestsFromMapFunc(c.ofInfrastructure)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).Complete(c)
}

func named(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func ofOperation(_ context.Context, o client.Object) []reconcile.Request {
	if op, is := o.(*v1.Operation); is {
		return named(op.Namespace, op.Spec.ClusterRef.Name)
	}
	return nil
}

func ofBinding(_ context.Context, o client.Object) []reconcile.Request {
	if b, is := o.(*v1.MachineBinding); is && b.Spec.ClusterRef != nil {
		return named(b.Namespace, b.Spec.ClusterRef.Name)
	}
	return nil
}

func ofMachine(_ context.Context, o client.Object) []reconcile.Request {
	if m, is := o.(*v1.Machine); is && m.Status.ClusterRef != nil {
		return named(m.Namespace, m.Status.ClusterRef.Name)
	}
	return nil
}

func (c *Controller) ofInfrastructure(ctx context.Context, o client.Object) (out []reconcile.Request) {
	var all v1.ClusterList
	if c.Client.List(ctx, &all, client.InNamespace(o.GetNamespace())) != nil {
		return nil // they are reconciled again for their health
	}
	for i := range all.Items {
		if r := all.Items[i].Spec.Infrastructure; r != nil && r.Name == o.GetName() {
			out = append(out, named(o.GetNamespace(), all.Items[i].Name)...)
		}
	}
	return out
}

func (c *Controller) init() {
	c.once.Do(func() {
		c.printer, c.answers = i18n.NewPrinter(i18n.English), map[types.UID]answered{}
		c.expiries = map[types.UID]expiry{}
		if c.Now == nil {
			c.Now = time.Now
		}
	})
}

// again is how long after a look the next one comes, if nothing changes before.
const again = time.Minute

// Reconcile implements reconcile.Reconciler.
func (c *Controller) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	c.init()
	cluster := &v1.Cluster{}
	if err := c.Client.Get(ctx, q.NamespacedName, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if cluster.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(cluster, v1.FinalizerCluster) {
		was := cluster.DeepCopy()
		controllerutil.AddFinalizer(cluster, v1.FinalizerCluster)
		patch := client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})
		if err := c.Client.Patch(ctx, cluster, patch); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	w, err := c.observe(ctx, cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return c.remove(ctx, w)
	}
	does, err := w.next(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	return c.perform(ctx, w, does)
}

// perform writes the status of a decision, and then carries it out: the status announces a change of machines before
// it begins.
func (c *Controller) perform(ctx context.Context, w *world, does decision) (reconcile.Result, error) {
	if err := c.drop(ctx, does.drop); err != nil {
		return reconcile.Result{}, err
	}
	for _, o := range does.stop {
		if err := c.stop(ctx, o); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := c.release(ctx, w); err != nil {
		return reconcile.Result{}, err
	}
	if err := c.writeStatus(ctx, w, does); err != nil {
		return reconcile.Result{}, err
	}
	if does.begin != nil {
		if err := c.begin(ctx, w, does.begin); err != nil {
			return reconcile.Result{}, err
		}
	}
	after := again
	if w.health != nil {
		after = w.health.counts()
	}
	if does.after > 0 && does.after < after {
		after = does.after
	}
	return reconcile.Result{RequeueAfter: after + rand.N(after/10)}, nil //nolint:gosec // not a secret
}

// drop deletes Operations that were stopped before they began.
func (c *Controller) drop(ctx context.Context, list []*v1.Operation) error {
	for _, o := range list {
		version := o.ResourceVersion
		err := c.Client.Delete(ctx, o, client.Preconditions{ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// stop asks a run to end its steps and to begin no others.
func (c *Controller) stop(ctx context.Context, o *v1.Operation) error {
	was := o.DeepCopy()
	o.Spec.Stop = v1.StopSteps
	return client.IgnoreNotFound(c.Client.Patch(ctx, o, client.MergeFrom(was)))
}

// begin makes an Operation and then its Secret. Both may exist already, from a time when the operator was stopped in
// between.
func (c *Controller) begin(ctx context.Context, w *world, b *attempt) error {
	o := b.operation(w.cluster)
	if b.exists == nil {
		if err := c.Client.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		c.Events.Eventf(w.cluster, corev1.EventTypeNormal, "OperationCreated", "%s: %s", o.Name, o.Spec.Verb)
	}
	if b.exists != nil || o.UID == "" {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if b.plain {
		return nil
	}
	secret, err := b.input(o)
	if err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(c.Client.Create(ctx, secret))
}
