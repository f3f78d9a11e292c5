package build_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// told are the warnings of a build by their keys, without those of the test's spec.
func told(warnings []event.Msg, keys ...string) []string {
	var out []string
	for _, m := range warnings {
		if slices.Contains(keys, m.Key) {
			out = append(out, i18n.NewPrinter(i18n.English).Msg(m))
		}
	}
	return out
}

// with adds an addon beside the spec.
func with(dir, s, name, text string, t *testing.T) string {
	t.Helper()
	write(t, filepath.Join(dir, name), text)
	return strings.Replace(s, "addons:\n", "addons:\n  - {name: "+name+", path: "+name+"}\n", 1)
}

// What the bundle's Kubernetes does not serve ends the build, all at once; what it serves on demand is a warning.
func TestUnservedVersions(t *testing.T) {
	const pdb = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a, namespace: web}\n"
	for name, c := range map[string]struct {
		text, code string
		words      []string
	}{
		"removed": {pdb, "addon.api-replaced", []string{"a.yaml", "policy/v1beta1 PodDisruptionBudget", "web/a",
			"1.25", "Use policy/v1"}},
		"removed without a replacement": {"apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\n",
			"addon.api-removed", []string{"PodSecurityPolicy (a)"}},
		"not there yet": {"apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: a}\n",
			"addon.api-later", []string{"1.36"}},
		"a kind that is misspelt": {"apiVersion: apps/v1\nkind: Deploymnet\nmetadata: {name: a}\n",
			"addon.api-unknown", []string{"apps/v1 Deploymnet"}},
		"in a list": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: extensions/v1beta1, kind: Ingress, " +
			"metadata: {name: a}}\n", "addon.api-replaced", []string{"networking.k8s.io/v1"}},
		"on demand": {"apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata: {name: a}\n", "", nil},
		"a custom kind": {"apiVersion: example.com/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", "",
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := buildtest.New(t)
			o := job(t, u, "registry.test/app:1", "amd64", "arm64")
			respec(t, &o, func(s string) string {
				return with(filepath.Dir(o.Out), s, "a.yaml", c.text, t)
			})
			if c.code != "" {
				wantFault(t, o, c.code, append(c.words, "v1.34")...)
				_, err := build.Build(context.Background(), o)
				if n := len(fetch.Faults(err)); n != 1 {
					t.Errorf("%d faults for two architectures: %v", n, err)
				}
				return
			}
			res := mustBuild(t, o)
			list := told(res.Warnings, "fault.addon.api-off")
			if want := name == "on demand"; want != (len(list) > 0) {
				t.Errorf("warnings %q", list)
			}
		})
	}
}

// Warnings of addons come with every build, not only with the one that pins them.
func TestWhatAddonsDoWithoutANetwork(t *testing.T) {
	u := buildtest.New(t)
	latest(t, u)
	o := job(t, u, "registry.test/app:1", "amd64")
	respec(t, &o, func(s string) string {
		s = strings.Replace(s, "images:\n", "images:\n  - {name: \"registry.test/app:latest\", roles: [worker]}\n", 1)
		return with(filepath.Dir(o.Out), s, "a.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
      - {name: a, image: "registry.test/app:1", imagePullPolicy: Always}
      - {name: b, image: "registry.test/app:latest", imagePullPolicy: IfNotPresent}
---
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: db}
spec: {imageName: "ghcr.test/postgresql:16.4", other: "registry.test/app:1"}
`, t)
	})
	want := []string{
		"a.yaml: ghcr.test/postgresql:16.4 looks like an image but is not packed; if it is an image, add it to " +
			"images " +
			"of the addon or of the spec",
		"a.yaml: Deployment shop/web sets imagePullPolicy: Always for registry.test/app:1; nodes without a network " +
			"cannot pull the image, although the bundle has it. Set the policy to IfNotPresent",
	}
	for _, again := range []bool{false, true} {
		res := mustBuild(t, o)
		got := told(res.Warnings, "build.warn.guess", "build.warn.pull", "build.warn.pull-latest", "build.warn.latest")
		if !slices.Equal(got, want) {
			t.Errorf("again %v:\n%s", again, strings.Join(got, "\n"))
		}
	}
}

// A chart's objects are of kinds that another addon defines, which may come later: they get the namespace then, and the
// lock says why.
func TestScopesOfOtherAddons(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	dir := filepath.Dir(o.Out)
	write(t, filepath.Join(dir, "chart", "Chart.yaml"), "apiVersion: v2\nname: chart\nversion: 1.0.0\n")
	write(t, filepath.Join(dir, "chart", "templates", "x.yaml"), "apiVersion: ex.test/v1\nkind: Near\n"+
		"metadata: {name: near}\n---\napiVersion: ex.test/v1\nkind: Wide\nmetadata: {name: wide}\n")
	text := func(res *build.Result) string {
		t.Helper()
		var out string
		_, err := bundle.Verify(t.Context(), res.Bundles[0].Path, nil, bundle.WithAddons(
			func(m *bundle.Member, data []byte) {
				if strings.HasSuffix(m.Path, "c.yaml") {
					out = string(data)
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	respec(t, &o, func(s string) string {
		return strings.Replace(s, "addons:\n", "addons:\n  - {name: c.yaml, chart: {path: chart, release: r, "+
			"namespace: web}}\n", 1)
	})
	res := mustBuild(t, o)
	if n := told(res.Warnings, "addon.note.no-namespace"); len(n) != 1 || strings.Contains(text(res), "namespace\"") {
		t.Errorf("nothing defines the kinds: %q\n%s", n, text(res))
	}
	respec(t, &o, func(s string) string {
		return with(dir, s, "crds.yaml", definition("near", "Near", "Namespaced")+"---\n"+
			definition("wide", "Wide", "Cluster"), t)
	})
	want := `{"namespace": "web", name: near}`
	res = mustBuild(t, o)
	if n := told(res.Warnings, "addon.note.no-namespace"); len(n) > 0 || !strings.Contains(text(res), want) ||
		!strings.Contains(text(res), "{name: wide}") {
		t.Errorf("another addon defines them: %q\n%s", n, text(res))
	}
	first := res.Bundles[0]
	if err := os.RemoveAll(filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(first.Path); err != nil {
		t.Fatal(err)
	}
	cache, err := fetch.OpenCache(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	o.Cache, o.Locked = cache, true
	if again := mustBuild(t, o).Bundles[0]; again.SHA256 != first.SHA256 {
		t.Errorf("from the lock: %+v, first %+v", again, first)
	}
}

// latest gives the image app:1 of the test's registry another tag.
func latest(t *testing.T, u *buildtest.Upstream) {
	t.Helper()
	from, err := name.ParseReference(u.Host + "/registry.test/app:1")
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.NewTag(u.Host + "/registry.test/app:latest")
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Get(from)
	if err == nil {
		err = remote.Tag(to, got)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func definition(name, kind, scope string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name +
		"s.ex.test}\nspec: {group: ex.test, scope: " + scope + ", names: {kind: " + kind + "}}\n"
}
