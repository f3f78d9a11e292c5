package pod_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/render"
)

func run() pod.Run {
	r := pod.Run{
		Operation: &eggov1.Operation{ObjectMeta: metav1.ObjectMeta{Name: "demo-deploy-1", Namespace: "lab", UID: "u1"},
			Spec: eggov1.OperationSpec{ClusterRef: eggov1.OperationCluster{Name: "demo"}, Verb: eggov1.VerbDeploy}},
		Cluster: &eggov1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "lab"},
			Spec: eggov1.ClusterSpec{ClusterPolicy: eggov1.ClusterPolicy{SnapshotClaim: "data",
				Backup: &eggov1.BackupPolicy{Claim: "data"}}}},
		Image: pod.Image{Name: "registry.example.com/eggops:v1", PullPolicy: corev1.PullIfNotPresent},
		Input: pod.Input{Logins: []string{"key"}, Signers: "signers"},
	}
	for i, b := range []eggov1.BundleSource{
		{Version: "v1.34.2", Arch: "amd64", Claim: &eggov1.ClaimFile{Name: "packages", Path: "a/x.tar.gz"}},
		{Version: "v1.34.2", Arch: "arm64", Claim: &eggov1.ClaimFile{Name: "packages", Path: "y.tar.gz"}},
		{Version: "v1.35.1", Arch: "amd64", Image: "r.example.com/b@sha256:" + strings.Repeat("a", 64),
			PullSecretRef: &eggov1.SecretReference{Name: "pull"}},
		{Version: "v1.35.1", Arch: "arm64", URL: "https://e.example.com/b.tar.gz", SHA256: strings.Repeat("b", 64)},
	} {
		r.Input.Bundles = append(r.Input.Bundles, pod.SourceOf(b))
		if i == 0 {
			r.Input.Bundles[0].Size = 1 << 30
		}
	}
	return r
}

// The pod of a run has no right on its node, no secret in its arguments or environment, and each path that deploy.yaml
// names is below a mount.
func TestRunJob(t *testing.T) {
	r := run()
	r.Cluster.Spec.EggoAffinity = &runtime.RawExtension{Raw: []byte(`{"nodeAffinity":{}}`)}
	j, err := r.Job()
	if err != nil {
		t.Fatal(err)
	}
	s := j.Spec.Template.Spec
	c := s.Containers[0]
	if !*s.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem ||
		*c.SecurityContext.AllowPrivilegeEscalation || s.HostNetwork || s.Affinity == nil ||
		s.Affinity.NodeAffinity == nil {
		t.Errorf("%+v", s)
	}
	if len(s.Tolerations) != 1 || s.Tolerations[0].Effect != corev1.TaintEffectNoSchedule {
		t.Errorf("the pod does not tolerate a control plane: %+v", s.Tolerations)
	}
	under := func(file string) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return strings.HasPrefix(file, m.MountPath+"/")
		})
	}
	for _, b := range r.Input.Bundles {
		if !under(b.Path) {
			t.Errorf("%s is below no mount", b.Path)
		}
	}
	for _, p := range []string{path.Join(render.LoginsDir, "key", "username"), pod.SignersFile,
		path.Join(pod.PullDir, "pull", "x"), pod.SnapshotsDir + "/x", pod.BackupsDir + "/x", pod.StateDir + "/x"} {
		if !under(p) {
			t.Errorf("%s is below no mount", p)
		}
	}
	claims := 0
	for _, v := range s.Volumes {
		if v.PersistentVolumeClaim != nil {
			claims++
		}
	}
	if claims != 2 {
		t.Errorf("%d volumes of claims: one that is mounted twice has to be one volume", claims)
	}
	if got := c.Resources.Requests.StorageEphemeral().Value(); got != 1<<30+3*(1<<30)+3*3*(4<<30) {
		t.Error("ephemeral storage", got)
	}
	got := j.Spec.PodFailurePolicy.Rules
	if len(got) != 2 || !slices.Equal(got[1].OnExitCodes.Values, []int32{2, 4, 5, 6}) {
		t.Errorf("%+v", got)
	}
}

// A bundle has one path for ever: what is fetched has its digest in it.
func TestSourceOf(t *testing.T) {
	data, err := json.Marshal(run().Input.Bundles[1:])
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	want := `[{"path":"/bundles/claim/packages/y.tar.gz","claim":"packages"},{"path":"/bundles/oci/sha256-` + a + `/bundle.tar.gz","image":"r.example.com/b@sha256:` + a +
		`","pullSecret":"pull"},{"path":"/bundles/url/` + b + `/bundle.tar.gz","url":"https://e.example.com/b.tar.gz",` +
		`"sha256":"` + b + `"}]`
	if string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
}

// The account of a run reaches nothing but what belongs to its Operation and its Cluster, each by name.
func TestAccess(t *testing.T) {
	for _, o := range pod.Access(run().Operation) {
		if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != "u1" || o.GetNamespace() != "lab" {
			t.Errorf("%T %v", o, refs)
		}
		role, is := o.(*rbacv1.Role)
		if !is {
			continue
		}
		for _, rule := range role.Rules {
			if len(rule.ResourceNames) == 0 || slices.ContainsFunc(rule.Verbs, func(v string) bool {
				return v == "*" || v == "create" || v == "delete"
			}) {
				t.Errorf("%+v", rule)
			}
		}
	}
}

// An affinity that is none is an error, not a pod that runs anywhere.
func TestRunJob_WrongAffinity(t *testing.T) {
	r := run()
	r.Cluster.Spec.EggoAffinity = &runtime.RawExtension{Raw: []byte(`{"nodeAffinity":7}`)}
	if _, err := r.Job(); err == nil {
		t.Error("a wrong affinity is accepted")
	}
}
