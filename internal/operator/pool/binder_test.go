package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
)

const space = "pool"

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func cluster(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).
		WithStatusSubresource(&v1.Machine{}, &v1.Cluster{}, &v1.MachineBinding{}, &v1.Infrastructure{}).
		WithIndex(&v1.Machine{}, indexIP, byIP).
		WithIndex(&v1.MachineBinding{}, indexMachine, byMachine).Build()
}

// free is a machine that is ready, with labels "role=worker,zone=a".
func free(name, ip, labels string) *v1.Machine {
	m := &v1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: types.UID("u-" + name),
		Labels: map[string]string{}}, Spec: v1.MachineSpec{HostName: name, IP: ip}}
	for pair := range strings.SplitSeq(labels, ",") {
		if k, v, is := strings.Cut(pair, "="); is {
			m.Labels[k] = v
		}
	}
	for _, kind := range []string{v1.ConditionReachable, v1.ConditionSuitable, v1.ConditionClean} {
		meta.SetStatusCondition(&m.Status.Conditions, conditions.Holding(kind, v1.ReasonSucceeded, ""))
	}
	m.Status.Facts = &v1.MachineFacts{Arch: "amd64"}
	return m
}

// requires is a cluster of so many control planes and workers.
func requires(name string, masters, workers int32) *v1.Cluster {
	return &v1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: types.UID("c-" + name)},
		Spec: v1.ClusterSpec{MasterRequire: &v1.RequireMachineConfig{Number: masters},
			WorkerRequire: &v1.RequireMachineConfig{Number: workers}}}
}

func bound(t *testing.T, c client.Client, cluster string) *v1.MachineBinding {
	t.Helper()
	var b v1.MachineBinding
	err := c.Get(t.Context(), client.ObjectKey{Namespace: space, Name: v1.BindingName(cluster)}, &b)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return &b
}

func named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: space, Name: name}}
}

func reconciled(t *testing.T, r reconcile.Reconciler, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := r.Reconcile(t.Context(), named(name)); err != nil {
			t.Fatal(name, err)
		}
	}
}

func condition(t *testing.T, c client.Client, o client.Object, name, kind string) metav1.Condition {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: space, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	var list []metav1.Condition
	switch o := o.(type) {
	case *v1.Machine:
		list = o.Status.Conditions
	case *v1.Cluster:
		list = o.Status.Conditions
	case *v1.Infrastructure:
		list = o.Status.Conditions
	}
	if x := meta.FindStatusCondition(list, kind); x != nil {
		return *x
	}
	return metav1.Condition{}
}

// seen has the machine controller's view of a claim: the machine knows its cluster, and is not clean.
func seen(t *testing.T, c client.Client, name, cluster string) {
	t.Helper()
	var m v1.Machine
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: space, Name: name}, &m); err != nil {
		t.Fatal(err)
	}
	m.Status.ClusterRef = &v1.ClusterReference{Name: cluster}
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: v1.ConditionClean,
		Status: metav1.ConditionFalse, Reason: v1.ReasonBound})
	if err := c.Status().Update(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
}

func TestBinder(t *testing.T) {
	c := cluster(t, free("c1", "192.0.2.1", "role=control"), free("w1", "192.0.2.2", "role=worker"),
		free("w2", "192.0.2.3", "role=worker"), requires("a", 1, 2), requires("b", 1, 0))
	events := record.NewFakeRecorder(100)
	b := &Binder{Client: c, Live: c, Events: events}
	reconciled(t, b, "a", "b", "a")
	got := bound(t, c, "a")
	if spelled(got.Spec.Machines) != "c1:mwe w1:w w2:w" {
		t.Error(spelled(got.Spec.Machines))
	}
	if ref := got.Spec.ClusterRef; ref == nil || *ref != (v1.ClusterReference{Name: "a", UID: "c-a"}) {
		t.Errorf("%+v", ref)
	}
	// What readers of the original's fields see.
	sets := ""
	for _, s := range got.Spec.MachineSets {
		sets += " " + s.Usage + ":"
		for _, m := range s.Machines {
			sets += " " + m.Metadata.Name + "/" + m.Spec.IP
		}
	}
	if sets != " Master: c1/192.0.2.1 Worker: c1/192.0.2.1 w1/192.0.2.2 w2/192.0.2.3 Etcd: c1/192.0.2.1" {
		t.Error(sets)
	}
	if fmt.Sprint(got.Spec.Usages) != "map[u-c1:7 u-w1:2 u-w2:2]" {
		t.Error(got.Spec.Usages)
	}
	if x := condition(t, c, &v1.Cluster{}, "a", v1.ConditionMachinesBound); x.Status != metav1.ConditionTrue {
		t.Errorf("%+v", x)
	}
	x := condition(t, c, &v1.Cluster{}, "b", v1.ConditionMachinesBound)
	if x.Status != metav1.ConditionFalse || x.Reason != v1.ReasonWaitingForMachines ||
		!strings.Contains(x.Message, "3 bound to another cluster") {
		t.Errorf("%+v", x)
	}
	if len(bound(t, c, "b").Spec.Machines) > 0 {
		t.Error("a claim that is not complete")
	}
	// Nothing changes again: no write, and no event.
	version, told := got.ResourceVersion, len(events.Events)
	reconciled(t, b, "a", "b")
	if now := bound(t, c, "a"); now.ResourceVersion != version || len(events.Events) != told {
		t.Error("a second reconcile has changed something")
	}
	owners := got.ManagedFields
	if slices.ContainsFunc(owners, func(f metav1.ManagedFieldsEntry) bool { return f.Manager != Owner }) {
		t.Error(owners)
	}
}

// A machine that leaves stays bound until it was cleaned, or is in quarantine. What its status said before the cluster
// had it does not count.
func TestBinderReleases(t *testing.T) {
	a := requires("a", 1, 2)
	c := cluster(t, free("c1", "192.0.2.1", ""), free("w1", "192.0.2.2", ""), free("w2", "192.0.2.3", ""), a)
	b := &Binder{Client: c, Live: c, Events: record.NewFakeRecorder(100)}
	step := func(workers int32, want string) {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
			t.Fatal(err)
		}
		a.Spec.WorkerRequire.Number = workers
		if err := c.Update(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		reconciled(t, b, "a")
		if got := spelled(bound(t, c, "a").Spec.Machines); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: space, Name: name} }
	step(2, "c1:mwe w1:w w2:w")
	step(1, "c1:mwe w1:w w2:w!")
	step(1, "c1:mwe w1:w w2:w!") // it is clean, as it was before
	for _, name := range []string{"c1", "w1", "w2"} {
		seen(t, c, name, "a")
	}
	step(1, "c1:mwe w1:w w2:w!")
	if err := Cleaned(t.Context(), c, at("w2")); err != nil {
		t.Fatal(err)
	}
	step(1, "c1:mwe w1:w")
	step(2, "c1:mwe w1:w") // its status still names the cluster
	step(0, "c1:mwe w1:w!")
	if err := Quarantine(t.Context(), c, at("w1"), "a"); err != nil {
		t.Fatal(err)
	}
	step(0, "c1:mwe")
	if err := Quarantine(t.Context(), c, at("none"), "a"); err != nil {
		t.Error(err)
	}
}

// A cluster that is being deleted keeps its machines until they are released, and its binding until it is empty. With
// the policy Orphan, both stay, and a cluster of the same name has them again.
func TestBinderDeletes(t *testing.T) {
	for _, policy := range []v1.DeletionPolicy{v1.DeletionConfirm, v1.DeletionOrphan} {
		a := requires("a", 1, 1)
		a.Finalizers, a.Spec.DeletionPolicy = []string{v1.FinalizerCluster}, policy
		c := cluster(t, free("c1", "192.0.2.1", ""), free("w1", "192.0.2.2", ""), a)
		b := &Binder{Client: c, Live: c, Events: record.NewFakeRecorder(100)}
		reconciled(t, b, "a")
		seen(t, c, "c1", "a")
		seen(t, c, "w1", "a")
		if err := c.Delete(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		reconciled(t, b, "a")
		if got := spelled(bound(t, c, "a").Spec.Machines); got != "c1:mwe w1:w" {
			t.Error(policy, got)
		}
		for i, name := range []string{"w1", "c1"} {
			want := "c1:mwe w1:w"
			if policy != v1.DeletionOrphan {
				want = []string{"c1:mwe", ""}[i]
				if err := Cleaned(t.Context(), c, client.ObjectKey{Namespace: space, Name: name}); err != nil {
					t.Fatal(err)
				}
			}
			reconciled(t, b, "a")
			if got := bound(t, c, "a"); spelled(got.Spec.Machines) != want || want == "" && got.Name != "" {
				t.Error(policy, name, spelled(got.Spec.Machines))
			}
		}
		if policy != v1.DeletionOrphan {
			continue
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
			t.Fatal(err)
		}
		a.Finalizers = nil
		if err := c.Update(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		reconciled(t, b, "a")
		again := requires("a", 1, 1)
		again.UID = "c-again"
		if err := c.Create(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		reconciled(t, b, "a")
		if got := bound(t, c, "a"); spelled(got.Spec.Machines) != "c1:mwe w1:w" ||
			got.Spec.ClusterRef.UID != "c-again" {
			t.Errorf("%+v", got.Spec)
		}
	}
}

// Control planes that cannot leave are named, with the reason.
func TestBinderHoldsTheQuorum(t *testing.T) {
	a := requires("a", 3, 0)
	c := cluster(t, free("m1", "192.0.2.1", ""), free("m2", "192.0.2.2", ""), free("m3", "192.0.2.3", ""), a)
	b := &Binder{Client: c, Live: c, Events: record.NewFakeRecorder(100)}
	reconciled(t, b, "a")
	for _, name := range []string{"m1", "m2"} {
		var m v1.Machine
		condition(t, c, &m, name, "")
		meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: v1.ConditionReachable,
			Status: metav1.ConditionFalse, Reason: "SshTimeout"})
		if err := c.Status().Update(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	condition(t, c, a, "a", "")
	a.Spec.MasterRequire.Number = 1
	if err := c.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	reconciled(t, b, "a")
	if x := condition(t, c, a, "a", v1.ConditionMachinesBound); x.Reason != "PoolQuorum" ||
		!strings.Contains(x.Message, "m1, m2") || spelled(bound(t, c, "a").Spec.Machines) != "m1:mwe m2:mwe m3:mwe" {
		t.Errorf("%+v", x)
	}
}

// lagging is a client whose lists of bindings are those of the beginning, as a cache that has not seen the last writes.
type lagging struct{ client.Client }

func (l lagging) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	if _, is := list.(*v1.MachineBindingList); is {
		return nil
	}
	return l.Client.List(ctx, list, o...)
}

// A cache that lags behind makes no machine a member of two clusters.
func TestBinderKnowsItsOwnWrites(t *testing.T) {
	c := cluster(t, free("m1", "192.0.2.1", ""), free("m2", "192.0.2.2", ""), requires("a", 1, 0), requires("b", 1, 0),
		requires("x", 1, 0))
	b := &Binder{Client: lagging{c}, Live: c, Events: record.NewFakeRecorder(100)}
	reconciled(t, b, "a", "b", "x", "a")
	if x, y, z := spelled(bound(t, c, "a").Spec.Machines), spelled(bound(t, c, "b").Spec.Machines),
		spelled(bound(t, c, "x").Spec.Machines); x != "m1:mwe" || y != "m2:mwe" || z != "" {
		t.Errorf("%q %q %q", x, y, z)
	}
}

// A Machine that was deleted and made again with the same address is the same machine.
func TestBinderAdopts(t *testing.T) {
	for ip, c := range map[string]struct{ want, uid string }{
		"192.0.2.1": {"c1:mwe", "u-again"}, "192.0.2.9": {"c1:mwe c2:mwe", "u-c1"},
	} {
		want, uid := c.want, c.uid
		c := cluster(t, free("c1", "192.0.2.1", ""), free("c2", "192.0.2.2", "zone=b"), requires("a", 1, 0))
		b := &Binder{Client: c, Live: c, Events: record.NewFakeRecorder(100)}
		reconciled(t, b, "a")
		if err := c.Delete(t.Context(), free("c1", "", "")); err != nil {
			t.Fatal(err)
		}
		again := free("c1", ip, "")
		again.UID = "u-again"
		if err := c.Create(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		reconciled(t, b, "a")
		if got := bound(t, c, "a").Spec; spelled(got.Machines) != want || got.Machines[0].UID != uid {
			t.Errorf("%s: %+v", ip, got.Machines)
		}
	}
}

func TestWantedOf(t *testing.T) {
	infra := &v1.Infrastructure{Spec: v1.InfrastructureSpec{Bundles: []v1.BundleSource{
		{Version: "v1.34.2", Arch: "arm64"}, {Version: "v1.35.1", Arch: "amd64"}, {Version: "v1.35.1", Arch: "arm64"}}}}
	original := &v1.Infrastructure{Spec: v1.InfrastructureSpec{InstallConfig: v1.InstallConfig{
		PackageSrc: &v1.PackageSrcConfig{SrcPackages: map[string]string{"x86_64": "a.tar.gz", "arm64": "b.tar.gz"}}},
		PackagePersistentVolumeClaim: &corev1.ObjectReference{Name: "bundles"}}}
	for _, c := range []struct {
		infra   *v1.Infrastructure
		version string
		want    string
	}{
		{nil, "", "[]"}, {infra, "", "[amd64 arm64]"}, {infra, "v1.34.2", "[arm64]"}, {infra, "v1.33.0", "[]"},
		{original, "", "[amd64 arm64]"}, {original, "v1.34.2", "[amd64 arm64]"},
	} {
		a := requires("a", 1, 0)
		a.Spec.Version = c.version
		if got := fmt.Sprint(WantedOf(a, c.infra).Archs); got != c.want {
			t.Errorf("%s: %s, want %s", c.version, got, c.want)
		}
	}
}
