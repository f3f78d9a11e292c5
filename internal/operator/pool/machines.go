package pool

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	probesAtOnce  = 32
	purgesAtOnce  = 4
	probeInterval = 30 * time.Minute
	probeTimeout  = time.Minute
	purgeTimeout  = 20 * time.Minute
	firstRetry    = time.Minute // after a probe that failed; doubled up to probeInterval
	mostLogins    = 4           // of clusters that are tried for a machine without one
	indexIP       = "spec.ip"
	indexMachine  = "spec.machines.name"
)

// Machines probes the machines of the pool and writes their status.
type Machines struct {
	Client    client.Client
	Live      client.Reader // gets login Secrets, which are never listed, watched or cached
	Prober    Prober
	Addresses *Addresses
	Events    record.EventRecorder
	Now       func() time.Time                    // nil: the clock of this host
	Jitter    func(d time.Duration) time.Duration // nil: 0 to 10 % more, at random

	once    sync.Once
	purges  chan struct{} // a place for each of those at once
	printer *i18n.Printer
	mu      sync.Mutex
	probes  map[types.UID]*probe
}

// probe is the last probe of a machine in this process, or a former one.
type probe struct {
	generation int64
	retry      string // v1.AnnotationRetry
	found      *Found
	fault      *event.Fault
	former     bool // by another process: the status has the result
	purged     bool // the machine was in quarantine, and was cleaned
	fails      int
	at, next   time.Time // next is zero if nothing is tried until the spec changes
}

// SetUp registers the controller with a manager.
func (r *Machines) SetUp(m ctrl.Manager) error {
	index, all := m.GetFieldIndexer(), context.Background()
	err := errors.Join(index.IndexField(all, &v1.Machine{}, indexIP, byIP),
		index.IndexField(all, &v1.MachineBinding{}, indexMachine, byMachine))
	if err != nil {
		return err
	}
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(m).Named("machines").
		For(&v1.Machine{}, builder.WithPredicates(changed)).
		Watches(&v1.MachineBinding{}, handler.EnqueueRequestsFromMapFunc(boundMachines)).
		Watches(&v1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.withoutLogin),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: probesAtOnce}).
		Complete(r)
}

// byIP is the index of Machines by address.
func byIP(o client.Object) []string {
	if m, is := o.(*v1.Machine); is {
		return []string{m.Spec.IP}
	}
	return nil
}

// byMachine is the index of MachineBindings by the names of their machines.
func byMachine(o client.Object) (out []string) {
	if b, is := o.(*v1.MachineBinding); is {
		for _, m := range b.Spec.Machines {
			out = append(out, m.Name)
		}
	}
	return out
}

// boundMachines returns the machines of a binding.
func boundMachines(_ context.Context, o client.Object) (out []reconcile.Request) {
	b, is := o.(*v1.MachineBinding)
	if !is {
		return nil
	}
	for _, m := range b.Spec.Machines {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: b.Namespace, Name: m.Name}})
	}
	return out
}

// withoutLogin returns the machines that have no login of their own, and may use that of a cluster.
func (r *Machines) withoutLogin(ctx context.Context, o client.Object) (out []reconcile.Request) {
	var all v1.MachineList
	if r.Client.List(ctx, &all, client.InNamespace(o.GetNamespace())) != nil {
		return nil
	}
	for i := range all.Items {
		if all.Items[i].Spec.LoginSecretRef == nil {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return out
}

func (r *Machines) init() {
	r.once.Do(func() {
		r.printer, r.probes = i18n.NewPrinter(i18n.English), map[types.UID]*probe{}
		r.purges = make(chan struct{}, purgesAtOnce)
		if r.Now == nil {
			r.Now = time.Now
		}
		if r.Jitter == nil {
			r.Jitter = func(d time.Duration) time.Duration { return d + rand.N(d/10+1) } //nolint:gosec // not a secret
		}
	})
}

// Reconcile implements reconcile.Reconciler.
func (r *Machines) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	r.init()
	var m v1.Machine
	if err := r.Client.Get(ctx, q.NamespacedName, &m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !m.DeletionTimestamp.IsZero() {
		r.forget(m.UID)
		return reconcile.Result{}, nil
	}
	own, err := r.Addresses.Get(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := r.last(&m)
	if r.due(&m, p) {
		if p, err = r.probe(ctx, &m, own, p); err != nil {
			return reconcile.Result{}, err
		}
		if err := r.Client.Get(ctx, q.NamespacedName, &m); err != nil { // a probe takes seconds
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if err := r.purge(ctx, &m, p); err != nil {
			return reconcile.Result{}, err
		}
	}
	if p.generation != m.Generation { // it was probed as it was before
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	claim, err := r.claim(ctx, &m)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.write(ctx, &m, r.assess(&m, p, claim)); err != nil {
		if apierrors.IsConflict(err) { // somebody has changed it: the cache will have that soon
			return reconcile.Result{RequeueAfter: time.Second}, nil
		}
		return reconcile.Result{}, err
	}
	if p.next.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(time.Second, p.next.Sub(r.Now()))}, nil
}

func (r *Machines) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.probes, uid)
}

// last returns the last probe of a machine. After a start that is the one in the status, if there is one: machines are
// not all probed again at once.
func (r *Machines) last(m *v1.Machine) *probe {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.probes[m.UID]; p != nil {
		return p
	}
	s := m.Status
	if s.LastProbe == nil || !conditions.Is(s.Conditions, v1.ConditionReachable, m.Generation) {
		return &probe{generation: -1}
	}
	p := &probe{generation: m.Generation, retry: m.Annotations[v1.AnnotationRetry], former: true, at: s.LastProbe.Time}
	p.next = r.Now().Add(rand.N(probeInterval)) //nolint:gosec // not a secret
	r.probes[m.UID] = p
	return p
}

// due reports whether a machine has to be probed now.
func (r *Machines) due(m *v1.Machine, p *probe) bool {
	return p.generation != m.Generation || p.retry != m.Annotations[v1.AnnotationRetry] ||
		!p.next.IsZero() && !r.Now().Before(p.next)
}

// probe probes a machine, and notes when it is probed the next time. The error is that of the API server, or of the end
// of the process; what is wrong with the machine is in the result.
func (r *Machines) probe(ctx context.Context, m *v1.Machine, own config.Addresses, before *probe) (*probe, error) {
	p := &probe{generation: m.Generation, retry: m.Annotations[v1.AnnotationRetry]}
	var err error
	if p.fault, err = r.blocked(ctx, m, own); err != nil {
		return nil, err
	}
	if p.fault == nil {
		if p.found, p.fault, err = r.try(ctx, m); err != nil {
			return nil, err
		}
	}
	p.at = r.Now()
	switch {
	case p.fault == nil:
		p.next = p.at.Add(r.Jitter(probeInterval))
	case p.fault.Code == "ssh.hostkey-changed", p.fault.Code == "ssh.hostkey-revoked", p.fault.Code == "pool.address":
		// nothing is tried until somebody has changed the machine
	default:
		if before.generation == m.Generation {
			p.fails = min(before.fails+1, 16)
		}
		p.next = p.at.Add(r.Jitter(min(probeInterval, firstRetry<<p.fails)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes[m.UID] = p
	return p, nil
}

// blocked returns why a machine is not logged in to at all; nil if it is.
func (r *Machines) blocked(ctx context.Context, m *v1.Machine, own config.Addresses) (*event.Fault, error) {
	hosts := []string{m.Spec.IP}
	for _, b := range m.Spec.Bastions {
		hosts = append(hosts, b.Host)
	}
	for _, host := range hosts {
		if f := refused(own, host); f != nil {
			return f, nil
		}
	}
	var same v1.MachineList
	if err := r.Client.List(ctx, &same, client.MatchingFields{indexIP: m.Spec.IP}); err != nil {
		return nil, err
	}
	for i := range same.Items {
		o := &same.Items[i]
		if o.UID == m.UID || portOf(o.Spec.Port) != portOf(m.Spec.Port) || !before(o, m) {
			continue
		}
		if o.Namespace != m.Namespace { // of which this user may know nothing
			return event.NewFault(event.ClassUsage, "pool.same-ip-elsewhere", nil, "addr", m.Spec.IP), nil
		}
		return event.NewFault(event.ClassUsage, "pool.same-ip", nil, "addr", m.Spec.IP, "machine", o.Name), nil
	}
	return nil, nil
}

// before reports whether a machine has its address, and another one of the same address has not: the one that a cluster
// has, else the older one.
func before(a, b *v1.Machine) bool {
	if x, y := a.Status.ClusterRef != nil, b.Status.ClusterRef != nil; x != y {
		return x
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)) < 0
}

// try logs in to a machine with its login, or with one that it may have.
func (r *Machines) try(ctx context.Context, m *v1.Machine) (*Found, *event.Fault, error) {
	names, err := r.logins(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return nil, event.NewFault(event.ClassAuth, "pool.login-none", nil), nil
	}
	var first *event.Fault
	for _, name := range names {
		t, f, err := r.target(ctx, m, name)
		if err != nil {
			return nil, nil, err
		}
		if f == nil {
			limited, cancel := context.WithTimeout(ctx, probeTimeout)
			got, err := r.Prober.Probe(limited, t)
			cancel()
			switch {
			case err == nil:
				got.secret = name
				return got, nil, nil
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			}
			f = event.AsFault(err)
			if errors.Is(err, context.DeadlineExceeded) {
				f = event.NewFault(event.ClassFailed, "pool.slow", nil, "limit", probeTimeout.String())
			}
		}
		if first == nil {
			first = f
		}
		if strings.HasPrefix(f.Code, "ssh.hostkey") || f.Class != event.ClassAuth { // another login does not help
			return nil, f, nil
		}
	}
	return nil, first, nil
}

// logins returns the names of the Secrets that may log in to a machine: its own; else that of the cluster that has it;
// else those of clusters of the namespace that could get it.
func (r *Machines) logins(ctx context.Context, m *v1.Machine) ([]string, error) {
	if ref := m.Spec.LoginSecretRef; ref != nil {
		return []string{ref.Name}, nil
	}
	var all v1.ClusterList
	if err := r.Client.List(ctx, &all, client.InNamespace(m.Namespace)); err != nil {
		return nil, err
	}
	claim, err := r.claim(ctx, m)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all.Items, func(a, b v1.Cluster) int { return strings.Compare(a.Name, b.Name) })
	var out []string
	for i := range all.Items {
		c := &all.Items[i]
		ref := c.Spec.MachineLoginSecret
		if ref == nil || ref.Name == "" || ref.Namespace != "" && ref.Namespace != m.Namespace {
			continue
		}
		if claim != nil && claim.cluster == c.Name || claim == nil && wants(c, m) {
			out = append(out, ref.Name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), mostLogins)], nil
}

// wants reports whether a cluster could get a machine, by name or labels.
func wants(c *v1.Cluster, m *v1.Machine) bool {
	w := WantedOf(c, nil)
	return slices.ContainsFunc(w.Names, func(n v1.ClusterMachine) bool { return n.Name == m.Name }) ||
		slices.ContainsFunc(w.Needs, func(n Need) bool { return hasLabels(m.Labels, n.Labels) })
}

// login reads a login Secret.
func (r *Machines) login(ctx context.Context, namespace, name string) (Login, *event.Fault, error) {
	var s corev1.Secret
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s); {
	case apierrors.IsNotFound(err):
		return Login{}, event.NewFault(event.ClassAuth, "pool.login-missing", nil, "secret", name), nil
	case err != nil:
		return Login{}, nil, err
	}
	l, f := loginOf(&s)
	return l, f, nil
}

// target returns how a machine is reached with a login.
func (r *Machines) target(ctx context.Context, m *v1.Machine, secret string) (Target, *event.Fault, error) {
	login, f, err := r.login(ctx, m.Namespace, secret)
	if f != nil || err != nil {
		return Target{}, f, err
	}
	ip, err := netip.ParseAddr(m.Spec.IP)
	if err != nil {
		return Target{}, event.NewFault(event.ClassUsage, "config.ip", nil, "value", m.Spec.IP), nil
	}
	t := Target{Name: m.Spec.HostName, IP: ip, Port: portOf(m.Spec.Port), Arch: render.Arch(m.Spec.Arch), Login: login,
		HostKeys: m.Spec.HostKeys}
	if len(t.HostKeys) == 0 && m.Spec.HostKeyPolicy == v1.HostKeysOnFirst {
		t.HostKeys = m.Status.TrustedHostKeys
		t.FirstUse = len(t.HostKeys) == 0
	}
	if t.FirstUse && login.Password != "" && m.Annotations[v1.AnnotationPasswordOnFirstUse] != "true" {
		return Target{}, event.NewFault(event.ClassAuth, "pool.password-first-use", nil, "secret", secret), nil
	}
	if claim, err := r.claim(ctx, m); err != nil {
		return Target{}, nil, err
	} else if claim != nil {
		t.Cluster = claim.cluster
	}
	for _, b := range m.Spec.Bastions {
		hop := Hop{Host: b.Host, Port: portOf(b.Port), HostKeys: b.HostKeys, Login: login}
		if b.LoginSecretRef != nil {
			if hop.Login, f, err = r.login(ctx, m.Namespace, b.LoginSecretRef.Name); f != nil || err != nil {
				return Target{}, f, err
			}
		}
		t.Hops = append(t.Hops, hop)
	}
	return t, nil, nil
}

func portOf(p *int32) int {
	if p == nil || *p == 0 {
		return 22
	}
	return int(*p)
}
