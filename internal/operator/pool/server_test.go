package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

// network is a Prober over machines that are up, or not, and may be installed.
type network struct {
	mu      sync.Mutex
	down    map[string]bool   // by name
	cluster map[string]string // that is installed
	purged  []string
	broken  map[string]bool // a cleanup fails
}

func (n *network) set(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

func (n *network) Probe(_ context.Context, t Target) (*Found, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down[t.Name] {
		return nil, event.NewFault(event.ClassFailed, "ssh.timeout", nil, "addr", t.IP.String(), "limit", "15s")
	}
	at := n.cluster[t.Name]
	return &Found{Facts: v1.MachineFacts{Arch: "amd64", MachineID: t.Name, Cluster: at, Recorded: at != ""},
		HostKeys: t.HostKeys}, nil
}

func (n *network) Purge(_ context.Context, t Target) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down[t.Name] || n.broken[t.Name] {
		return errors.New("no answer")
	}
	n.purged = append(n.purged, t.Name)
	delete(n.cluster, t.Name)
	return nil
}

// onServer is the pool of an operator that runs against a real API server.
type onServer struct {
	client.Client
	network *network
}

func startPool(t *testing.T) *onServer {
	t.Helper()
	server := apiservertest.Start(t)
	l := &onServer{Client: server.Client(t), network: &network{down: map[string]bool{}, cluster: map[string]string{}}}
	m, err := ctrl.NewManager(server.Config, ctrl.Options{Scheme: apiservertest.Scheme(t),
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	events := m.GetEventRecorderFor("eggops")
	err = errors.Join(
		(&Machines{Client: m.GetClient(), Live: m.GetAPIReader(), Prober: l.network,
			Addresses: &Addresses{Live: m.GetAPIReader(), own: noAddresses}, Events: events}).SetUp(m),
		(&Binder{Client: m.GetClient(), Live: m.GetAPIReader(), Events: events}).SetUp(m))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// applied applies an object as Git would.
func (l *onServer) applied(t *testing.T, o client.Object, kind string) {
	t.Helper()
	o.GetObjectKind().SetGroupVersionKind(v1.GroupVersion().WithKind(kind))
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	if err := l.Patch(t.Context(), o, client.Apply, client.FieldOwner("git"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}

// until waits until the machines of a cluster are those.
func (l *onServer) until(t *testing.T, cluster, want string) {
	t.Helper()
	apiservertest.Until(t, func() error {
		var b v1.MachineBinding
		err := l.Get(t.Context(), client.ObjectKey{Namespace: space, Name: v1.BindingName(cluster)}, &b)
		if got := spelled(b.Spec.Machines); client.IgnoreNotFound(err) != nil || got != want {
			return fmt.Errorf("%s has %q, want %q (%v)", cluster, got, want, err)
		}
		return nil
	})
}

// machine waits until a machine is as it should be.
func (l *onServer) machine(t *testing.T, name string, ready bool, reason, cluster string) {
	t.Helper()
	apiservertest.Until(t, func() error {
		var m v1.Machine
		if err := l.Get(t.Context(), client.ObjectKey{Namespace: space, Name: name}, &m); err != nil {
			return err
		}
		x := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady)
		if x == nil || x.Reason != reason || (x.Status == metav1.ConditionTrue) != ready ||
			m.Status.Cluster != cluster {
			return fmt.Errorf("%s: %+v, cluster %q; want %t %s of %q", name, x, m.Status.Cluster, ready, reason,
				cluster)
		}
		return nil
	})
}

// The life of a pool on a real API server: machines are probed and bound, a cluster grows and shrinks, a machine dies,
// is in quarantine and comes back, and nothing that Git has applied is written.
func TestPoolOnAServer(t *testing.T) {
	l := startPool(t)
	if err := l.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}); err != nil {
		t.Fatal(err)
	}
	key := login("key", corev1.SecretTypeSSHAuth)
	if err := l.Create(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	worker := func(i int) *v1.Machine {
		return &v1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: fmt.Sprintf("m%d", i)},
			Spec: v1.MachineSpec{HostName: fmt.Sprintf("m%d", i), IP: fmt.Sprintf("192.0.2.%d", i+1),
				HostKeys: []string{someKey}, LoginSecretRef: &v1.SecretReference{Name: "key"}}}
	}
	demo := func(workers int32) *v1.Cluster {
		c := requires("demo", 1, workers)
		c.UID = ""
		return c
	}
	l.applied(t, demo(3), "Cluster") // before its machines
	for i := range 4 {
		l.applied(t, worker(i), "Machine")
	}
	l.until(t, "demo", "m0:mwe m1:w m2:w m3:w")
	l.machine(t, "m3", true, v1.ReasonBound, "demo")
	l.applied(t, demo(2), "Cluster")
	l.until(t, "demo", "m0:mwe m1:w m2:w m3:w!")
	at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: space, Name: name} }
	if err := Cleaned(t.Context(), l, at("m3")); err != nil {
		t.Fatal(err)
	}
	l.until(t, "demo", "m0:mwe m1:w m2:w")
	l.machine(t, "m3", true, v1.ReasonSucceeded, "")

	apiservertest.Until(t, func() error { // for readers of the original's fields
		b := bound(t, l, "demo")
		if len(b.Status.Conditions) != 3 {
			return fmt.Errorf("%+v", b.Status)
		}
		return nil
	})

	// m1 dies, is released and replaced; it comes back, and is cleaned.
	l.network.set(func() { l.network.down["m1"], l.network.cluster["m1"] = true, "demo" })
	dead := worker(1)
	dead.Annotations = map[string]string{v1.AnnotationRelease: "", v1.AnnotationRetry: "1"}
	l.applied(t, dead, "Machine")
	l.until(t, "demo", "m0:mwe m1:w! m2:w m3:w")
	if err := Quarantine(t.Context(), l, at("m1"), "demo"); err != nil {
		t.Fatal(err)
	}
	l.until(t, "demo", "m0:mwe m2:w m3:w")
	l.machine(t, "m1", false, "SshTimeout", "demo")
	l.applied(t, demo(3), "Cluster")
	l.network.set(func() { delete(l.network.down, "m1") })
	back := worker(1)
	back.Annotations = map[string]string{v1.AnnotationRetry: "2"}
	l.applied(t, back, "Machine")
	l.until(t, "demo", "m0:mwe m2:w m3:w m1:w")
	if !slices.Equal(l.network.purged, []string{"m1"}) {
		t.Error("cleaned:", l.network.purged)
	}

	// Somebody deletes the binding of the running cluster.
	if err := l.Delete(t.Context(), bound(t, l, "demo")); err != nil {
		t.Fatal(err)
	}
	l.until(t, "demo", "m0:mwe m1:w m2:w m3:w")
	l.owners(t)
}

// owners checks that the operator has written statuses and its own object, and no field that Git owns.
func (l *onServer) owners(t *testing.T) {
	t.Helper()
	var machines v1.MachineList
	var clusters v1.ClusterList
	if err := errors.Join(l.List(t.Context(), &machines), l.List(t.Context(), &clusters)); err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for i := range machines.Items {
		all = append(all, &machines.Items[i])
	}
	for i := range clusters.Items {
		all = append(all, &clusters.Items[i])
	}
	for _, o := range all {
		for _, f := range o.GetManagedFields() {
			if f.Manager == "git" {
				continue
			}
			if fields := string(f.FieldsV1.Raw); f.Subresource != "status" || strings.Contains(fields, "f:spec") ||
				strings.Contains(fields, "f:metadata") {
				t.Errorf("%s: %s has written %s", o.GetName(), f.Manager, fields)
			}
		}
	}
}
