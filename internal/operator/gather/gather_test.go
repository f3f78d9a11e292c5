package gather_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "lab"} }

// world has a Cluster with two machines, one of which has a login of its own and a bastion, and one that leaves.
func world() map[string]client.Object {
	machine := func(name string) *eggov1.Machine {
		return &eggov1.Machine{ObjectMeta: meta(name), Spec: eggov1.MachineSpec{HostName: name, IP: "192.0.2.1"}}
	}
	own := machine("m2")
	own.Spec.LoginSecretRef = &eggov1.SecretReference{Name: "own"}
	own.Spec.Bastions = []eggov1.Bastion{{Host: "gate"}, {Host: "inner",
		LoginSecretRef: &eggov1.SecretReference{Name: "gate"}}}
	secret := func(name string, kind corev1.SecretType, key string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: meta(name), Type: kind, Data: map[string][]byte{key: []byte("x"),
			"username": []byte("ops")}}
	}
	return map[string]client.Object{
		"cluster": &eggov1.Cluster{ObjectMeta: meta("demo"), Spec: eggov1.ClusterSpec{
			MachineLoginSecret: &corev1.ObjectReference{Name: "all", Namespace: "lab"},
			Infrastructure:     &corev1.ObjectReference{Name: "infra"}}},
		"binding": &eggov1.MachineBinding{ObjectMeta: meta(eggov1.BindingName("demo")),
			Spec: eggov1.MachineBindingSpec{Machines: []eggov1.BoundMachine{
				{Name: "m1", Roles: []eggov1.Role{eggov1.RoleMaster}},
				{Name: "m2", Roles: []eggov1.Role{eggov1.RoleWorker}},
				{Name: "m3", Roles: []eggov1.Role{eggov1.RoleWorker}, Leaving: true}}}},
		"m1": machine("m1"), "m2": own, "m3": machine("m3"),
		"all":  secret("all", corev1.SecretTypeBasicAuth, "password"),
		"own":  secret("own", corev1.SecretTypeSSHAuth, "ssh-privatekey"),
		"gate": secret("gate", corev1.SecretTypeSSHAuth, "ssh-privatekey"),
		"infra": &eggov1.Infrastructure{ObjectMeta: meta("infra"), Spec: eggov1.InfrastructureSpec{
			Bundles: []eggov1.BundleSource{
				{Version: "v1.34.2", Arch: "amd64", Claim: &eggov1.ClaimFile{Name: "c", Path: "a.tar.gz"}},
				{Version: "v1.35.1", Arch: "amd64", Claim: &eggov1.ClaimFile{Name: "c", Path: "b.tar.gz"}}},
			SignersRef: &eggov1.ConfigMapReference{Name: "keys"}},
			Status: eggov1.InfrastructureStatus{Bundles: []eggov1.BundleStatus{
				{Version: "v1.34.2", Arch: "amd64", Size: 7}}}},
	}
}

func reader(t *testing.T, objects map[string]client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, eggov1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(scheme)
	for name, o := range objects {
		if name != "cluster" {
			b = b.WithObjects(o)
		}
	}
	return b.Build()
}

func TestGather(t *testing.T) {
	objects := world()
	c := reader(t, objects)
	in, pod, err := gather.Gather(t.Context(), c, c, objects["cluster"].(*eggov1.Cluster), "v1.34.2")
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Machines) != 2 || in.Login.Secret != "all" || in.Login.User != "ops" || in.Login.Key {
		t.Errorf("%+v", in)
	}
	if m := in.Machines[1]; m.Login.Secret != "own" || !m.Login.Key || len(m.Bastions) != 2 ||
		m.Bastions[0].Secret != "" || m.Bastions[1].Secret != "gate" {
		t.Errorf("%+v", m)
	}
	if !slices.Equal(pod.Logins, []string{"all", "own", "gate"}) || pod.Signers != "keys" || len(pod.Bundles) != 1 ||
		pod.Bundles[0].Path != "/bundles/claim/c/a.tar.gz" || pod.Bundles[0].Size != 7 ||
		in.Bundles[0].Path != pod.Bundles[0].Path {
		t.Errorf("%+v", pod)
	}
}

// What is missing is one fault of class usage that names it.
func TestGather_Missing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]client.Object)
		want   string
	}{
		"no binding":        {func(w map[string]client.Object) { delete(w, "binding") }, "operator.missing"},
		"no machine":        {func(w map[string]client.Object) { delete(w, "m1") }, "operator.missing"},
		"no Infrastructure": {func(w map[string]client.Object) { delete(w, "infra") }, "operator.missing"},
		"no login":          {func(w map[string]client.Object) { delete(w, "own") }, "operator.missing"},
		"another type": {func(w map[string]client.Object) { w["own"].(*corev1.Secret).Type = "Opaque" },
			"operator.login-type"},
		"an empty key": {func(w map[string]client.Object) { delete(w["all"].(*corev1.Secret).Data, "password") },
			"operator.login-key"},
		"of another namespace": {func(w map[string]client.Object) {
			w["cluster"].(*eggov1.Cluster).Spec.MachineLoginSecret.Namespace = "kube-system"
		}, "operator.reference"},
		"bundles of another namespace": {func(w map[string]client.Object) {
			w["cluster"].(*eggov1.Cluster).Spec.Infrastructure.Namespace = "other"
		}, "operator.reference"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := world()
			c.change(objects)
			r := reader(t, objects)
			_, _, err := gather.Gather(t.Context(), r, r, objects["cluster"].(*eggov1.Cluster), "")
			if f := event.AsFault(err); err == nil || f.Code != c.want || f.Class != event.ClassUsage {
				t.Error(err)
			}
		})
	}
}

// Upstream's Infrastructure has one claim with a path for each architecture.
func TestBundles_OfUpstream(t *testing.T) {
	i := &eggov1.Infrastructure{Spec: eggov1.InfrastructureSpec{
		PackagePersistentVolumeClaim: &corev1.ObjectReference{Name: "nfs"},
		InstallConfig: eggov1.InstallConfig{PackageSrc: &eggov1.PackageSrcConfig{SrcPackages: map[string]string{
			"arm64": "packages-arm64.tar.gz", "x86_64": "packages-x86.tar.gz"}}}}}
	got := gather.Bundles(i, "v1.34.2")
	if len(got) != 2 || got[0].Arch != "arm64" || got[1].Arch != "amd64" || got[1].Claim.Path != "packages-x86.tar.gz" {
		t.Errorf("%+v", got)
	}
	i.Status.Bundles = []eggov1.BundleStatus{{Version: "v1.35.1", Arch: "amd64", Source: "nfs/packages-x86.tar.gz"}}
	if got = gather.Bundles(i, "v1.34.2"); len(got) != 1 || got[0].Arch != "arm64" {
		t.Errorf("a bundle of another version counts: %+v", got)
	}
}
