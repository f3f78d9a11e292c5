package addon_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// said is what a test wants to know of images: the normalised name, ? before a guess.
func said(found []addon.Found) []string {
	var out []string
	for _, f := range found {
		s := f.Ref
		if f.Guess {
			s = "?" + s
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func code(t *testing.T, err error) string {
	t.Helper()
	var f *event.Fault
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("%v is no fault", err)
	}
	if f == nil {
		return ""
	}
	return f.Code
}

func TestImagesOfWellKnownAddons(t *testing.T) {
	for _, c := range []struct {
		file  string
		hints []addon.Hint
		want  []string
	}{
		{"flannel.yaml", nil, []string{"ghcr.io/flannel-io/flannel-cni-plugin:v1.7.1",
			"ghcr.io/flannel-io/flannel:v0.27.0"}},
		{"calico.yaml", nil, []string{"?quay.io/calico/cni:v3.30.0", "?quay.io/calico/node:v3.30.0",
			"?quay.io/calico/typha:v3.30.0", "quay.io/tigera/operator:v1.38.0"}},
		{"calico.yaml", []addon.Hint{
			{Kind: "Installation", APIVersion: "operator.tigera.io", Path: "spec.images[*].name"},
			{Kind: "Installation", APIVersion: "operator.tigera.io/v1", Path: "$.spec.calicoNode.image"},
			{Kind: "Installation", APIVersion: "operator.tigera.io/v2", Path: "spec.registry"},
		}, []string{"quay.io/calico/cni:v3.30.0", "quay.io/calico/node:v3.30.0", "quay.io/calico/typha:v3.30.0",
			"quay.io/tigera/operator:v1.38.0"}},
		{"cilium.yaml", nil, []string{
			"quay.io/cilium/cilium@sha256:" + strings.Repeat("1", 64),
			"quay.io/cilium/cilium@sha256:" + strings.Repeat("1", 64),
			"quay.io/cilium/cilium@sha256:" + strings.Repeat("1", 64), "quay.io/cilium/operator-generic:v1.18.0",
		}},
		{"cert-manager.yaml", nil, []string{"?quay.io/jetstack/cert-manager-acmesolver:v1.18.2",
			"quay.io/jetstack/cert-manager-controller:v1.18.2"}},
		{"cert-manager.yaml", []addon.Hint{{Kind: "Deployment", Path: "spec.template.spec.containers[0].args[2]"}},
			[]string{"quay.io/jetstack/cert-manager-acmesolver:v1.18.2",
				"quay.io/jetstack/cert-manager-controller:v1.18.2"}},
		{"prometheus-operator.yaml", addon.Hints(), []string{
			"?docker.io/grafana/grafana:12.1.0", "?docker.io/thanos/thanos:v0.39.0",
			"?quay.io/prometheus-operator/prometheus-config-reloader:v0.85.0",
			"quay.io/brancz/kube-rbac-proxy:v0.19.1", "quay.io/prometheus-operator/prometheus-operator:v0.85.0",
			"quay.io/prometheus/prometheus:v3.5.0",
		}},
		{"storage.yaml", nil, []string{"?docker.io/library/busybox:latest"}},
		{"storage.yaml", []addon.Hint{{Kind: "ConfigMap", Path: `data["helperPod.yaml"]`}},
			[]string{"docker.io/library/busybox:latest"}},
		{"kinds.json", nil, []string{
			"docker.io/library/cron:1", "docker.io/library/custom:1", "docker.io/library/ephemeral:1",
			"docker.io/library/job:1",
			"docker.io/library/pod:1", "docker.io/library/pt:1", "docker.io/library/rc:1", "docker.io/library/rs:1",
			"docker.io/library/sts:1",
			"?docker.io/library/no-name:1", "example.com/volume:1",
		}},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		found, err := addon.Images(c.file, data, c.hints...)
		slices.Sort(c.want)
		if got := said(found); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s with %d hints: %v\n got %s\nwant %s", c.file, len(c.hints), err, strings.Join(got, " "),
				strings.Join(c.want, " "))
		}
		lines := strings.Split(string(data), "\n")
		for _, f := range found {
			near := strings.Join(lines[f.Line-1:min(f.Line+1, len(lines))], "\n")
			if short := f.Name[strings.LastIndex(f.Name, "/")+1:]; !strings.Contains(near,
				strings.Split(short, ":")[0]) {
				t.Errorf("%s: %s is not at line %d: %s", c.file, f.Name, f.Line, near)
			}
		}
	}
}

func TestWhereAnImageStands(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "prometheus-operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := addon.Images("x", data, addon.Hints()...)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(found, func(f addon.Found) bool { return strings.Contains(f.Name, "prometheus:") })
	want := addon.Found{Name: "quay.io/prometheus/prometheus:v3.5.0", Ref: "quay.io/prometheus/prometheus:v3.5.0",
		Doc: 2, Kind: "Prometheus",
		Object: "monitoring/k8s", Path: "spec.image", Line: 24, Hint: "monitoring.coreos.com Prometheus spec.image"}
	if i < 0 || found[i] != want {
		t.Errorf("%+v", found)
	}
}

const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: "

func TestManifestsThatAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	var bomb strings.Builder
	bomb.WriteString("apiVersion: example.com/v1\nkind: X\na0: &a0 [x]\n")
	for i := 1; i < 60; i++ {
		s, p := strconv.Itoa(i), strconv.Itoa(i-1)
		bomb.WriteString("a" + s + ": &a" + s + " {x: {x: [" + strings.Repeat("*a"+p+", ", 9) + "*a" + p + "]}}\n")
	}
	for _, c := range []struct{ name, text, want string }{
		{"good", pod + "busybox\n", ""},
		{"empty documents", "---\n# nothing\n---\n" + pod + "busybox\n---\n", ""},
		{"no YAML", "a: [\n", "addon.yaml"},
		{"no object", "replicas: 3\n", "addon.not-object"},
		{"a kustomization by another name",
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
			"addon.kustomization"},
		{"a component of kustomize", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
			"addon.kustomization"},
		{"a kustomization that does not say so", "namespace: x\nresources:\n- a.yaml\n", "addon.kustomization"},
		{"a kustomization of Flux",
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n", ""},
		{"a scalar", "hello", "addon.not-object"},
		{"a helm template", "{{- if .Values.x }}\n" + pod + "busybox\n{{- end }}\n", "addon.template"},
		{"a template's image", pod + `"{{ .Values.image }}:1"`, "addon.template"},
		{"an unquoted template's image", pod + "{{ .Values.image }}\n", "addon.template"},
		{"a template in an annotation",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: \"{{ $x }}\"}}\nspec: {containers: " +
				"[{name: c, image: a}]}\n", ""},
		{"no image's name", pod + "$IMAGE\n", "addon.image"},
		{"upper case", pod + "quay.io/Foo/bar:1\n", "addon.image"},
		{"a number", pod + "{x: 1}\n", "addon.image"},
		{"twice", pod + "a\n    image: b\n", "addon.duplicate-key"},
		{"a key that is a map", "apiVersion: v1\nkind: Pod\n? {a: b}\n: c\n", "addon.yaml"},
		{"deep", "apiVersion: v1\nkind: X\nspec: " + deep, "addon.yaml"},
		{"an alias in its own anchor", "apiVersion: v1\nkind: X\nspec: &a {b: *a}\n", "addon.yaml"},
		{"aliases that multiply", bomb.String(), "addon.too-large"},
		{"many nodes", "apiVersion: v1\nkind: X\nspec: [" + strings.Repeat("1,", 3<<20) + "]", "addon.too-large"},
		{"large", strings.Repeat("#", 65<<20), "addon.too-large"},
	} {
		if _, err := addon.Images("x.yaml", []byte(c.text)); code(t, err) != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestHints(t *testing.T) {
	const text = `apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec:
  plain: {a.b: app:1, c: app:2}
  list: [app:3, app:4]
  number: 7
  none: null
`
	for _, c := range []struct{ path, code, want string }{
		{`spec.plain["a.b"]`, "", "docker.io/library/app:1"},
		{".spec.plain.*", "", "docker.io/library/app:1 docker.io/library/app:2"},
		{"spec.list", "", "docker.io/library/app:3 docker.io/library/app:4"},
		{"spec.list[1]", "", "docker.io/library/app:4"},
		{"spec.list[*]", "", "docker.io/library/app:3 docker.io/library/app:4"},
		{"spec.list[9]", "", ""},
		{"spec.absent.deep", "", ""},
		{"spec.none", "", ""},
		{"spec.plain", "addon.hint-value", ""},
		{"spec", "addon.hint-value", ""},
		{"", "addon.hint", ""},
		{"spec..x", "addon.hint", ""},
		{"spec.", "addon.hint", ""},
		{"spec[x]", "addon.hint", ""},
		{"spec[-1]", "addon.hint", ""},
		{`spec["x]`, "addon.hint", ""},
		{"spec[1", "addon.hint", ""},
		{strings.Repeat("a", 2000), "addon.hint", ""},
	} {
		h := addon.Hint{Kind: "Thing", APIVersion: "example.com", Path: c.path}
		found, err := addon.Images("x", []byte(text), h)
		if got := strings.Join(said(found), " "); code(t, err) != c.code || got != c.want {
			t.Errorf("%s: %v %q, want %q %q", c.path, err, got, c.code, c.want)
		}
		if bad := h.Check() != nil; bad != (c.code == "addon.hint") {
			t.Errorf("%s: Check says %v", c.path, h.Check())
		}
	}
	other := addon.Hint{Kind: "Other", Path: "spec.number"}
	if _, err := addon.Images("x", []byte(text), other); err != nil {
		t.Errorf("a hint for another kind: %v", err)
	}
	if _, err := addon.Images("x", []byte(text), addon.Hint{Path: "spec.list"}); err != nil {
		t.Errorf("a hint for every kind: %v", err)
	}
}

func TestGuesses(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"--image=app:1", "?docker.io/library/app:1"},
		{"--config-reloader-image=quay.io/x/y:1", "?quay.io/x/y:1"},
		{"--reloader=quay.io/x/y:1", "?quay.io/x/y:1"},
		{"--reloader=quay.io/x/y", ""},
		{"--image=app", ""},
		{"--reloader=x/y:1", ""},
		{"--pull=Always", ""},
		{"--listen=0.0.0.0:8080", ""},
		{"https://quay.io/x/y:1", ""},
		{"run --a && ctr run localhost:5000/x/y:1 z", "?localhost:5000/x/y:1"},
		{"--a=x=quay.io/x/y@sha256:" + strings.Repeat("a", 64), "?quay.io/x/y@sha256:" + strings.Repeat("a", 64)},
	} {
		found, err := addon.Images("x", []byte(pod+"main:1\n    args: ["+strconv.Quote(c.arg)+"]\n"))
		got := slices.DeleteFunc(said(found), func(s string) bool { return s == "docker.io/library/main:1" })
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v %q", c.arg, err, got)
		}
	}
}

func TestMissing(t *testing.T) {
	sum := "sha256:" + strings.Repeat("a", 64)
	found := func(names ...string) []addon.Found {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n")
		for _, n := range names {
			b.WriteString("  - {name: c, image: " + strconv.Quote(n) + "}\n")
		}
		f, err := addon.Images("x", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		want, have string
		missing    bool
	}{
		{"busybox", "docker.io/library/busybox:latest", false},
		{"docker.io/busybox:1", "index.docker.io/library/busybox:1", false},
		{"calico/node:v1", "docker.io/calico/node:v1", false},
		{"busybox:1", "busybox:2", true},
		{"quay.io/x/y:1", "x/y:1", true},
		{"localhost/x:1", "docker.io/localhost/x:1", true},
		{"quay.io/x/y@" + sum, "quay.io/x/y:1", true},
		{"quay.io/x/y@" + sum, "quay.io/x/y@" + sum, false},
		{"quay.io/x/y:1@" + sum, "quay.io/x/y:2@" + sum, false},
		{"quay.io/x/y:1", "quay.io/x/y:1@" + sum, false},
		{"reg.test:5000/x", "reg.test:5000/x:latest", false},
		{"busybox", "No Image", true},
	} {
		f := found(c.want)
		if got := len(addon.Missing(f, []string{"other:1", c.have})) > 0; got != c.missing {
			t.Errorf("%s with %s: missing %v", c.want, c.have, got)
		}
	}
	for name, want := range map[string]bool{"a": true, "a:latest": true, "a:1": false, "a:latest@" + sum: false,
		"A B": false} {
		if addon.Floating(name) != want {
			t.Errorf("Floating(%s) is %v", name, !want)
		}
	}
}

func FuzzImages(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range names {
		data, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "spec.images[*].name")
	}
	f.Add([]byte("apiVersion: v1\nkind: X\nspec: &a {b: *a, <<: [*a]}\n"), "spec.*.*")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		found, err := addon.Images("x", data, append(addon.Hints(), addon.Hint{Path: path})...)
		if err != nil {
			code(t, err)
			return
		}
		for _, x := range found {
			if x.Ref == "" || x.Line < 1 || x.Doc < 1 {
				t.Fatalf("%+v", x)
			}
			if len(addon.Missing([]addon.Found{x}, []string{x.Name})) > 0 {
				t.Fatalf("%q does not mean itself", x.Name)
			}
		}
	})
}
