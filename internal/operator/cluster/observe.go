package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// world is a cluster with everything that decides what it needs next.
type world struct {
	cluster *v1.Cluster
	now     time.Time
	binding *v1.MachineBinding     // nil: there is none
	bound   map[string]*v1.Machine // of the binding, by name; without those that do not exist
	infra   *v1.Infrastructure     // nil: there is none, or none is named
	has     known
	ops     []v1.Operation // of the cluster, the oldest first
	health  *answered      // nil: there is no answer yet
	expires time.Time      // the first certificate; zero: it is not known

	// describe returns the wanted cluster with the bundles of a version. Machines that leave are part of it if keep has
	// their names.
	describe func(ctx context.Context, version string, keep []string) (description, error)
}

// known is the state of a cluster, as its Secrets have it.
type known struct {
	text      []byte          // its deploy.yaml; nil: no run has changed a machine yet
	config    *config.Cluster // of text
	fault     *event.Fault    // why text cannot be read
	upgrading bool
}

// description describes a cluster as it is wanted.
type description struct {
	file     render.Result
	problems config.Problems
	pod      pod.Input
	logins   []string // name and resource version of each Secret
}

// observe reads everything that decides what a cluster needs next.
func (c *Controller) observe(ctx context.Context, cluster *v1.Cluster) (*world, error) {
	w := &world{cluster: cluster, now: c.Now(), bound: map[string]*v1.Machine{}}
	w.describe = func(ctx context.Context, version string, keep []string) (description, error) {
		return c.describe(ctx, cluster, version, keep)
	}
	get := func(name string, into client.Object) (bool, error) {
		err := c.Client.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name}, into)
		return err == nil, client.IgnoreNotFound(err)
	}
	binding := &v1.MachineBinding{}
	if is, err := get(v1.BindingName(cluster.Name), binding); err != nil {
		return nil, err
	} else if is {
		w.binding = binding
		for _, b := range binding.Spec.Machines {
			m := &v1.Machine{}
			if is, err := get(b.Name, m); err != nil {
				return nil, err
			} else if is {
				w.bound[b.Name] = m
			}
		}
	}
	if r := cluster.Spec.Infrastructure; r != nil && r.Name != "" {
		infra := &v1.Infrastructure{}
		if is, err := get(r.Name, infra); err != nil {
			return nil, err
		} else if is {
			w.infra = infra
		}
	}
	var err error
	if w.has, err = c.known(ctx, cluster); err != nil {
		return nil, err
	}
	var ops v1.OperationList
	err = c.Client.List(ctx, &ops, client.InNamespace(cluster.Namespace),
		client.MatchingFields{byCluster: cluster.Name})
	if err != nil {
		return nil, err
	}
	w.ops = ops.Items
	slices.SortFunc(w.ops, func(a, b v1.Operation) int {
		if d := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	w.health = c.health(ctx, w)
	return w, c.certificates(ctx, w)
}

// expiry is when the first certificate of a cluster expires, as it was found.
type expiry struct {
	expires, at time.Time
	after       string // the last run before
}

// oftenEnough is how long an expiry counts while nothing runs: the Secret with the certificates is large.
const oftenEnough = time.Hour

// certificates finds when the first certificate of a cluster expires.
func (c *Controller) certificates(ctx context.Context, w *world) error {
	if w.has.config == nil {
		return nil
	}
	after := w.ended()
	c.mu.Lock()
	known, is := c.expiries[w.cluster.UID]
	c.mu.Unlock()
	if !is || known.after != after || w.now.Sub(known.at) >= oftenEnough {
		expires, err := state.Expiry(ctx, c.Client, w.cluster.Namespace, w.cluster.Name)
		if f := event.AsFault(err); err != nil && f.Class == event.ClassPreflight {
			w.has.fault = f
			return nil
		}
		if err != nil {
			return err
		}
		known = expiry{expires, w.now, after}
		c.mu.Lock()
		c.expiries[w.cluster.UID] = known
		c.mu.Unlock()
	}
	w.expires = known.expires
	return nil
}

// ended returns the name of the last run that may have changed machines and has ended; "" if there is none.
func (w *world) ended() string {
	last := w.last(changed)
	if last == nil {
		return ""
	}
	return last.Name
}

// known reads the state of a cluster. Keys and certificates are not read.
func (c *Controller) known(ctx context.Context, cluster *v1.Cluster) (out known, err error) {
	for _, part := range []v1.StatePart{v1.StateConfig, v1.StateProgress} {
		s := &corev1.Secret{}
		err := c.Client.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace,
			Name: v1.StateSecret(cluster.Name, part)}, s)
		if apierrors.IsNotFound(err) || err == nil && s.Type != v1.SecretTypeState {
			continue
		}
		if err != nil {
			return out, err
		}
		if part == v1.StateProgress {
			out.upgrading = len(s.Data[input.UpgradeName]) > 0
			continue
		}
		if out.text = s.Data[store.ConfigName]; len(out.text) == 0 {
			out.text = nil
			continue
		}
		is, problems := config.Load(out.text, store.ConfigName)
		if problems.HasErrors() {
			i := slices.IndexFunc(problems, func(p config.Problem) bool { return p.Severity == event.Error })
			out.fault = problems[i].Fault()
			continue
		}
		out.config = is
	}
	return out, nil
}

// describe implements world.describe.
func (c *Controller) describe(ctx context.Context, cluster *v1.Cluster, version string, keep []string,
) (out description, err error) {
	objects := staying{c.Client, keep}
	in, pod, err := gather.Gather(ctx, objects, c.Client, cluster, version)
	if err != nil {
		return out, err
	}
	out.pod = pod
	out.file, out.problems = render.Cluster(in)
	for _, name := range pod.Logins {
		s := &corev1.Secret{}
		if err := c.Client.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name}, s); err != nil {
			return out, err
		}
		out.logins = append(out.logins, name+"@"+s.ResourceVersion)
	}
	return out, nil
}

// staying reads MachineBindings as if some machines did not leave.
type staying struct {
	gather.Getter
	keep []string
}

// Get implements gather.Getter.
func (s staying) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := s.Getter.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	if b, is := o.(*v1.MachineBinding); is {
		for i, m := range b.Spec.Machines {
			if slices.Contains(s.keep, m.Name) {
				b.Spec.Machines[i].Leaving = false
			}
		}
	}
	return nil
}

// reachable reports whether the last probe of a machine reached it, or none was made yet.
func reachable(m *v1.Machine) bool {
	for _, c := range m.Status.Conditions {
		if c.Type == v1.ConditionReachable {
			return c.Status != "False"
		}
	}
	return true
}
