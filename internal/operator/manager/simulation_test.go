package manager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/cluster"
	"github.com/eggo-k8s/eggo/internal/operator/operation"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/pool"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

const simNamespace = "sim"

// site are simulated machines, the runs that change them, and the API servers of their clusters.
type site struct {
	t       testing.TB
	c       client.Client
	mu      sync.Mutex
	random  *rand.Rand
	fails   float64                       // how many of the runs fail
	nodes   map[string]map[string]string  // of each cluster: node name and address, as they are installed
	live    map[string]string             // the run of each cluster
	runs    map[string]*operation.Outcome // by Operation
	began   int
	failed  int
	working sync.WaitGroup
}

// Probe implements pool.Prober. A machine of a cluster has a record of it.
func (s *site) Probe(_ context.Context, t pool.Target) (*pool.Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &pool.Found{Facts: eggov1.MachineFacts{OS: "debian", Arch: "amd64"},
		HostKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN/Cr3JXqmLW7u+g9pTh+wyqDHpSQEIQczXkVx9q"}}
	for name, nodes := range s.nodes {
		for _, ip := range nodes {
			if ip == t.IP.String() {
				f.Facts.Recorded, f.Facts.Cluster = true, name
			}
		}
	}
	return f, nil
}

// Purge implements pool.Prober.
func (s *site) Purge(_ context.Context, t pool.Target) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, nodes := range s.nodes {
		delete(nodes, t.Name)
	}
	return nil
}

// Ask implements cluster.Health. The kubeconfig is the name of the cluster.
func (s *site) Ask(_ context.Context, kubeconfig []byte) (cluster.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes, is := s.nodes[string(kubeconfig)]
	if !is {
		return cluster.Answer{}, errors.New("connection refused")
	}
	out := cluster.Answer{Endpoint: "https://" + string(kubeconfig), Etcd: true}
	for name := range nodes {
		out.Nodes = append(out.Nodes, cluster.NodeHealth{Name: name, Ready: true})
	}
	return out, nil
}

// Launch implements operation.Launcher.
func (s *site) Launch(ctx context.Context, r pod.Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, of := r.Operation.Name, r.Cluster.Name
	if s.runs[name] != nil {
		return nil
	}
	if other := s.live[of]; other != "" {
		s.t.Errorf("%s begins while %s of the same cluster runs", name, other)
	}
	s.began++
	s.live[of], s.runs[name] = name, &operation.Outcome{Begun: true, Attempts: 1}
	fails := s.random.Float64() < s.fails
	s.working.Add(1)
	go s.run(context.WithoutCancel(ctx), r, fails)
	return nil
}

// Outcome implements operation.Launcher.
func (s *site) Outcome(_ context.Context, o *eggov1.Operation) (operation.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[o.Name]; r != nil {
		return *r, nil
	}
	return operation.Outcome{}, nil
}

// End implements operation.Launcher.
func (s *site) End(context.Context, *eggov1.Operation) error { return nil }

// run does a run as its pod would: the state first, then the machines, then the status of the Operation.
func (s *site) run(ctx context.Context, r pod.Run, fails bool) {
	defer s.working.Done()
	code := int32(0)
	if fails {
		code = 1
	}
	if err := s.change(ctx, r, fails); err != nil {
		s.t.Errorf("%s: %v", r.Operation.Name, err)
		code = 1
	}
	s.mu.Lock()
	out := s.runs[r.Operation.Name]
	out.Ended, out.ExitCode = true, &code
	if delete(s.live, r.Cluster.Name); fails {
		s.failed++
	}
	s.mu.Unlock()
	o := r.Operation.DeepCopy()
	was := o.DeepCopy()
	o.Status.RunID = "run" // the controller of Operations sees the change
	if err := s.c.Status().Patch(ctx, o, client.MergeFrom(was)); client.IgnoreNotFound(err) != nil {
		s.t.Error(err)
	}
}

// change changes the state of a cluster and its machines. A run that fails has accepted its deploy.yaml and no more.
func (s *site) change(ctx context.Context, r pod.Run, fails bool) error {
	at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: simNamespace, Name: name} }
	in, st := &corev1.Secret{}, &corev1.Secret{}
	if err := s.c.Get(ctx, at(eggov1.InputSecret(r.Operation.Name)), in); err != nil {
		return err
	}
	q, err := request.Decode(in.Data[eggov1.InputRequest])
	if err != nil {
		return err
	}
	name := r.Cluster.Name
	if err := state.Ensure(ctx, s.c, simNamespace, name); err != nil {
		return err
	}
	if err := s.c.Get(ctx, at(eggov1.StateSecret(name, eggov1.StateConfig)), st); err != nil {
		return err
	}
	text := st.Data["deploy.yaml"]
	switch q := q.(type) {
	case request.Deploy:
		if wanted := in.Data[eggov1.InputConfig]; len(wanted) > 0 {
			text = wanted
		}
	case request.Delete:
		if !fails {
			text, err = without(text, q.Names)
		}
	case request.Cleanup:
		if !fails {
			text = nil
		}
	default:
		return fmt.Errorf("a request %T", q)
	}
	if err != nil {
		return err
	}
	if st.Data = map[string][]byte{"deploy.yaml": text}; text == nil {
		st.Data = nil
	}
	if err := s.c.Update(ctx, st); err != nil {
		return err
	}
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: simNamespace,
		Name: eggov1.KubeconfigSecret(name)}, Data: map[string][]byte{eggov1.KubeconfigKey: []byte(name)}}
	if err := s.c.Create(ctx, kubeconfig); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if !fails {
		s.installed(name, text)
	}
	return nil
}

// installed makes the machines of a cluster those of its deploy.yaml. None may be another's.
func (s *site) installed(name string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, name)
	c, _ := config.Load(text, "deploy.yaml")
	if c == nil {
		return
	}
	nodes := map[string]string{}
	for _, n := range c.Nodes {
		nodes[n.Name] = n.IP.String()
		for other, has := range s.nodes {
			if has[n.Name] != "" {
				s.t.Errorf("%s is in %s and %s", n.Name, other, name)
			}
		}
	}
	s.nodes[name] = nodes
}

// without returns a deploy.yaml without some machines.
func without(text []byte, names []string) ([]byte, error) {
	spec, problems := config.Decode(text, "deploy.yaml")
	if problems.HasErrors() {
		return nil, problems.Err()
	}
	gone := func(m config.MachineSpec) bool { return slices.Contains(names, m.Name) }
	spec.Masters, spec.Nodes = slices.DeleteFunc(spec.Masters, gone), slices.DeleteFunc(spec.Nodes, gone)
	return spec.YAML(), nil
}

// newSite starts the operator with simulated machines.
func newSite(t *testing.T, fails float64, machines int) *site {
	t.Helper()
	api := apiservertest.Start(t)
	s := &site{t: t, c: api.Client(t), random: rand.New(rand.NewPCG(3, 5)), fails: fails,
		nodes: map[string]map[string]string{}, live: map[string]string{}, runs: map[string]*operation.Outcome{}}
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: simNamespace}})
	s.create(&corev1.Secret{ObjectMeta: named("key"), Type: corev1.SecretTypeSSHAuth,
		Data: map[string][]byte{"ssh-privatekey": []byte("x")}})
	s.create(&eggov1.Infrastructure{ObjectMeta: named("infra"), Spec: eggov1.InfrastructureSpec{
		Bundles: []eggov1.BundleSource{{Version: "v1.34.2", Arch: "amd64",
			Claim: &eggov1.ClaimFile{Name: "c", Path: "b.tar.gz"}}}}})
	address := netip.MustParseAddr("198.18.0.1")
	for i := range machines {
		m := &eggov1.Machine{ObjectMeta: named(fmt.Sprintf("m%03d", i)), Spec: eggov1.MachineSpec{IP: address.String(),
			HostName:       fmt.Sprintf("m%03d", i),
			LoginSecretRef: &eggov1.SecretReference{Name: "key"}, HostKeyPolicy: eggov1.HostKeysOnFirst}}
		s.create(m)
		address = address.Next()
	}
	o := Options{MaxRuns: 10, History: 5, Image: pod.Image{Name: "eggops"},
		Sentence: i18n.NewPrinter(i18n.English).Fault}
	ctrl.SetLogger(logr.Discard())
	m, err := newManager(rest.CopyConfig(api.Config), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.controllers(m, outside{&pool.Addresses{Live: m.GetAPIReader()}, s, s, s, noBundles{}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.working.Wait()
	})
	return s
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: simNamespace, Name: name}
}

func (s *site) create(o client.Object) {
	s.t.Helper()
	if err := s.c.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// settle waits until each cluster is ready with so many nodes; one that is Stalled is tried again.
func (s *site) settle(clusters, nodes int) {
	s.t.Helper()
	want := fmt.Sprintf("%d/%d", nodes, nodes)
	apiservertest.Until(s.t, func() error {
		s.alone()
		var list eggov1.ClusterList
		if err := s.c.List(s.t.Context(), &list, client.InNamespace(simNamespace)); err != nil {
			return err
		}
		var err error
		ready := 0
		for i := range list.Items {
			c := &list.Items[i]
			is := func(kind string) bool { return meta.IsStatusConditionTrue(c.Status.Conditions, kind) }
			switch {
			case is(eggov1.ConditionReady) && c.Status.Nodes != nil && c.Status.Nodes.Summary == want:
				ready++
			case is(eggov1.ConditionStalled):
				s.annotate(c, eggov1.AnnotationRetry, fmt.Sprint(s.random.Int64()))
				err = fmt.Errorf("%s is stalled: %s", c.Name, c.Status.Message)
			default:
				err = fmt.Errorf("%s: %+v", c.Name, c.Status.Conditions)
			}
		}
		if ready == clusters {
			return nil
		}
		return fmt.Errorf("%d of %d are ready: %w\n%s", ready, clusters, err, s.machines())
	})
}

// machines returns the first machine that is not Ready.
func (s *site) machines() string {
	var list eggov1.MachineList
	if err := s.c.List(s.t.Context(), &list, client.InNamespace(simNamespace)); err != nil {
		return err.Error()
	}
	for _, m := range list.Items {
		if !meta.IsStatusConditionTrue(m.Status.Conditions, eggov1.ConditionReady) {
			return fmt.Sprintf("%s: %+v", m.Name, m.Status)
		}
	}
	return ""
}

// alone reports a machine that is in two bindings.
func (s *site) alone() {
	s.t.Helper()
	var list eggov1.MachineBindingList
	if err := s.c.List(s.t.Context(), &list, client.InNamespace(simNamespace)); err != nil {
		s.t.Fatal(err)
	}
	of := map[string]string{}
	for _, b := range list.Items {
		for _, m := range b.Spec.Machines {
			if of[m.Name] != "" {
				s.t.Errorf("%s is in %s and %s", m.Name, of[m.Name], b.Name)
			}
			of[m.Name] = b.Name
		}
	}
}

func (s *site) annotate(c *eggov1.Cluster, key, value string) {
	s.t.Helper()
	was := c.DeepCopy()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
	if err := s.c.Patch(s.t.Context(), c, client.MergeFrom(was)); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
}

// each calls do for each Cluster, and writes what it changes.
func (s *site) each(do func(*eggov1.Cluster)) {
	s.t.Helper()
	var list eggov1.ClusterList
	if err := s.c.List(s.t.Context(), &list, client.InNamespace(simNamespace)); err != nil {
		s.t.Fatal(err)
	}
	for i := range list.Items {
		was := list.Items[i].DeepCopy()
		do(&list.Items[i])
		if err := s.c.Patch(s.t.Context(), &list.Items[i], client.MergeFrom(was)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// noBundles inspects no bundle: the test has written what there is.
type noBundles struct{}

func (noBundles) SetUp(ctrl.Manager) error { return nil }

// Many clusters over one pool, with runs that fail: they get what they want, no machine has two of them, and in the end
// the pool is as it was.
func TestSimulation(t *testing.T) {
	const clusters, machines = 4, 16
	s := newSite(t, 0.3, machines)
	for i := range clusters {
		s.create(&eggov1.Cluster{ObjectMeta: named(fmt.Sprintf("c%02d", i)), Spec: eggov1.ClusterSpec{
			MasterRequire:  &eggov1.RequireMachineConfig{Number: 1},
			WorkerRequire:  &eggov1.RequireMachineConfig{Number: 2},
			Infrastructure: &corev1.ObjectReference{Name: "infra"}}})
	}
	s.settle(clusters, 3)
	s.each(func(c *eggov1.Cluster) { c.Spec.WorkerRequire.Number = 3 })
	s.settle(clusters, 4)
	s.each(func(c *eggov1.Cluster) { c.Spec.WorkerRequire.Number = 1 })
	s.settle(clusters, 2)
	s.each(func(c *eggov1.Cluster) {
		c.Annotations = map[string]string{eggov1.AnnotationConfirmDeletion: c.Name}
	})
	if err := s.c.DeleteAllOf(t.Context(), &eggov1.Cluster{}, client.InNamespace(simNamespace)); err != nil {
		t.Fatal(err)
	}
	apiservertest.Until(t, func() error {
		s.alone()
		var left eggov1.ClusterList
		if err := s.c.List(t.Context(), &left, client.InNamespace(simNamespace)); err != nil {
			return err
		}
		for i := range left.Items {
			if meta.IsStatusConditionTrue(left.Items[i].Status.Conditions, eggov1.ConditionStalled) {
				s.annotate(&left.Items[i], eggov1.AnnotationRetry, fmt.Sprint(s.random.Int64()))
			}
		}
		if n := len(left.Items); n > 0 {
			return fmt.Errorf("%d clusters are left: %s", n, left.Items[0].Status.Message)
		}
		return nil
	})
	s.empty(machines)
	t.Logf("%d runs, of which %d failed", s.began, s.failed)
	if s.failed == 0 || s.began < 4*clusters {
		t.Error("nothing was tried")
	}
}

// empty reports what is left of clusters.
func (s *site) empty(machines int) {
	s.t.Helper()
	apiservertest.Until(s.t, func() error {
		var list eggov1.MachineList
		if err := s.c.List(s.t.Context(), &list, client.InNamespace(simNamespace)); err != nil {
			return err
		}
		for _, m := range list.Items {
			if m.Status.Cluster != "" || !meta.IsStatusConditionTrue(m.Status.Conditions, eggov1.ConditionReady) {
				return fmt.Errorf("%s: %+v", m.Name, m.Status)
			}
		}
		if len(list.Items) != machines {
			return fmt.Errorf("%d machines", len(list.Items))
		}
		return nil
	})
	var secrets corev1.SecretList
	if err := s.c.List(s.t.Context(), &secrets, client.InNamespace(simNamespace)); err != nil {
		s.t.Fatal(err)
	}
	for _, x := range secrets.Items {
		if strings.Contains(x.Name, "-state-") {
			s.t.Errorf("%s is left", x.Name)
		}
	}
	var bindings eggov1.MachineBindingList
	err := s.c.List(s.t.Context(), &bindings, client.InNamespace(simNamespace))
	if err != nil && !apierrors.IsNotFound(err) || len(bindings.Items) > 0 {
		s.t.Errorf("%d bindings are left, %v", len(bindings.Items), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.nodes) > 0 {
		s.t.Errorf("machines are still installed: %v", s.nodes)
	}
}
