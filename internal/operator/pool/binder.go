package pool

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// mostUsage bounds the message about a machine in the status of a binding, in bytes.
const mostUsage = 1000

// Owner is the field manager of everything that this package applies.
const Owner = "eggops-pool"

// Binder writes the MachineBindings of Clusters. There must be one in all processes: it runs in the leader alone, one
// Cluster at a time.
type Binder struct {
	Client client.Client
	Live   client.Reader // not cached
	Events record.EventRecorder
	Now    func() time.Time // nil: the clock of this host

	printer *i18n.Printer
	mu      sync.Mutex
	// written are the bindings that this process wrote and that the cache may not have yet.
	written map[client.ObjectKey]*v1.MachineBinding
}

// SetUp registers the binder with a manager.
func (b *Binder) SetUp(m ctrl.Manager) error {
	one := false
	return ctrl.NewControllerManagedBy(m).Named("binder").For(&v1.Cluster{}).
		Watches(&v1.Machine{}, handler.EnqueueRequestsFromMapFunc(b.waiting)).
		Watches(&v1.MachineBinding{}, handler.EnqueueRequestsFromMapFunc(ownCluster)).
		// With a priority queue, the requests of the start would be served after all later ones.
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, UsePriorityQueue: &one}).
		Complete(b)
}

// ownCluster returns the cluster of a binding.
func ownCluster(_ context.Context, o client.Object) []reconcile.Request {
	b, is := o.(*v1.MachineBinding)
	if !is {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: b.Namespace, Name: clusterOf(b)}}}
}

// waiting returns the clusters for which a machine may make a difference: the one that has it, and those that wait for
// machines.
func (b *Binder) waiting(ctx context.Context, o client.Object) (out []reconcile.Request) {
	m, is := o.(*v1.Machine)
	if !is {
		return nil
	}
	var all v1.ClusterList
	if b.Client.List(ctx, &all, client.InNamespace(m.Namespace)) != nil {
		return nil
	}
	for i := range all.Items {
		c := &all.Items[i]
		has := m.Status.ClusterRef != nil && m.Status.ClusterRef.Name == c.Name
		if has || !meta.IsStatusConditionTrue(c.Status.Conditions, v1.ConditionMachinesBound) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return out
}

// Reconcile implements reconcile.Reconciler.
func (b *Binder) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.printer == nil {
		b.printer, b.written = i18n.NewPrinter(i18n.English), map[client.ObjectKey]*v1.MachineBinding{}
	}
	var c v1.Cluster
	if err := b.Client.Get(ctx, q.NamespacedName, &c); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err) // its machines stay bound until another adopts them
	}
	view, err := b.view(ctx, c.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !c.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, b.unbind(ctx, &c, view)
	}
	if c.Spec.Paused {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, b.bind(ctx, &c, view)
}

// view is the machines and bindings of a namespace.
type view struct {
	machines map[string]*v1.Machine
	bindings []v1.MachineBinding
}

func (v view) binding(name string) *v1.MachineBinding {
	for i := range v.bindings {
		if v.bindings[i].Name == name {
			return &v.bindings[i]
		}
	}
	return nil
}

// view returns a namespace as it is. The cache may lack what this process has just written.
func (b *Binder) view(ctx context.Context, namespace string) (view, error) {
	out := view{machines: map[string]*v1.Machine{}}
	var machines v1.MachineList
	var bindings v1.MachineBindingList
	// None of the objects is changed: they are those of the cache.
	shared := []client.ListOption{client.InNamespace(namespace), client.UnsafeDisableDeepCopy}
	if err := b.Client.List(ctx, &machines, shared...); err != nil {
		return out, err
	}
	if err := b.Client.List(ctx, &bindings, shared...); err != nil {
		return out, err
	}
	for i := range machines.Items {
		out.machines[machines.Items[i].Name] = &machines.Items[i]
	}
	out.bindings = bindings.Items
	for at, own := range maps.Clone(b.written) {
		if at.Namespace != namespace {
			continue
		}
		i := slices.IndexFunc(out.bindings, func(x v1.MachineBinding) bool { return x.Name == at.Name })
		if i >= 0 && out.bindings[i].UID == own.UID && out.bindings[i].Generation >= own.Generation {
			delete(b.written, at)
			continue
		}
		var live v1.MachineBinding
		switch err := b.Live.Get(ctx, at, &live); {
		case apierrors.IsNotFound(err):
			delete(b.written, at)
			if i >= 0 {
				out.bindings = slices.Delete(out.bindings, i, i+1)
			}
			continue
		case err != nil:
			return out, err
		}
		if i < 0 {
			out.bindings = append(out.bindings, live)
		} else {
			out.bindings[i] = live
		}
	}
	return out, nil
}

// bind gives a cluster what it requires, as far as it has changed.
func (b *Binder) bind(ctx context.Context, c *v1.Cluster, v view) error {
	old := v.binding(v1.BindingName(c.Name))
	var spec v1.MachineBindingSpec
	if old != nil {
		spec = old.Spec
	}
	bound := adopted(spec, v.machines)
	bound = slices.DeleteFunc(bound, func(m v1.BoundMachine) bool {
		is := v.machines[m.Name]
		return is != nil && released(is, c.Name) || is == nil && m.Leaving
	})
	bound = append(bound, restored(c, bound, v.machines)...)
	infra, err := b.infrastructure(ctx, c)
	if err != nil {
		return err
	}
	taken, pool := takenBy(v.bindings), make([]Candidate, 0, len(v.machines))
	for _, m := range v.machines {
		pool = append(pool, candidateOf(m, taken))
	}
	got := Allocate(WantedOf(c, infra), bound, pool)
	if err := b.write(ctx, c, v, old, got.Machines); err != nil {
		return err
	}
	if err := b.repeat(ctx, c, v, old, got.Machines); err != nil {
		return err
	}
	return b.report(ctx, c, got)
}

// repeat writes the status of a binding, which has for readers of the original's fields what the Machines say.
func (b *Binder) repeat(ctx context.Context, c *v1.Cluster, v view, old *v1.MachineBinding, machines []v1.BoundMachine,
) error {
	var s v1.MachineBindingStatus
	for _, x := range machines {
		m := v.machines[x.Name]
		if m == nil || m.Status.ClusterRef == nil || m.Status.ClusterRef.Name != c.Name {
			continue
		}
		if s.Conditions == nil {
			s.Conditions = map[string]v1.MachineCondition{}
		}
		is := v1.MachineCondition{Message: event.Clip(m.Status.ErrorMessage, mostUsage)}
		if c.Status.HasCluster && !x.Leaving {
			for _, role := range x.Roles {
				is.UsagesStatus |= role.Bit()
			}
		}
		s.Conditions[x.UID] = is
	}
	if old == nil || equality.Semantic.DeepEqual(old.Status, s) {
		return nil // a new one is reconciled once more
	}
	return conditions.Apply(ctx, b.Client, "MachineBinding", client.ObjectKeyFromObject(old), "", Owner+"-status", &s)
}

// adopted returns the machines of a binding. One whose object was deleted and made again with the same address is still
// the same machine.
func adopted(s v1.MachineBindingSpec, machines map[string]*v1.Machine) []v1.BoundMachine {
	out := slices.Clone(s.Machines)
	for i, m := range out {
		now := machines[m.Name]
		if now == nil || string(now.UID) == m.UID {
			continue
		}
		if was, is := oldCopy(s, m.Name); is && was.Spec.IP == now.Spec.IP {
			out[i].UID = string(now.UID)
		}
	}
	return out
}

// restored returns the machines of a cluster that its binding lacks, though they were not released: somebody has
// deleted or changed it. Without this, a cluster would get other machines while it runs on these.
func restored(c *v1.Cluster, bound []v1.BoundMachine, machines map[string]*v1.Machine) (out []v1.BoundMachine) {
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		ref := m.Status.ClusterRef
		if !isBound(m) || ref.Name != c.Name || ref.UID != string(c.UID) || len(m.Status.Roles) == 0 ||
			slices.ContainsFunc(bound, func(x v1.BoundMachine) bool { return x.Name == name }) {
			continue
		}
		out = append(out, v1.BoundMachine{Name: name, UID: string(m.UID), Roles: slices.Clone(m.Status.Roles)})
	}
	return out
}

// infrastructure returns that of a cluster; nil if it does not exist.
func (b *Binder) infrastructure(ctx context.Context, c *v1.Cluster) (*v1.Infrastructure, error) {
	ref := c.Spec.Infrastructure
	if ref == nil || ref.Name == "" || ref.Namespace != "" && ref.Namespace != c.Namespace {
		return nil, nil
	}
	var out v1.Infrastructure
	err := b.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, &out)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return &out, err
}

// unbind removes the machines of a cluster that is being deleted from its binding, as they are released, and the
// binding with the last one. With the policy Orphan nothing is released, and the binding stays.
func (b *Binder) unbind(ctx context.Context, c *v1.Cluster, v view) error {
	if c.Spec.DeletionPolicy == v1.DeletionOrphan {
		return nil
	}
	old := v.binding(v1.BindingName(c.Name))
	var rest []v1.BoundMachine
	if old != nil {
		rest = slices.DeleteFunc(slices.Clone(old.Spec.Machines), func(m v1.BoundMachine) bool {
			return released(v.machines[m.Name], c.Name)
		})
	}
	rest = append(rest, restored(c, rest, v.machines)...)
	if len(rest) > 0 {
		return b.write(ctx, c, v, old, rest)
	}
	if old == nil {
		return nil
	}
	at := client.ObjectKeyFromObject(old)
	uid := old.UID
	err := b.Client.Delete(ctx, old, client.Preconditions{UID: &uid})
	if err == nil {
		b.written[at] = old // until the cache has seen the deletion
	}
	return client.IgnoreNotFound(err)
}

// write applies the spec of a binding, if it differs.
func (b *Binder) write(ctx context.Context, c *v1.Cluster, v view, old *v1.MachineBinding, machines []v1.BoundMachine,
) error {
	var was v1.MachineBindingSpec
	if old != nil {
		was = old.Spec
	}
	if old == nil && len(machines) == 0 {
		return nil
	}
	spec := bindingSpec(c, machines, v.machines, was)
	if old != nil && equality.Semantic.DeepEqual(spec, was) {
		return nil
	}
	at := client.ObjectKey{Namespace: c.Namespace, Name: v1.BindingName(c.Name)}
	u, err := conditions.Part("MachineBinding", at, "spec", &spec)
	if err != nil {
		return err
	}
	u.SetLabels(map[string]string{v1.LabelCluster: c.Name})
	if old != nil {
		u.SetResourceVersion(old.ResourceVersion)
	}
	if err := b.Client.Patch(ctx, u, client.Apply, client.FieldOwner(Owner), client.ForceOwnership); err != nil {
		return err
	}
	made := &v1.MachineBinding{Spec: spec}
	made.Namespace, made.Name, made.UID = u.GetNamespace(), u.GetName(), u.GetUID()
	made.Generation, made.ResourceVersion = u.GetGeneration(), u.GetResourceVersion()
	b.written[client.ObjectKeyFromObject(made)] = made
	b.tell(c, was.Machines, machines)
	return nil
}

// tell makes events of the claims that changed.
func (b *Binder) tell(c *v1.Cluster, was, now []v1.BoundMachine) {
	find := func(list []v1.BoundMachine, name string) *v1.BoundMachine {
		if i := slices.IndexFunc(list, func(m v1.BoundMachine) bool { return m.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, m := range now {
		switch old := find(was, m.Name); {
		case old == nil:
			b.say(c, "MachineBound", event.M("pool.bound", "machine", m.Name))
		case m.Leaving && !old.Leaving:
			b.say(c, "MachineLeaving", event.M("pool.leaving", "machine", m.Name))
		}
	}
	for _, m := range was {
		if find(now, m.Name) == nil {
			b.say(c, "MachineReleased", event.M("pool.released", "machine", m.Name))
		}
	}
}

func (b *Binder) say(c *v1.Cluster, reason string, m event.Msg) {
	b.Events.Event(c, corev1.EventTypeNormal, reason, b.printer.Msg(m))
}

// report writes the condition MachinesBound of a cluster, if it has changed.
func (b *Binder) report(ctx context.Context, c *v1.Cluster, got Allocation) error {
	f := fault(b.printer, got)
	cond := conditions.Holding(v1.ConditionMachinesBound, v1.ReasonSucceeded,
		b.printer.T("pool.all-bound", "count", strconv.Itoa(len(got.Machines))))
	if f != nil {
		cond = conditions.Failing(b.printer, v1.ConditionMachinesBound, f)
	}
	cond.ObservedGeneration = c.Generation
	list := slices.Clone(c.Status.Conditions)
	meta.SetStatusCondition(&list, b.at(cond))
	now := meta.FindStatusCondition(list, v1.ConditionMachinesBound)
	was := meta.FindStatusCondition(c.Status.Conditions, v1.ConditionMachinesBound)
	if was != nil && equality.Semantic.DeepEqual(*was, *now) {
		return nil
	}
	if f != nil && (was == nil || was.Message != now.Message) {
		b.Events.Event(c, corev1.EventTypeWarning, now.Reason, now.Message)
	}
	return conditions.Apply(ctx, b.Client, "Cluster", client.ObjectKeyFromObject(c), "", Owner,
		&struct {
			Conditions []metav1.Condition `json:"conditions"`
		}{[]metav1.Condition{*now}})
}

func (b *Binder) at(c metav1.Condition) metav1.Condition {
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	c.LastTransitionTime = metav1.NewTime(now())
	return c
}

// fault returns why an allocation is not complete; nil if it is.
func fault(p *i18n.Printer, got Allocation) *event.Fault {
	if len(got.Short) == 0 {
		if len(got.Held) > 0 {
			return event.NewFault(event.ClassPreflight, "pool.quorum", nil, "machines", p.List(got.Held))
		}
		return nil
	}
	var parts []string
	for _, s := range got.Short {
		var more []string
		for _, why := range slices.Sorted(maps.Keys(s.Why)) {
			more = append(more, p.T("pool.why."+string(why), "count", strconv.Itoa(s.Why[why])))
		}
		if s.Name != "" {
			parts = append(parts, p.T("pool.short.name", "machine", s.Name, "why", p.List(more)))
			continue
		}
		text := p.T("pool.short", "role", string(s.Role), "want", strconv.Itoa(s.Want), "have", strconv.Itoa(s.Have),
			"free", strconv.Itoa(s.Free))
		if len(more) > 0 {
			text += " (" + p.List(more) + ")"
		}
		parts = append(parts, text)
	}
	return event.NewFault(event.ClassPreflight, "pool.machines-missing", nil, "missing", strings.Join(parts, "; "))
}
