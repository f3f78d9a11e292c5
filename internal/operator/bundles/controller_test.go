package bundles

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const space = "lab"

type lab struct {
	client.WithWatch
	r   *Infrastructures
	now time.Time
}

func newLab(t *testing.T, objects ...client.Object) *lab {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	l := &lab{now: time.Now()}
	l.WithWatch = fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).
		WithStatusSubresource(&v1.Infrastructure{}, &batchv1.Job{}, &corev1.Pod{}).Build()
	l.r = &Infrastructures{Client: l, Live: l, Events: record.NewFakeRecorder(100), Image: pod.Image{Name: "eggops:v1"},
		Now: func() time.Time { return l.now }}
	return l
}

// reconciled reconciles the Infrastructure and returns its status.
func (l *lab) reconciled(t *testing.T) v1.InfrastructureStatus {
	t.Helper()
	at := client.ObjectKey{Namespace: space, Name: "infra"}
	if _, err := l.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: at}); err != nil {
		t.Fatal(err)
	}
	var out v1.Infrastructure
	if err := l.Get(t.Context(), at, &out); err != nil {
		t.Fatal(err)
	}
	return out.Status
}

// jobs returns the Jobs, by the path of the bundle that they read.
func (l *lab) jobs(t *testing.T) map[string]*batchv1.Job {
	t.Helper()
	var list batchv1.JobList
	if err := l.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]*batchv1.Job{}
	for i := range list.Items {
		var s pod.Source
		args := list.Items[i].Spec.Template.Spec.Containers[0].Args
		if err := json.Unmarshal([]byte(args[len(args)-1]), &s); err != nil {
			t.Fatal(err)
		}
		out[s.Path] = &list.Items[i]
	}
	return out
}

// ends ends all Jobs that run, with a report for each path.
func (l *lab) ends(t *testing.T, report func(path string) Report) {
	t.Helper()
	for path, j := range l.jobs(t) {
		if len(j.Status.Conditions) > 0 {
			continue
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: j.Name + "-x",
			Labels: map[string]string{batchv1.JobNameLabel: j.Name}}, Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Message: string(report(path).encode())}}}}}}
		if err := l.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(l.now)}}
		if err := l.Status().Update(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

func claim(name string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name},
		Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
}

func infra(bundles ...v1.BundleSource) *v1.Infrastructure {
	return &v1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "infra", UID: "u1", Generation: 1},
		Spec: v1.InfrastructureSpec{Bundles: bundles}}
}

// original is an Infrastructure as the original eggops has them: one claim, and paths by architecture.
func original() *v1.Infrastructure {
	i := infra()
	i.Spec.PackagePersistentVolumeClaim = &corev1.ObjectReference{Name: "packages"}
	i.Spec.InstallConfig.PackageSrc = &v1.PackageSrcConfig{SrcPackages: map[string]string{"x86_64": "x.tar.gz",
		"arm64": "y.tar.gz"}}
	return i
}

func TestInfrastructure(t *testing.T) {
	l := newLab(t, original(), claim("packages", corev1.ClaimBound))
	s := l.reconciled(t)
	if x := meta.FindStatusCondition(s.Conditions, v1.ConditionBundlesReady); x.Reason != v1.ReasonProgressing ||
		!meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReconciling) {
		t.Errorf("%+v", s.Conditions)
	}
	jobs := l.jobs(t)
	if len(jobs) != 2 {
		t.Fatal(jobs)
	}
	for _, j := range jobs {
		p := j.Spec.Template.Spec
		if *p.AutomountServiceAccountToken || !*p.SecurityContext.RunAsNonRoot || len(j.OwnerReferences) != 1 {
			t.Errorf("%+v", p)
		}
	}
	arch := func(path string) string {
		if strings.HasSuffix(path, "x.tar.gz") {
			return "amd64"
		}
		return "arm64"
	}
	l.ends(t, func(path string) Report {
		return Report{Version: "v1.34.2", Arch: arch(path), Digest: "sha256:abc", SignedBy: "me", Size: 7}
	})
	s = l.reconciled(t)
	for _, kind := range []string{v1.ConditionBundlesReady, v1.ConditionReady} {
		if !meta.IsStatusConditionTrue(s.Conditions, kind) {
			t.Errorf("%+v", s.Conditions)
		}
	}
	if len(s.Bundles) != 2 || s.ObservedGeneration != 1 {
		t.Fatalf("%+v", s)
	}
	for _, b := range s.Bundles {
		if b.Version != "v1.34.2" || b.Digest != "sha256:abc" || b.SignedBy != "me" || b.Size != 7 ||
			arch(b.Source) != b.Arch || !strings.HasPrefix(b.Source, "packages/") {
			t.Errorf("%+v", b)
		}
	}
	// Nothing is inspected again, also when the pods are gone.
	if err := l.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(space)); err != nil {
		t.Fatal(err)
	}
	l.now = l.now.Add(24 * time.Hour)
	if s := l.reconciled(t); !meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReady) || len(l.jobs(t)) != 2 {
		t.Errorf("%+v", s)
	}
}

// What is wrong with a bundle is a condition with what to do about it, and does not hide the others.
func TestBundlesThatCannotBeUsed(t *testing.T) {
	ofClaim := func(claim, path string) v1.BundleSource {
		return v1.BundleSource{Version: "v1.34.2", Arch: "amd64", Claim: &v1.ClaimFile{Name: claim, Path: path}}
	}
	byHand := event.NewFault(event.ClassBundle, "bundle.by-hand", nil, "file", "packages/x.tar.gz", "layout", "flat",
		"found", "pkg/a.deb")
	url := v1.BundleSource{Version: "v1.34.2", Arch: "amd64", URL: "https://169.254.169.254/x", SHA256: "x"}
	signed := infra(ofClaim("packages", "x.tar.gz"))
	signed.Spec.SignersRef = &v1.ConfigMapReference{Name: "signers"}
	for name, c := range map[string]struct {
		infra        *v1.Infrastructure
		report       Report
		reason, says string
	}{
		"none":     {infra: infra(), reason: "BundlesNone"},
		"no claim": {infra: infra(ofClaim("other", "x.tar.gz")), reason: v1.ReasonNotFound, says: "other"},
		"claim not bound": {infra: infra(ofClaim("pending", "x.tar.gz")), reason: "BundlesClaimUnbound",
			says: "Pending"},
		"path out of it": {infra: infra(ofClaim("packages", "../x")), reason: "BundlesPath", says: "../x"},
		"hidden path":    {infra: infra(ofClaim("packages", "a/.ssh/x")), reason: "BundlesPath"},
		"absolute path":  {infra: infra(ofClaim("packages", "/etc/shadow")), reason: "BundlesPath"},
		"address":        {infra: infra(url), reason: "BundlesAddress", says: "169.254.169.254"},
		"no signers":     {infra: signed, reason: "BundlesSigners", says: "signers"},
		"packed by hand": {report: Report{Fault: byHand}, reason: "BundleByHand",
			says: "eggo-bundle adopt packages/x.tar.gz"},
		"another version": {report: Report{Version: "v1.35.1", Arch: "amd64"}, reason: "BundlesOther",
			says: "v1.35.1"},
		"another arch":     {report: Report{Version: "v1.34.2", Arch: "arm64"}, reason: "BundlesOther", says: "arm64"},
		"no report at all": {report: Report{}, reason: "BundlesInspection", says: "eggo-inspect-"},
	} {
		if c.infra == nil {
			c.infra = infra(ofClaim("packages", "x.tar.gz"))
		}
		good := ofClaim("packages", "good.tar.gz")
		good.Arch = "arm64"
		if len(c.infra.Spec.Bundles) > 0 && c.infra.Spec.SignersRef == nil {
			c.infra.Spec.Bundles = append(c.infra.Spec.Bundles, good)
		}
		l := newLab(t, c.infra, claim("packages", corev1.ClaimBound), claim("pending", corev1.ClaimPending))
		l.reconciled(t)
		l.ends(t, func(path string) Report {
			if strings.HasSuffix(path, "good.tar.gz") {
				return Report{Version: "v1.34.2", Arch: "arm64"}
			}
			return c.report
		})
		s := l.reconciled(t)
		x := meta.FindStatusCondition(s.Conditions, v1.ConditionBundlesReady)
		if x.Status != metav1.ConditionFalse || x.Reason != c.reason || !strings.Contains(x.Message, c.says) ||
			!meta.IsStatusConditionTrue(s.Conditions, v1.ConditionStalled) {
			t.Errorf("%s: %+v", name, s.Conditions)
		}
		if want := min(1, len(c.infra.Spec.Bundles)); c.infra.Spec.SignersRef == nil && len(s.Bundles) != want {
			t.Errorf("%s: %d bundles, want %d", name, len(s.Bundles), want)
		}
	}
}

// A bundle that was repaired is inspected again after a while, or at once when somebody asks for it; Jobs of what is no
// longer there are deleted.
func TestInspectionIsRepeated(t *testing.T) {
	l := newLab(t, original(), claim("packages", corev1.ClaimBound))
	l.reconciled(t)
	bad := func(string) Report {
		return Report{Fault: event.NewFault(event.ClassBundle, "bundle.not-gzip", nil)}
	}
	l.ends(t, bad)
	if s := l.reconciled(t); !meta.IsStatusConditionTrue(s.Conditions, v1.ConditionStalled) || len(l.jobs(t)) != 2 {
		t.Fatalf("%+v", s.Conditions)
	}
	l.now = l.now.Add(again)
	l.reconciled(t)
	if n := len(l.jobs(t)); n != 0 {
		t.Errorf("%d Jobs of before", n)
	}
	l.reconciled(t)
	before := l.jobs(t)
	if len(before) != 2 {
		t.Fatal(before)
	}
	var i v1.Infrastructure
	if err := l.Get(t.Context(), client.ObjectKey{Namespace: space, Name: "infra"}, &i); err != nil {
		t.Fatal(err)
	}
	i.Annotations = map[string]string{v1.AnnotationRetry: "1"}
	delete(i.Spec.InstallConfig.PackageSrc.SrcPackages, "arm64")
	if err := l.Update(t.Context(), &i); err != nil {
		t.Fatal(err)
	}
	l.reconciled(t)
	after := l.jobs(t)
	for path, j := range after {
		if before[path].Name == j.Name {
			t.Errorf("%s is not inspected again", path)
		}
	}
	if len(after) != 1 {
		t.Error(after)
	}
}

// At most four bundles are read at once.
func TestInspectionsAtOnce(t *testing.T) {
	var list []v1.BundleSource
	for _, path := range strings.Split("a b c d e f g", " ") {
		list = append(list, v1.BundleSource{Version: "v1.34.2", Arch: "amd64", OS: path,
			Claim: &v1.ClaimFile{Name: "packages", Path: path}})
	}
	l := newLab(t, infra(list...), claim("packages", corev1.ClaimBound))
	for range 2 {
		l.reconciled(t)
		if n := len(l.jobs(t)); n != inspectionsAtOnce {
			t.Errorf("%d Jobs", n)
		}
	}
	l.ends(t, func(string) Report { return Report{Version: "v1.34.2", Arch: "amd64"} })
	l.reconciled(t)
	if n := len(l.jobs(t)); n != 7 {
		t.Errorf("%d Jobs", n)
	}
}
