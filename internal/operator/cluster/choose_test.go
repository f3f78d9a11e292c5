package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// noon is the time of the tests.
func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// rack is a cluster of tests that changes as its Operations would change it.
type rack struct {
	*testing.T
	world
}

// newRack returns the Cluster demo with a control plane and two workers, bound and not installed.
func newRack(t *testing.T) *rack {
	t.Helper()
	r := &rack{T: t, world: world{now: noon(), bound: map[string]*v1.Machine{}}}
	r.cluster = &v1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "lab", Generation: 1, UID: "u"},
		Spec: v1.ClusterSpec{Infrastructure: &corev1.ObjectReference{Name: "infra"},
			ClusterPolicy: v1.ClusterPolicy{Version: "v1.34.2", SnapshotClaim: "snapshots"}},
		Status: v1.ClusterStatus{Conditions: []metav1.Condition{{Type: v1.ConditionMachinesBound,
			Status: metav1.ConditionTrue, ObservedGeneration: 1}}}}
	r.infra = &v1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "infra", Namespace: "lab"}}
	for _, v := range []string{"v1.34.2", "v1.35.1", "v1.36.0"} {
		r.infra.Spec.Bundles = append(r.infra.Spec.Bundles, v1.BundleSource{Version: v, Arch: "amd64",
			Claim: &v1.ClaimFile{Name: "c", Path: v + ".tar.gz"}})
	}
	r.binding = &v1.MachineBinding{ObjectMeta: metav1.ObjectMeta{Name: v1.BindingName("demo"), Namespace: "lab"}}
	r.bind("m1", v1.RoleMaster)
	r.bind("w1", v1.RoleWorker)
	r.bind("w2", v1.RoleWorker)
	r.describe = func(_ context.Context, version string, keep []string) (description, error) {
		return r.described(version, keep), nil
	}
	return r
}

func (r *rack) bind(name string, roles ...v1.Role) {
	ip := "192.0.2." + map[string]string{"m1": "1", "m2": "2", "w1": "11", "w2": "12", "w3": "13"}[name]
	r.bound[name] = &v1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "lab"},
		Spec: v1.MachineSpec{HostName: name, IP: ip, Arch: "amd64"}}
	r.binding.Spec.Machines = append(r.binding.Spec.Machines, v1.BoundMachine{Name: name, UID: name, Roles: roles})
}

func (r *rack) leave(name string) *v1.Machine {
	i := slices.IndexFunc(r.binding.Spec.Machines, func(m v1.BoundMachine) bool { return m.Name == name })
	r.binding.Spec.Machines[i].Leaving = true
	return r.bound[name]
}

func (r *rack) described(version string, keep []string) description {
	in := render.Input{Cluster: r.cluster, Infrastructure: r.infra, Login: render.Login{Secret: "pool", User: "root"}}
	for _, b := range r.binding.Spec.Machines {
		if !b.Leaving || slices.Contains(keep, b.Name) {
			in.Machines = append(in.Machines, render.Machine{Object: r.bound[b.Name], Roles: b.Roles})
		}
	}
	out := description{logins: []string{"pool@1"}}
	for _, b := range gather.Bundles(r.infra, version) {
		in.Bundles = append(in.Bundles, render.Bundle{Arch: b.Arch, Path: pod.BundlePath(b)})
		out.pod.Bundles = append(out.pod.Bundles, pod.SourceOf(b))
	}
	out.file, out.problems = render.Cluster(in)
	return out
}

// install makes the state of the cluster what its objects describe now.
func (r *rack) install() {
	r.Helper()
	d := r.described(r.cluster.Spec.Version, nil)
	if d.problems.HasErrors() {
		r.Fatal(d.problems)
	}
	r.has.text, r.has.config = d.file.Text, d.file.Cluster
	r.cluster.Status.HasCluster = true
}

// ended adds the Operation of an attempt as one that has ended.
func (r *rack) ended(a *attempt, phase v1.OperationPhase) *v1.Operation {
	o := a.operation(r.cluster)
	o.UID, o.Status.Phase = types.UID(o.Name), phase
	o.CreationTimestamp = metav1.NewTime(r.now.Add(time.Duration(len(r.ops)) * time.Second))
	r.ops = append(r.ops, *o)
	return &r.ops[len(r.ops)-1]
}

func (r *rack) decide() decision {
	r.Helper()
	d, err := r.next(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// says returns a decision in few words.
func says(d decision) string {
	var words []string
	add := func(is bool, word string) {
		if is {
			words = append(words, word)
		}
	}
	if b := d.begin; b != nil {
		words = append(words, string(b.verb))
		if b.args != nil {
			words = append(words, b.args.Nodes...)
			add(b.args.Force, "force")
			add(b.args.Version != "", b.args.Version)
		}
		if b.config != nil {
			c, _ := config.Load(b.config, "deploy.yaml")
			for _, n := range c.Nodes {
				words = append(words, "+"+n.Name)
			}
		}
	}
	if d.stalled != nil {
		words = append(words, "stalled", d.stalled.Code)
	}
	add(d.failure != nil, "failed")
	add(d.same, "same")
	add(d.begin == nil && d.waits != "", "waits "+d.waits)
	return strings.Join(words, " ")
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*rack)
		want string
	}{
		"a new cluster":     {func(*rack) {}, "deploy +m1 +w1 +w2"},
		"nothing to do":     {func(r *rack) { r.install() }, "same"},
		"no binding yet":    {func(r *rack) { r.binding = nil }, "waits WaitingForMachines"},
		"an older binding":  {func(r *rack) { r.cluster.Generation = 2 }, "waits WaitingForMachines"},
		"too few machines":  {short, "waits WaitingForMachines"},
		"too few, for more": {func(r *rack) { r.install(); short(r) }, "waits WaitingForMachines"},
		"a worker more": {func(r *rack) { r.install(); r.bind("w3", v1.RoleWorker) },
			"deploy +m1 +w1 +w2 +w3"},
		"a worker less": {func(r *rack) { r.install(); r.leave("w2") }, "delete w2"},
		"one comes and one goes": {func(r *rack) { r.install(); r.leave("w2"); r.bind("w3", v1.RoleWorker) },
			"deploy +m1 +w1 +w2 +w3"},
		"a dead worker less": {func(r *rack) { r.install(); dead(r.leave("w2")) }, "delete w2 force"},
		"a setting": {func(r *rack) { r.install(); r.cluster.Spec.EnableKubeletServing = true },
			"deploy +m1 +w1 +w2"},
		"an upgrade":      {func(r *rack) { r.install(); r.cluster.Spec.Version = "v1.35.1" }, "upgrade v1.35.1"},
		"over two minors": {func(r *rack) { r.install(); r.cluster.Spec.Version = "v1.36.0" }, "upgrade v1.36.0"},
		"a newer bundle":  {func(r *rack) { r.install(); r.cluster.Spec.Version = "" }, "same"},
		"a machine first": {func(r *rack) {
			r.install()
			r.cluster.Spec.Version = "v1.35.1"
			r.bind("w3", v1.RoleWorker)
		}, "deploy +m1 +w1 +w2 +w3"},
		"an upgrade under way": {func(r *rack) { r.install(); r.has.upgrading = true },
			"upgrade v1.34.2"},
		"no claim": {func(r *rack) {
			r.install()
			r.cluster.Spec.Version, r.cluster.Spec.SnapshotClaim = "v1.35.1", ""
		}, "stalled operator.no-claim"},
		"a gap": {func(r *rack) {
			r.install()
			r.infra.Spec.Bundles = slices.Delete(r.infra.Spec.Bundles, 1, 2)
			r.cluster.Spec.Version = "v1.36.0"
		}, "stalled operator.version-gap"},
		"an older version": {func(r *rack) {
			r.cluster.Spec.Version = "v1.35.1"
			r.install()
			r.cluster.Spec.Version = "v1.34.2"
		}, "stalled desired.version"},
		"no such version":  {func(r *rack) { r.cluster.Spec.Version = "v1.33.0" }, "stalled operator.no-bundle"},
		"no version":       {func(r *rack) { r.cluster.Spec.Version = "" }, "stalled operator.no-version"},
		"another arch":     {func(r *rack) { r.bound["w1"].Spec.Arch = "arm64" }, "stalled operator.no-bundle"},
		"the only version": {func(r *rack) { onlyBundle(r); r.cluster.Spec.Version = "" }, "deploy +m1 +w1 +w2"},
		"an invalid spec":  {func(r *rack) { r.cluster.Spec.Network.PodPlugin = "magic" }, "stalled config.choice"},
		"an adoption":      {func(r *rack) { r.cluster.Spec.Adopt = &v1.AdoptSource{} }, "stalled operator.unsupported"},
		"a damaged state": {func(r *rack) {
			r.has.fault = event.NewFault(event.ClassUsage, "config.syntax", nil)
		}, "stalled config.syntax"},
		"paused":            {func(r *rack) { r.cluster.Spec.Paused = true }, "waits Paused"},
		"outside":           {func(r *rack) { r.install(); r.leave("w2"); window(r, "22:00-06:00") }, "waits WaitingForWindow"},
		"inside":            {func(r *rack) { r.install(); r.leave("w2"); window(r, "11:00-13:00") }, "delete w2"},
		"a new one, always": {func(r *rack) { window(r, "22:00-06:00") }, "deploy +m1 +w1 +w2"},
		"a plan first":      {func(r *rack) { r.cluster.Spec.Approval = v1.ApprovalManual }, "plan +m1 +w1 +w2"},
		"a plan before others' state is changed": {func(r *rack) {
			r.install()
			r.cluster.Status.HasCluster = false
			r.leave("w2")
		}, "plan w2"},
		"others' state that is right": {func(r *rack) { r.install(); r.cluster.Status.HasCluster = false }, "same"},
		"a backup":                    {func(r *rack) { r.install(); backup(r) }, "backup same"},
		"a backup that is not due": {func(r *rack) {
			r.install()
			backup(r)
			r.ended(&attempt{verb: v1.VerbBackup, digest: "12345678"}, v1.PhaseSucceeded)
		}, "same"},
		"certificates that expire": {func(r *rack) { r.install(); r.expires = noon().AddDate(0, 0, 20) }, "renew"},
		"certificates that last":   {func(r *rack) { r.install(); r.expires = noon().AddDate(0, 2, 0) }, "same"},
		"drift, reported":          {func(r *rack) { r.install(); drifted(r, v1.DriftReport) }, "same"},
		"drift, corrected":         {func(r *rack) { r.install(); drifted(r, v1.DriftCorrect) }, "deploy"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRack(t)
			c.set(r)
			if got := says(r.decide()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func short(r *rack) { r.cluster.Status.Conditions[0].Status = metav1.ConditionFalse }

func dead(m *v1.Machine) {
	m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReachable, Status: metav1.ConditionFalse}}
}

func onlyBundle(r *rack) { r.infra.Spec.Bundles = r.infra.Spec.Bundles[:1] }

func window(r *rack, w string) { r.cluster.Spec.MaintenanceWindow = w }

func backup(r *rack) {
	r.cluster.Spec.Backup = &v1.BackupPolicy{Schedule: metav1.Duration{Duration: time.Hour}, Claim: "b"}
}

func drifted(r *rack, p v1.DriftPolicy) {
	r.cluster.Spec.DriftPolicy = p
	r.health = &answered{Answer: Answer{Nodes: []NodeHealth{{Name: "m1"}, {Name: "w1"}, {Name: "x-1"}}}}
}

// The bundles of all versions on the way are in the pod, and in the request those to upgrade to.
func TestNext_BundlesOfAnUpgrade(t *testing.T) {
	r := newRack(t)
	r.install()
	r.cluster.Spec.Version = "v1.36.0"
	b := r.decide().begin
	q, is := b.q.(request.Upgrade)
	var mounted []string
	for _, s := range b.pod.Bundles {
		mounted = append(mounted, strings.TrimSuffix(s.Path[strings.LastIndex(s.Path, "/")+1:], ".tar.gz"))
	}
	slices.Sort(mounted)
	if !is || len(q.Bundles) != 2 || !strings.Contains(strings.Join(mounted, " "), "v1.34.2 v1.35.1 v1.36.0") ||
		q.Validate() != nil || b.config != nil {
		t.Errorf("%+v with %v", b.q, mounted)
	}
}

// A failure is not tried again before something changes: each change gives another Operation.
func TestNext_NotTwiceAfterAFailure(t *testing.T) {
	r := newRack(t)
	first := r.decide()
	r.ended(first.begin, v1.PhaseFailed)
	if got := says(r.decide()); got != "failed" {
		t.Fatalf("%q", got)
	}
	for name, change := range map[string]func(*rack){
		"the spec":  func(r *rack) { r.cluster.Spec.EnableKubeletServing = true },
		"a retry":   func(r *rack) { r.cluster.Annotations = map[string]string{v1.AnnotationRetry: "1"} },
		"a machine": func(r *rack) { r.bound["w1"].Spec.IP = "192.0.2.19" },
		"a take-over": func(r *rack) {
			r.cluster.Annotations = map[string]string{v1.AnnotationTakeOver: "7"}
		},
		"a login": func(r *rack) {
			of := r.describe
			r.describe = func(ctx context.Context, v string, keep []string) (description, error) {
				d, err := of(ctx, v, keep)
				d.logins = []string{"pool@2"}
				return d, err
			}
		},
	} {
		n := newRack(t)
		n.ops = slices.Clone(r.ops)
		change(n)
		if d := n.decide(); d.begin == nil || d.begin.name(n.cluster) == first.begin.name(n.cluster) {
			t.Errorf("%s: %q", name, says(d))
		}
	}
	if got := r.decide(); got.begin != nil || got.failure == nil {
		t.Errorf("%q", says(got))
	}
}

// A run that succeeds without effect does not begin again and again.
func TestNext_NotEndlessly(t *testing.T) {
	r := newRack(t)
	r.ended(r.decide().begin, v1.PhaseSucceeded)
	if got := says(r.decide()); got != "stalled operator.endless" {
		t.Errorf("%q", got)
	}
}

// While an Operation runs, nothing else is made. One that is out of date is stopped,
// and not deleted: it may have begun a moment ago.
func TestNext_OneAtATime(t *testing.T) {
	r := newRack(t)
	r.ended(r.decide().begin, v1.PhaseRunning)
	r.cluster.Spec.EnableKubeletServing = true
	if d := r.decide(); d.begin != nil || d.waits != v1.ReasonProgressing || d.drop != nil {
		t.Errorf("%q", says(d))
	}
	r.ops[0].Status.Phase = v1.PhaseQueued
	if d := r.decide(); d.begin == nil || len(d.stop) != 1 || d.stop[0].Name != r.ops[0].Name || d.drop != nil {
		t.Errorf("%q, stopped %v", says(d), d.stop)
	}
	r.cluster.Spec.EnableKubeletServing = false
	if d := r.decide(); d.begin == nil || d.begin.exists == nil || d.drop != nil { // its Secret may be missing
		t.Errorf("%q", says(d))
	}
	r.ops[0].Status.Phase = v1.PhaseStopped // before it began
	if d := r.decide(); d.begin != nil || len(d.drop) != 1 || d.stalled != nil || d.failure != nil {
		t.Errorf("%q, dropped %v", says(d), d.drop)
	}
	r.cluster.Spec.Paused, r.ops[0].Status.Phase = true, v1.PhaseRunning
	if d := r.decide(); len(d.stop) != 1 || d.begin != nil {
		t.Errorf("%q", says(d))
	}
}

func TestNext_Approval(t *testing.T) {
	r := newRack(t)
	r.cluster.Spec.Approval = v1.ApprovalManual
	plan := r.decide().begin
	o := r.ended(plan, v1.PhaseSucceeded)
	o.Status.PlanDigest, o.Status.ChangesTotal = "abc", 3
	d := r.decide()
	if says(d) != "waits WaitingForApproval" || d.plan == nil || d.plan.Digest != "abc" {
		t.Fatalf("%q %+v", says(d), d.plan)
	}
	r.cluster.Annotations = map[string]string{v1.AnnotationApprove: "another"}
	if d = r.decide(); says(d) != "waits WaitingForApproval" {
		t.Errorf("%q", says(d))
	}
	r.cluster.Annotations[v1.AnnotationApprove] = "abc"
	if d = r.decide(); says(d) != "deploy +m1 +w1 +w2" {
		t.Errorf("%q", says(d))
	}
	o.Status.Phase = v1.PhaseFailed
	if d = r.decide(); says(d) != "failed" {
		t.Errorf("%q", says(d))
	}
}

// A deploy that broke off after it was accepted is continued once.
func TestNext_Unfinished(t *testing.T) {
	r := newRack(t)
	first := r.decide().begin
	r.install()
	r.ended(first, v1.PhaseFailed)
	d := r.decide()
	if says(d) != "deploy" || d.begin.config != nil {
		t.Fatalf("%q", says(d))
	}
	r.ended(d.begin, v1.PhaseFailed)
	if d = r.decide(); says(d) != "failed" {
		t.Errorf("%q", says(d))
	}
}

func TestUntilWindow(t *testing.T) {
	for w, want := range map[string]time.Duration{
		"": 0, "11:00-13:00": 0, "22:00-06:00": 10 * time.Hour, "13:00-14:00": time.Hour,
		"06:00-07:00": 18 * time.Hour, "20:00-13:00": 0, "12:00-12:30": 0, "11:00-12:00": 23 * time.Hour,
	} {
		if got := untilWindow(w, noon()); got != want {
			t.Errorf("%q: %v, want %v", w, got, want)
		}
	}
}

// No secret is in an Operation, and its Secret names files of the pod alone.
func TestAttempt_Input(t *testing.T) {
	r := newRack(t)
	b := r.decide().begin
	o := b.operation(r.cluster)
	o.UID = "x"
	s, err := b.input(o)
	if err != nil {
		t.Fatal(err)
	}
	text := string(s.Data[v1.InputConfig])
	var in pod.Input
	if err := json.Unmarshal(s.Data[pod.InputPod], &in); err != nil || len(in.Bundles) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	q, err := request.Decode(s.Data[v1.InputRequest])
	if err != nil || q.Verb() != request.VerbDeploy || len(q.Base().Source.Text) > 0 ||
		!strings.Contains(text, "file:/") || s.Name != v1.InputSecret(o.Name) || !metav1.IsControlledBy(s, o) {
		t.Errorf("%+v, %v\n%s", q, err, text)
	}
}
