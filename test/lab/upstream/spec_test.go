package upstream

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func titles(t *testing.T, text string, arches ...string) []string {
	t.Helper()
	s, err := parseSpec([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := plan(Options{Dir: t.TempDir(), Spec: s, Arches: arches})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, j := range jobs {
		out = append(out, j.title)
	}
	return out
}

const otherVersions = `
kubernetes: v1.35.1
os: {codename: trixie}
binaries:
  - {url: "https://dl.k8s.io/release/{kubernetes}/bin/linux/{arch}/kubelet", checksum: "https://dl.k8s.io/release/{kubernetes}/bin/linux/{arch}/kubelet.sha256"}
  - {url: "https://dl.k8s.io/release/{kubernetes}/bin/linux/{arch}/kubeadm"}
  - {url: "https://github.com/etcd-io/etcd/releases/download/v3.6.5/etcd-v3.6.5-linux-{arch}.tar.gz", checksum: "https://github.com/etcd-io/etcd/releases/download/v3.6.5/SHA256SUMS"}
addons:
  - {url: "https://github.com/flannel-io/flannel/releases/download/v0.29.0/kube-flannel.yml"}
images:
  - {name: "registry.k8s.io/pause:3.11"}
`

func TestThePlanFollowsTheVersionsOfTheSpec(t *testing.T) {
	got := titles(t, otherVersions, "amd64", "arm64")
	want := []string{
		"Kubernetes v1.35.1 amd64", "kubeadm v1.35.1 amd64", "etcd v3.6.5 amd64", "flannel v0.29.0 manifest",
		"Kubernetes v1.35.1 arm64", "kubeadm v1.35.1 arm64", "etcd v3.6.5 arm64", "image pause 3.11 amd64+arm64",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTheImagesOfKubeadmCanBeMade(t *testing.T) {
	got := titles(t, "kubernetes: v1.35.4\nos: {codename: bookworm}\nimages:\n"+
		"- {name: \"registry.k8s.io/kube-apiserver:{kubernetes}\"}\n- {name: \"registry.k8s.io/kube-proxy:{kubernetes}\"}\n"+
		"- {name: \"registry.k8s.io/etcd:3.6.6-0\"}\n", "amd64")
	want := []string{"image kube-apiserver v1.35.4 amd64", "image kube-proxy v1.35.4 amd64",
		"image etcd 3.6.6-0 amd64"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTheSpecOfTheProductCanBeMade(t *testing.T) {
	s, err := LoadSpec("")
	if err != nil {
		t.Fatal(err)
	}
	items, err := List(Options{Dir: t.TempDir(), Spec: s, Arches: []string{"amd64", "arm64"}})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, i := range items {
		listed[i.Name] = true
		if i.Size != -1 {
			t.Errorf("%s is said to be in an empty directory", i.Name)
		}
	}
	for _, n := range append(append(s.URLs("amd64"), s.URLs("arm64")...), s.ImageNames()...) {
		if !listed[n] {
			t.Errorf("nothing makes %s", n)
		}
	}
}

func TestWhatHasNoRecipeIsNamed(t *testing.T) {
	for _, add := range []string{
		"binaries: [{url: 'https://example.org/x-{arch}'}]",
		"binaries: [{url: 'https://dl.k8s.io/release/v1.34.2/bin/linux/riscv64/kubelet'}]",
		"images: [{name: 'docker.io/library/nginx:1'}]",
	} {
		s, err := parseSpec([]byte("kubernetes: v1.34.2\nos: {codename: bookworm}\n" + add))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = plan(Options{Dir: t.TempDir(), Spec: s, Arches: []string{"amd64"}})
		if err == nil || !strings.Contains(err.Error(), "no recipe") {
			t.Errorf("%s: %v", add, err)
		}
	}
	if _, err := parseSpec([]byte("name: eggo")); err == nil {
		t.Error("a spec without versions was taken")
	}
}

func TestStagingModulesAreReplacedByTheirPublishedVersion(t *testing.T) {
	var m modFile
	m.Replace = append(m.Replace, struct {
		Old struct{ Path string }
		New struct{ Path, Version string }
	}{struct{ Path string }{"k8s.io/api"}, struct{ Path, Version string }{"./staging/src/k8s.io/api", ""}})
	m.Require = append(m.Require, struct{ Path, Version string }{"k8s.io/kubelet", "v0.0.0"},
		struct{ Path, Version string }{"k8s.io/klog/v2", "v2.130.1"})
	got := goModule{name: "k", version: "1.24.0", require: []moduleVersion{{"k8s.io/kubernetes", "v1.34.2"}},
		replace: staging(m, "v0.34.2")}
	want := "module lab/k\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v1.34.2\n\nreplace k8s.io/api => k8s.io/api " +
		"v0.34.2\n\nreplace k8s.io/kubelet => k8s.io/kubelet v0.34.2\n"
	if d := cmp.Diff(want, string(got.goMod())); d != "" {
		t.Error(d)
	}
}

func TestOfFlannelsBackendsOnlyThoseThatCannotBeBuiltAreLeftOut(t *testing.T) {
	const main = "import (\n\t_ \"x/pkg/backend/alloc\"\n\t_ \"x/pkg/backend/tencentvpc\"\n\t_ " +
		"\"x/pkg/backend/udp\"\n\t_ \"x/pkg/backend/vxlan\"\n)\n"
	const want = "import (\n\t_ \"x/pkg/backend/alloc\"\n\t_ \"x/pkg/backend/vxlan\"\n)\n"
	if got := unpublishedBackends.ReplaceAllString(main, ""); got != want {
		t.Error(got)
	}
}
