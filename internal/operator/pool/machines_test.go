package pool

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// scripted is a Prober that answers as the test says.
type scripted struct {
	got     []Target
	purged  []Target
	purge   error
	answers []func(Target) (*Found, error) // the last one repeats
}

func (s *scripted) Probe(_ context.Context, t Target) (*Found, error) {
	s.got = append(s.got, t)
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return next(t)
}

func (s *scripted) Purge(_ context.Context, t Target) error {
	s.purged = append(s.purged, t)
	return s.purge
}

func good(Target) (*Found, error) {
	return &Found{Facts: v1.MachineFacts{OS: "debian", Arch: "amd64", MachineID: "id-1"}, HostKeys: []string{someKey}},
		nil
}

func failed(class event.Class, code string, kv ...string) func(Target) (*Found, error) {
	return func(Target) (*Found, error) { return nil, event.NewFault(class, code, nil, kv...) }
}

const someKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN/Cr3JXqmLW7u+g9pTh+wyqDHpSQEIQczXkVx9q"

// noAddresses are those of a host that has none of the addresses of the tests.
func noAddresses() ([]net.Addr, error) { return nil, nil }

// lab is a machine controller over a fake cluster, with a clock.
type lab struct {
	client.Client
	r      *Machines
	prober *scripted
	events *record.FakeRecorder
	now    time.Time
}

func newLab(t *testing.T, answer func(Target) (*Found, error), objects ...client.Object) *lab {
	t.Helper()
	l := &lab{Client: cluster(t, objects...), prober: &scripted{answers: []func(Target) (*Found, error){answer}},
		events: record.NewFakeRecorder(100), now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	l.r = &Machines{Client: l.Client, Live: l.Client, Prober: l.prober, Addresses: &Addresses{Live: l.Client,
		own: noAddresses},
		Events: l.events,
		Now:    func() time.Time { return l.now }, Jitter: func(d time.Duration) time.Duration { return d }}
	return l
}

// login is a Secret with a login: with a password if the type is basic-auth.
func login(name string, kind corev1.SecretType) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name}, Type: kind,
		Data: map[string][]byte{"username": []byte("ops"), "ssh-privatekey": []byte("KEY")}}
	if kind == corev1.SecretTypeBasicAuth {
		s.Data = map[string][]byte{"username": []byte("ops"), "password": []byte("hunter2\n")}
	}
	return s
}

// unprobed is a new machine with a login and a host key.
func unprobed(name, ip string) *v1.Machine {
	m := free(name, ip, "role=worker")
	m.Status = v1.MachineStatus{ObservedGeneration: -1}
	m.Spec.LoginSecretRef, m.Spec.HostKeys = &v1.SecretReference{Name: "key"}, []string{someKey}
	return m
}

func TestMachineIsProbed(t *testing.T) {
	l := newLab(t, good, unprobed("m1", "192.0.2.1"), login("key", corev1.SecretTypeSSHAuth))
	got, err := l.r.Reconcile(t.Context(), named("m1"))
	if err != nil || got.RequeueAfter != probeInterval {
		t.Fatal(got, err)
	}
	var m v1.Machine
	for _, kind := range []string{v1.ConditionReady, v1.ConditionReachable, v1.ConditionSuitable, v1.ConditionClean} {
		if x := condition(t, l, &m, "m1", kind); x.Status != metav1.ConditionTrue {
			t.Errorf("%+v", x)
		}
	}
	if len(m.Status.Fingerprints) != 1 || m.Status.Facts.OS != "debian" || m.Status.Status != 0 ||
		m.Status.LastProbe == nil || m.Status.TrustedHostKeys != nil {
		t.Errorf("%+v", m.Status)
	}
	if x := l.prober.got[0]; x.Login.User != "ops" || string(x.Login.Key) != "KEY" || x.FirstUse || x.Port != 22 {
		t.Errorf("%+v", x)
	}
	// Nothing is probed or written before the time has come, and nothing is written when nothing has changed.
	version := m.ResourceVersion
	reconciled(t, l.r, "m1")
	l.now = l.now.Add(probeInterval)
	reconciled(t, l.r, "m1")
	if condition(t, l, &m, "m1", ""); len(l.prober.got) != 2 || m.ResourceVersion != version {
		t.Errorf("%d probes, version %s, was %s", len(l.prober.got), m.ResourceVersion, version)
	}
	// Another process knows from the status that the machine was probed.
	other := newLab(t, good, &m, login("key", corev1.SecretTypeSSHAuth))
	other.now = l.now
	reconciled(t, other.r, "m1")
	if len(other.prober.got) > 0 {
		t.Error("probed again after a start")
	}
}

// What is wrong with a machine, or with how it is reached: the reason, and whether it is tried again.
func TestMachineIsNotReached(t *testing.T) {
	unknown := []string{"addr", "192.0.2.1:22", "type", "ssh-ed25519", "fingerprint", "SHA256:abc", "key", someKey}
	for name, c := range map[string]struct {
		change func(m *v1.Machine)
		secret *corev1.Secret
		answer func(Target) (*Found, error)
		reason string
		says   string
		after  time.Duration
		probed bool
	}{
		"host key unknown": {answer: failed(event.ClassAuth, "ssh.hostkey-unknown", unknown...), probed: true,
			reason: v1.ReasonHostKeyUnknown, after: time.Minute,
			says: `kubectl patch em/m1 -n pool --type=merge -p '{"spec":{"hostKeys":["` + someKey + `"]}}'`},
		"host key changed": {answer: failed(event.ClassAuth, "ssh.hostkey-changed", append(unknown, "known",
			"ssh-ed25519 SHA256:def")...), probed: true, reason: v1.ReasonHostKeyChanged, says: "SHA256:def", after: 0},
		"of a bastion": {answer: failed(event.ClassAuth, "ssh.hostkey-unknown", "addr", "b.example:22", "type", "x",
			"fingerprint", "SHA256:abc", "key", someKey), probed: true, reason: "PoolHostkeyUnknownHop",
			says: "b.example", after: time.Minute},
		"wrong password": {answer: failed(event.ClassAuth, "ssh.auth", "addr", "x", "user", "ops", "tried",
			"password"), probed: true,
			reason: "SshAuth", after: time.Minute},
		"slow": {answer: func(Target) (*Found, error) { return nil, context.DeadlineExceeded }, probed: true,
			reason: "PoolSlow", says: "1m", after: time.Minute},
		"no Secret": {secret: login("other", corev1.SecretTypeSSHAuth), reason: v1.ReasonLoginMissing, says: "key",
			after: time.Minute},
		"Secret of another type": {secret: login("key", corev1.SecretTypeOpaque), reason: v1.ReasonLoginType,
			says: "Opaque", after: time.Minute},
		"no login": {change: func(m *v1.Machine) { m.Spec.LoginSecretRef = nil }, reason: v1.ReasonLoginMissing,
			after: time.Minute},
		"loopback": {change: func(m *v1.Machine) { m.Spec.IP = "127.0.0.7" }, reason: v1.ReasonAddressRefused,
			after: 0},
		"link-local bastion": {change: func(m *v1.Machine) {
			m.Spec.Bastions = []v1.Bastion{{Host: "169.254.169.254"}}
		}, reason: v1.ReasonAddressRefused, says: "169.254.169.254"},
		"node of this cluster": {change: func(m *v1.Machine) { m.Spec.IP = "198.51.100.1" },
			reason: v1.ReasonAddressRefused},
		"pod of this cluster": {change: func(m *v1.Machine) { m.Spec.IP = "10.244.3.9" },
			reason: v1.ReasonAddressRefused},
		"service": {change: func(m *v1.Machine) { m.Spec.IP = "10.32.0.1" },
			reason: v1.ReasonAddressRefused},
		"address of another": {change: func(m *v1.Machine) { m.Spec.IP = "192.0.2.7" }, reason: v1.ReasonDuplicateIP,
			says: "old", after: time.Minute},
		"address of another namespace": {change: func(m *v1.Machine) { m.Spec.IP = "192.0.2.8" },
			reason: v1.ReasonDuplicateIP, says: "another namespace", after: time.Minute},
		"password, first key": {change: func(m *v1.Machine) {
			m.Spec.HostKeys, m.Spec.HostKeyPolicy = nil, v1.HostKeysOnFirst
		}, secret: login("key", corev1.SecretTypeBasicAuth), reason: "PoolPasswordFirstUse", after: time.Minute},
	} {
		m := unprobed("m1", "192.0.2.1")
		m.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))
		if c.change != nil {
			c.change(m)
		}
		if c.secret == nil {
			c.secret = login("key", corev1.SecretTypeSSHAuth)
		}
		if c.answer == nil {
			c.answer = good
		}
		away := unprobed("away", "192.0.2.8")
		away.Namespace, away.UID = "elsewhere", "u-away"
		away.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
		old := unprobed("old", "192.0.2.7")
		old.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
		l := newLab(t, c.answer, m, old, away, c.secret, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"},
			Spec: corev1.NodeSpec{PodCIDR: "10.244.3.0/24"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: "n"}, {Type: corev1.NodeInternalIP, Address: "198.51.100.1"}}}},
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"},
				Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.32.0.1"}}})
		got, err := l.r.Reconcile(t.Context(), named("m1"))
		if err != nil {
			t.Fatal(name, err)
		}
		x := condition(t, l, m, "m1", v1.ConditionReachable)
		if x.Status != metav1.ConditionFalse || x.Reason != c.reason || !strings.Contains(x.Message, c.says) {
			t.Errorf("%s: %+v", name, x)
		}
		if ready := condition(t, l, m, "m1", v1.ConditionReady); ready.Reason != c.reason || m.Status.Status != 1 ||
			m.Status.ErrorMessage != x.Message {
			t.Errorf("%s: %+v", name, m.Status)
		}
		if got.RequeueAfter != c.after || (len(l.prober.got) > 0) != c.probed {
			t.Errorf("%s: again after %s, want %s; %d probes", name, got.RequeueAfter, c.after, len(l.prober.got))
		}
		text, err := json.Marshal(m)
		for range len(l.events.Events) {
			text = append(text, <-l.events.Events...)
		}
		if err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: a secret is in %s", name, text)
		}
	}
}

// What a probe found at an address says nothing about another one that the machine got meanwhile.
func TestMachineChangesDuringAProbe(t *testing.T) {
	var l *lab
	l = newLab(t, func(to Target) (*Found, error) {
		var m v1.Machine
		condition(t, l, &m, "m1", "")
		m.Spec.IP, m.Generation = "192.0.2.9", 2
		if err := l.Update(t.Context(), &m); err != nil {
			return nil, err
		}
		return good(to)
	}, unprobed("m1", "192.0.2.1"), login("key", corev1.SecretTypeSSHAuth))
	l.prober.answers = append(l.prober.answers, good)
	reconciled(t, l.r, "m1")
	var m v1.Machine
	if x := condition(t, l, &m, "m1", v1.ConditionReachable); x.Type != "" || m.Generation != 2 {
		t.Errorf("%+v, generation %d", x, m.Generation)
	}
	reconciled(t, l.r, "m1")
	if x := condition(t, l, &m, "m1", v1.ConditionReachable); x.Status != metav1.ConditionTrue ||
		l.prober.got[1].IP.String() != "192.0.2.9" {
		t.Errorf("%+v, %+v", x, l.prober.got)
	}
}

// A key that has changed is not tried again until the Machine changes, or somebody asks for it.
func TestChangedKeyIsNotRetried(t *testing.T) {
	l := newLab(t, failed(event.ClassAuth, "ssh.hostkey-changed"), unprobed("m1", "192.0.2.1"),
		login("key", corev1.SecretTypeSSHAuth))
	reconciled(t, l.r, "m1")
	l.now = l.now.Add(100 * time.Hour)
	reconciled(t, l.r, "m1")
	if len(l.prober.got) != 1 {
		t.Errorf("%d probes", len(l.prober.got))
	}
	var m v1.Machine
	condition(t, l, &m, "m1", "")
	m.Annotations = map[string]string{v1.AnnotationRetry: "1"}
	if err := l.Update(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	l.prober.answers = []func(Target) (*Found, error){good}
	reconciled(t, l.r, "m1")
	if x := condition(t, l, &m, "m1", v1.ConditionReady); x.Status != metav1.ConditionTrue || len(l.prober.got) != 2 {
		t.Errorf("%+v, %d probes", x, len(l.prober.got))
	}
}

// Failed probes are repeated at growing intervals.
func TestFailedProbesAreRepeated(t *testing.T) {
	l := newLab(t, failed(event.ClassFailed, "ssh.connect"), unprobed("m1", "192.0.2.1"),
		login("key", corev1.SecretTypeSSHAuth))
	var after []time.Duration
	for range 7 {
		got, err := l.r.Reconcile(t.Context(), named("m1"))
		if err != nil {
			t.Fatal(err)
		}
		after = append(after, got.RequeueAfter/time.Minute)
		l.now = l.now.Add(got.RequeueAfter)
	}
	if !slices.Equal(after, []time.Duration{1, 2, 4, 8, 16, 30, 30}) {
		t.Error(after)
	}
}

// With TrustOnFirstUse the first key is kept, and is the only one from then on.
func TestFirstKeyIsKept(t *testing.T) {
	m := unprobed("m1", "192.0.2.1")
	m.Spec.HostKeys, m.Spec.HostKeyPolicy = nil, v1.HostKeysOnFirst
	m.Annotations = map[string]string{v1.AnnotationPasswordOnFirstUse: "true"}
	l := newLab(t, good, m, login("key", corev1.SecretTypeBasicAuth))
	reconciled(t, l.r, "m1")
	l.now = l.now.Add(probeInterval)
	reconciled(t, l.r, "m1")
	if a, b := l.prober.got[0], l.prober.got[1]; !a.FirstUse || b.FirstUse || !slices.Equal(b.HostKeys, []string{
		someKey}) ||
		a.Login.Password != "hunter2" {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// A machine without a login uses that of a cluster that could get it.
func TestLoginOfACluster(t *testing.T) {
	m := unprobed("m1", "192.0.2.1")
	m.Spec.LoginSecretRef = nil
	wants, not := requires("b", 1, 0), requires("a", 1, 0)
	wants.Spec.MachineLoginSecret = &corev1.ObjectReference{Name: "key"}
	not.Spec.MachineLoginSecret = &corev1.ObjectReference{Name: "other"}
	not.Spec.MasterRequire.Features = map[string]string{"role": "control"}
	not.Spec.WorkerRequire = nil
	foreign := requires("c", 1, 0)
	foreign.Spec.MachineLoginSecret = &corev1.ObjectReference{Name: "key", Namespace: "elsewhere"}
	second := requires("d", 1, 0)
	second.Spec.MachineLoginSecret = &corev1.ObjectReference{Name: "key2"}
	l := newLab(t, failed(event.ClassAuth, "ssh.auth"), m, wants, not, foreign, second, login("key",
		corev1.SecretTypeSSHAuth),
		login("key2", corev1.SecretTypeBasicAuth), login("other", corev1.SecretTypeSSHAuth))
	l.prober.answers = append(l.prober.answers, good)
	reconciled(t, l.r, "m1")
	if len(l.prober.got) != 2 || l.prober.got[0].Login.Key == nil || l.prober.got[1].Login.Password != "hunter2" {
		t.Errorf("%+v", l.prober.got)
	}
	if x := condition(t, l, m, "m1", v1.ConditionReachable); x.Status != metav1.ConditionTrue {
		t.Errorf("%+v", x)
	}
}

// What makes a machine unfit for a cluster, though it was reached.
func TestMachineIsNotSuitable(t *testing.T) {
	with := func(f func(*Found)) func(Target) (*Found, error) {
		return func(t Target) (*Found, error) {
			got, err := good(t)
			f(got)
			return got, err
		}
	}
	for name, c := range map[string]struct {
		change       func(m *v1.Machine)
		answer       func(Target) (*Found, error)
		kind, reason string
	}{
		"preflight": {answer: with(func(f *Found) {
			f.Problems = []*event.Fault{event.NewFault(event.ClassPreflight, "preflight.cgroup2", nil)}
		}), kind: v1.ConditionSuitable, reason: "PreflightCgroup2"},
		"architecture": {change: func(m *v1.Machine) { m.Spec.Arch = "aarch64" }, kind: v1.ConditionSuitable,
			reason: "PoolArch"},
		"another cluster": {answer: with(func(f *Found) {
			f.Foreign = event.NewFault(event.ClassPreflight, "preflight.other-cluster", nil, "cluster", "x")
		}), kind: v1.ConditionClean, reason: v1.ReasonNotClean},
		"a record": {answer: with(func(f *Found) { f.Facts.Recorded = true }), kind: v1.ConditionClean,
			reason: v1.ReasonNotClean},
		"maintenance": {change: func(m *v1.Machine) { m.Spec.Maintenance = true }, kind: v1.ConditionReady,
			reason: v1.ReasonMaintenance},
	} {
		m := unprobed("m1", "192.0.2.1")
		if c.change != nil {
			c.change(m)
		}
		if c.answer == nil {
			c.answer = good
		}
		l := newLab(t, c.answer, m, login("key", corev1.SecretTypeSSHAuth))
		reconciled(t, l.r, "m1")
		for _, kind := range []string{c.kind, v1.ConditionReady} {
			if x := condition(t, l, m, "m1", kind); x.Status != metav1.ConditionFalse || x.Reason != c.reason ||
				x.Message == "" {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

// A machine on its way: free, bound, leaving, quarantined, installed again.
func TestMachineChangesHands(t *testing.T) {
	l := newLab(t, good, unprobed("m1", "192.0.2.1"), login("key", corev1.SecretTypeSSHAuth))
	var m v1.Machine
	at := func(kind, reason string) {
		t.Helper()
		reconciled(t, l.r, "m1")
		if x := condition(t, l, &m, "m1", kind); x.Reason != reason {
			t.Errorf("%+v, want %s", x, reason)
		}
	}
	at(v1.ConditionClean, v1.ReasonSucceeded)
	b := &v1.MachineBinding{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: v1.BindingName("a")},
		Spec: v1.MachineBindingSpec{ClusterRef: &v1.ClusterReference{Name: "a", UID: "c-a"},
			Machines: bindings("m1:mwe")}}
	if err := l.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	at(v1.ConditionClean, v1.ReasonBound)
	at(v1.ConditionReady, v1.ReasonBound)
	if s := m.Status; s.Cluster != "a" || s.RoleBindings != 7 || s.ClusterRef == nil || s.ClusterRef.UID != "c-a" ||
		len(s.Roles) != 3 || condition(t, l, &m, "m1", v1.ConditionReady).Status != metav1.ConditionTrue {
		t.Errorf("%+v", s)
	}
	b.Spec.Machines[0].Leaving = true
	if err := l.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	at(v1.ConditionClean, v1.ReasonBound)
	if err := Cleaned(t.Context(), l, client.ObjectKeyFromObject(&m)); err != nil {
		t.Fatal(err)
	}
	at(v1.ConditionClean, v1.ReasonSucceeded)
	if err := l.Delete(t.Context(), b); err != nil { // as the Binder does
		t.Fatal(err)
	}
	at(v1.ConditionClean, v1.ReasonSucceeded)
	b.Spec.Machines[0].Leaving, b.ResourceVersion = false, ""
	if err := l.Create(t.Context(), b); err != nil { // bound again
		t.Fatal(err)
	}
	at(v1.ConditionClean, v1.ReasonBound)
	if err := l.Delete(t.Context(), b); err != nil { // without a cleanup, while there is no such cluster
		t.Fatal(err)
	}
	at(v1.ConditionClean, "PoolUnbound")
	if x := condition(t, l, &m, "m1", v1.ConditionReady); x.Status != metav1.ConditionFalse ||
		m.Status.ClusterRef != nil || !strings.Contains(x.Message, "cluster a,") {
		t.Errorf("%+v %+v", x, m.Status.ClusterRef)
	}
	l.now = l.now.Add(probeInterval)
	at(v1.ConditionClean, "PoolUnbound")
	l.prober.answers = []func(Target) (*Found, error){func(t Target) (*Found, error) {
		f, err := good(t)
		f.Facts.MachineID = "id-2"
		return f, err
	}}
	l.now = l.now.Add(probeInterval)
	at(v1.ConditionClean, v1.ReasonSucceeded)
	if len(l.prober.purged) > 0 {
		t.Error("it was cleaned, and nothing had asked for it")
	}
}

// A machine in quarantine is cleaned when it answers, and not before; one that others have installed meanwhile is left
// alone.
func TestQuarantinedMachineIsCleaned(t *testing.T) {
	of := func(cluster, owner string) func(Target) (*Found, error) {
		return func(t Target) (*Found, error) {
			f, err := good(t)
			f.Facts.Cluster, f.Facts.Owner, f.Facts.Recorded = cluster, owner, cluster != ""
			return f, err
		}
	}
	for name, c := range map[string]struct {
		found, after func(Target) (*Found, error)
		purge        error
		purged       bool
		reason       string
	}{
		"ours":            {found: of("a", "me"), after: good, purged: true, reason: v1.ReasonSucceeded},
		"nothing on it":   {found: good, after: good, purged: true, reason: v1.ReasonSucceeded},
		"another":         {found: of("b", ""), reason: v1.ReasonQuarantined},
		"another owner":   {found: of("a", "you"), reason: v1.ReasonQuarantined},
		"does not answer": {found: failed(event.ClassFailed, "ssh.connect"), reason: v1.ReasonQuarantined},
		"cleanup fails": {found: of("a", "me"), purge: event.NewFault(event.ClassFailed, "run.failed", nil, "count",
			"1"),
			purged: true, reason: v1.ReasonQuarantined},
		"something is left": {found: of("a", "me"), after: of("a", "me"), purged: true, reason: v1.ReasonNotClean},
	} {
		m := unprobed("m1", "192.0.2.1")
		l := newLab(t, c.found, m, login("key", corev1.SecretTypeSSHAuth))
		if c.after != nil {
			l.prober.answers = append(l.prober.answers, c.after)
		}
		l.prober.purge = c.purge
		had := &v1.MachineStatus{Cluster: "a", ClusterRef: &v1.ClusterReference{Name: "a"},
			Facts: &v1.MachineFacts{Cluster: "a", Owner: "me", MachineID: "id-1"}}
		err := conditions.Apply(t.Context(), l, "Machine", client.ObjectKeyFromObject(m), "", Owner, had)
		if err != nil {
			t.Fatal(err)
		}
		if err := Quarantine(t.Context(), l, client.ObjectKeyFromObject(m), "a"); err != nil {
			t.Fatal(err)
		}
		reconciled(t, l.r, "m1")
		if x := condition(t, l, m, "m1", v1.ConditionClean); x.Reason != c.reason ||
			(len(l.prober.purged) > 0) != c.purged {
			t.Errorf("%s: %+v, cleaned: %v", name, x, l.prober.purged)
		}
		if c.purged && (l.prober.purged[0].Cluster != "a" || len(l.prober.purged[0].HostKeys) != 1) {
			t.Errorf("%s: %+v", name, l.prober.purged[0])
		}
		if m.Status.ClusterRef != nil || (m.Status.Cluster == "a") != (c.reason == v1.ReasonQuarantined) {
			t.Errorf("%s: %+v", name, m.Status)
		}
	}
}

// A binding that somebody deletes is made again of what the machines know, with the same machines.
func TestBindingIsRestored(t *testing.T) {
	a := requires("a", 1, 0)
	l := newLab(t, good, unprobed("m1", "192.0.2.1"), unprobed("m2", "192.0.2.2"), a,
		login("key", corev1.SecretTypeSSHAuth))
	b := &Binder{Client: l, Live: l, Events: record.NewFakeRecorder(100)}
	reconciled(t, l.r, "m1", "m2")
	reconciled(t, b, "a")
	reconciled(t, l.r, "m1", "m2")
	had := bound(t, l, "a")
	if spelled(had.Spec.Machines) != "m1:mwe" {
		t.Fatal(spelled(had.Spec.Machines))
	}
	if err := l.Delete(t.Context(), had); err != nil {
		t.Fatal(err)
	}
	reconciled(t, l.r, "m1", "m2")
	var m v1.Machine
	if x := condition(t, l, &m, "m1", v1.ConditionClean); x.Reason != v1.ReasonBound || m.Status.ClusterRef == nil {
		t.Errorf("%+v", m.Status)
	}
	reconciled(t, b, "a")
	if got := bound(t, l, "a"); spelled(got.Spec.Machines) != "m1:mwe" || got.Spec.Machines[0].UID != "u-m1" {
		t.Errorf("%+v", got.Spec)
	}
}

// unreadable is a cluster whose nodes cannot be listed.
type unreadable struct{ client.Client }

func (u unreadable) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	if _, is := list.(*corev1.NodeList); is {
		return errors.New("forbidden")
	}
	return u.Client.List(ctx, list, o...)
}

// Without the addresses of its own cluster the operator logs in nowhere.
func TestUnknownAddressesAreRefused(t *testing.T) {
	l := newLab(t, good, unprobed("m1", "192.0.2.1"), login("key", corev1.SecretTypeSSHAuth))
	l.r.Addresses = &Addresses{Live: unreadable{l.Client}, own: noAddresses}
	if _, err := l.r.Reconcile(t.Context(), named("m1")); err == nil || len(l.prober.got) > 0 {
		t.Error(err, l.prober.got)
	}
	if known := l.r.Addresses.Known(); !known.HasHost("192.0.2.1") || !known.HasHost("2001:db8::1") {
		t.Error(known)
	}
}
