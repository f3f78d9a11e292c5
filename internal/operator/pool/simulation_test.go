package pool

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// simulation is a pool with its clusters, and a runner that installs and cleans machines in no time. Machines die,
// processes are killed, bindings are deleted, all by a seed.
type simulation struct {
	t        *testing.T
	at       string
	r        *rand.Rand
	c        client.Client
	network  *network
	binder   *Binder
	machines *Machines
	now      time.Time
	names    []string // of machines
	clusters []string
	changed  map[string]bool // machines that have to be reconciled
}

func simulated(t *testing.T, seed uint64, clusters, machines int) *simulation {
	s := &simulation{t: t, at: fmt.Sprintf("seed %d", seed), r: rand.New(rand.NewPCG(seed, 2)),
		network: &network{down: map[string]bool{}, cluster: map[string]string{}, broken: map[string]bool{}},
		changed: map[string]bool{},
		now:     time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	objects := []client.Object{login("key", corev1.SecretTypeSSHAuth)}
	for i := range machines {
		m := unprobed(fmt.Sprintf("m%03d", i), fmt.Sprintf("198.51.%d.%d", i/200, i%200+1))
		m.Labels = map[string]string{"zone": []string{"a", "b", "c"}[s.r.IntN(3)]}
		objects, s.names = append(objects, m), append(s.names, m.Name)
		s.changed[m.Name] = true
	}
	for i := range clusters {
		s.clusters = append(s.clusters, fmt.Sprintf("c%02d", i))
	}
	s.c = cluster(t, objects...)
	s.restarted()
	return s
}

// restarted begins with new processes, which know nothing.
func (s *simulation) restarted() {
	events := record.NewFakeRecorder(1 << 16)
	s.binder = &Binder{Client: s.c, Live: s.c, Events: events}
	s.machines = &Machines{Client: s.c, Live: s.c, Prober: s.network, Events: events,
		Addresses: &Addresses{Live: s.c, own: noAddresses}, Now: func() time.Time { return s.now },
		Jitter: func(d time.Duration) time.Duration { return d }}
}

func (s *simulation) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(s.at, err)
	}
}

func (s *simulation) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: space, Name: name}
}

// edit changes a machine as a user does.
func (s *simulation) edit(name string, do func(m *v1.Machine)) {
	var m v1.Machine
	s.must(s.c.Get(s.t.Context(), s.key(name), &m))
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	do(&m)
	s.must(s.c.Update(s.t.Context(), &m))
	s.changed[name] = true
}

// event changes something.
func (s *simulation) event(n int) {
	machine, name := s.names[s.r.IntN(len(s.names))], s.clusters[s.r.IntN(len(s.clusters))]
	switch s.r.IntN(10) {
	case 0, 1: // a machine dies, or is back
		s.network.set(func() {
			s.network.down[machine], s.network.broken[machine] = !s.network.down[machine], s.r.IntN(3) == 0
		})
		s.edit(machine, func(m *v1.Machine) { m.Annotations[v1.AnnotationRetry] = fmt.Sprint(n) })
	case 2:
		s.edit(machine, func(m *v1.Machine) { m.Spec.Maintenance = !m.Spec.Maintenance })
	case 3:
		s.edit(machine, func(m *v1.Machine) { m.Annotations[v1.AnnotationRelease] = "" })
	case 4:
		s.restarted()
	case 5:
		for _, m := range s.bindings()[name] {
			s.changed[m.Name] = true
		}
		s.must(client.IgnoreNotFound(s.c.Delete(s.t.Context(), &v1.MachineBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: space, Name: v1.BindingName(name)}})))
	case 6:
		s.must(client.IgnoreNotFound(s.c.Delete(s.t.Context(), requires(name, 1, 0))))
	default: // a cluster gets other numbers, or begins
		want := requires(name, 1+2*int32(s.r.IntN(2)), int32(s.r.IntN(8)))
		if s.r.IntN(2) == 0 {
			want.Spec.WorkerRequire.Features = map[string]string{"zone": "a"}
		}
		want.UID, want.Finalizers = types.UID(fmt.Sprint(name, n)), []string{v1.FinalizerCluster}
		var is v1.Cluster
		err := s.c.Get(s.t.Context(), s.key(name), &is)
		switch {
		case err == nil && is.DeletionTimestamp.IsZero():
			is.Spec = want.Spec
			s.must(s.c.Update(s.t.Context(), &is))
		case err != nil:
			s.must(s.c.Create(s.t.Context(), want))
		}
	}
}

// bindings returns what is bound, by cluster.
func (s *simulation) bindings() map[string][]v1.BoundMachine {
	var list v1.MachineBindingList
	s.must(s.c.List(s.t.Context(), &list))
	out := map[string][]v1.BoundMachine{}
	for _, b := range list.Items {
		out[clusterOf(&b)] = b.Spec.Machines
	}
	return out
}

// settle reconciles until nothing changes any more. The runner does its part in between.
func (s *simulation) settle() {
	if s.r.IntN(2) == 0 { // the controllers are not in step
		s.probes()
	}
	for range 12 {
		after := s.binds()
		did := s.probes()
		if did = s.runs(after) || did; !did && len(s.changed) == 0 {
			return
		}
	}
	s.t.Fatal(s.at, "it does not come to rest")
}

// probes reconciles the machines that have changed. It reports whether there were any.
func (s *simulation) probes() bool {
	names := slices.Sorted(maps.Keys(s.changed))
	clear(s.changed)
	for _, name := range names {
		_, err := s.machines.Reconcile(s.t.Context(), named(name))
		s.must(err)
	}
	return len(names) > 0
}

// binds reconciles all clusters, and returns what is bound then.
func (s *simulation) binds() map[string][]v1.BoundMachine {
	before := s.bindings()
	for _, name := range s.clusters {
		_, err := s.binder.Reconcile(s.t.Context(), named(name))
		s.must(err)
	}
	after := s.bindings()
	for _, all := range []map[string][]v1.BoundMachine{before, after} {
		for name := range all {
			if spelled(before[name]) != spelled(after[name]) {
				for _, m := range all[name] {
					s.changed[m.Name] = true
				}
			}
		}
	}
	return after
}

// runs installs what is bound, and cleans what leaves or quarantines it. It reports whether it did something.
func (s *simulation) runs(bound map[string][]v1.BoundMachine) (did bool) {
	for name, list := range bound {
		var c v1.Cluster
		err := s.c.Get(s.t.Context(), s.key(name), &c)
		s.must(client.IgnoreNotFound(err))
		deleted := err == nil && !c.DeletionTimestamp.IsZero()
		for _, m := range list {
			var is v1.Machine
			s.must(s.c.Get(s.t.Context(), s.key(m.Name), &is))
			down := s.network.down[m.Name]
			switch {
			case !m.Leaving && !deleted: // it does not wait until the machine knows its cluster
				if !down {
					s.network.cluster[m.Name] = name
				}
				continue
			case !isBound(&is):
				continue
			case down:
				s.must(Quarantine(s.t.Context(), s.c, s.key(m.Name), name))
			default:
				delete(s.network.cluster, m.Name)
				s.must(Cleaned(s.t.Context(), s.c, s.key(m.Name)))
			}
			s.changed[m.Name], did = true, true
		}
	}
	for _, name := range s.clusters { // the last step of a deletion
		var c v1.Cluster
		if s.c.Get(s.t.Context(), s.key(name), &c) != nil || c.DeletionTimestamp.IsZero() || len(bound[name]) > 0 {
			continue
		}
		if owned := s.owned(name); len(owned) > 0 { // its binding is being restored
			continue
		}
		c.Finalizers = nil
		s.must(s.c.Update(s.t.Context(), &c))
		did = true
	}
	return did
}

// owned returns the machines whose status names a cluster.
func (s *simulation) owned(cluster string) (out []string) {
	var list v1.MachineList
	s.must(s.c.List(s.t.Context(), &list))
	for i := range list.Items {
		if m := &list.Items[i]; isBound(m) && m.Status.ClusterRef.Name == cluster {
			out = append(out, m.Name)
		}
	}
	return out
}

// check checks what must hold at rest.
func (s *simulation) check() {
	s.t.Helper()
	of := map[string]string{}
	for name, list := range s.bindings() {
		for _, m := range list {
			if other, twice := of[m.Name]; twice {
				s.t.Fatalf("%s: %s is in %s and %s", s.at, m.Name, name, other)
			}
			of[m.Name] = name
			if on := s.network.cluster[m.Name]; on != "" && on != name {
				s.t.Fatalf("%s: %s has %s and was given to %s", s.at, m.Name, on, name)
			}
		}
	}
	var machines v1.MachineList
	s.must(s.c.List(s.t.Context(), &machines))
	for i := range machines.Items {
		m := &machines.Items[i]
		x, on := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionClean), s.network.cluster[m.Name]
		if isBound(m) != (of[m.Name] != "") || isBound(m) && m.Status.ClusterRef.Name != of[m.Name] {
			s.t.Fatalf("%s: %s is bound to %q, and says %+v", s.at, m.Name, of[m.Name], m.Status.ClusterRef)
		}
		if on != "" && x.Status == metav1.ConditionTrue {
			s.t.Fatalf("%s: %s is clean, with %s on it", s.at, m.Name, on)
		}
	}
	bound := s.bindings()
	for _, name := range s.clusters {
		var c v1.Cluster
		if s.c.Get(s.t.Context(), s.key(name), &c) != nil {
			if len(bound[name]) > 0 {
				s.t.Fatalf("%s: %s is gone and has %s", s.at, name, spelled(bound[name]))
			}
			continue
		}
		count := map[v1.Role]int{}
		for _, m := range bound[name] {
			if !m.Leaving {
				count[MainRole(m.Roles)]++
			}
		}
		x := meta.FindStatusCondition(c.Status.Conditions, v1.ConditionMachinesBound)
		whole := count[v1.RoleMaster] == int(c.Spec.MasterRequire.Number) &&
			count[v1.RoleWorker] == int(c.Spec.WorkerRequire.Number)
		if x == nil || (x.Status == metav1.ConditionTrue) != whole || !whole && x.Message == "" {
			s.t.Fatalf("%s: %s has %s, wants %d and %d: %+v", s.at, name, spelled(bound[name]),
				c.Spec.MasterRequire.Number, c.Spec.WorkerRequire.Number, x)
		}
	}
}

// Clusters come, change and go while machines die and processes are killed: no machine is in two clusters, none goes to
// another cluster with what a former one has left, and each cluster has all of its machines or says why not.
func TestSimulation(t *testing.T) {
	seeds, clusters, machines, steps := 2, 4, 20, 25
	if !testing.Short() {
		seeds, clusters, machines, steps = 1, 50, 500, 40
	}
	for seed := range uint64(seeds) {
		s := simulated(t, seed, clusters, machines)
		s.settle()
		for n := range steps {
			s.at = fmt.Sprintf("seed %d, step %d", seed, n)
			for range 1 + s.r.IntN(max(3, clusters/8)) {
				s.event(n*1000 + s.r.IntN(1000))
				if s.r.IntN(2) == 0 { // before the machines know of it
					s.runs(s.binds())
				}
			}
			s.settle()
			s.check()
		}
	}
}
