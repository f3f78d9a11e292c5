package addon_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// site is the chart of the tests: two charts within it, one of them behind a condition, hooks, a test, a definition, a
// schema.
func site() map[string]string {
	return map[string]string{
		"Chart.yaml": `apiVersion: v2
name: site
version: 1.0.0
kubeVersion: ">=1.30.0-0"
dependencies:
- {name: cache, version: 1.x.x, repository: "https://charts.test", condition: cache.enabled}
- {name: db, version: "*", repository: "https://charts.test", alias: store, tags: [data]}
`,
		"values.yaml": "replicas: 1\nimage: {repository: quay.io/site/web, tag: v1}\ncache: {enabled: " +
			"false}\ntags: {data: true}\n",
		"values.schema.json": `{"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 1}}}`,
		"crds/thing.yaml": "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: " +
			"{name: things.site.test}\n" +
			"spec: {group: site.test, scope: Namespaced, names: {kind: Thing}}\n",
		"templates/_helpers.tpl": `{{- define "site.labels" }}
app: {{ .Release.Name }}
{{- end }}`,
		"templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "site.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    spec:
      containers:
      - name: web
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
`,
		"templates/rbac.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: site
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: site
  namespace: elsewhere
---
# only a comment
---
apiVersion: site.test/v1
kind: Thing
metadata:
  name: mine
---
apiVersion: other.test/v1
kind: Unknown
metadata:
  name: whose
{{- if (lookup "v1" "Secret" "x" "y") }}
spec: found
{{- end }}
`,
		"templates/hooks.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "5"}
spec: {template: {spec: {containers: [{name: m, image: "quay.io/site/migrate:v1"}]}}}
---
apiVersion: v1
kind: Secret
metadata:
  name: key
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "-5"}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: announce
  annotations: {helm.sh/hook: post-install}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: wipe
  annotations: {helm.sh/hook: pre-delete}
---
apiVersion: v1
kind: Pod
metadata:
  name: try
  annotations: {helm.sh/hook: test}
`,
		"templates/NOTES.txt":     "Visit {{ .Release.Name }}.\n",
		"charts/cache/Chart.yaml": "apiVersion: v2\nname: cache\nversion: 1.4.0\n",
		"charts/cache/templates/c.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: cache\nspec:\n  " +
			"containers:\n  - {name: c, image: \"cache:1\"}\n",
		"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 0.1.0\n",
		"charts/db/templates/d.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Chart.Name }}\n" +
			"data:\n  size: {{ .Values.size | quote }}\n",
		"charts/db/values.yaml": "size: 1\n",
	}
}

func packed(t *testing.T, name string, files map[string]string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	gz, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(gz)
	for _, f := range slices.Sorted(maps.Keys(files)) {
		if err := tw.WriteHeader(&tar.Header{Name: name + "/" + f, Size: int64(len(files[f])), Mode: 0o644,
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(files[f])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func options() addon.RenderOptions {
	return addon.RenderOptions{Release: "rel", Namespace: "web", KubeVersion: "v1.34.2", IncludeCRDs: true}
}

func render(t *testing.T, files map[string]string, o addon.RenderOptions) (string, []event.Msg, error) {
	t.Helper()
	text, notes, err := addon.Render(t.Context(), addon.ChartSource{Name: "site", Archive: packed(t, "site", files)}, o)
	return string(text), notes, err
}

// names are kind and name of the documents, in their order.
func names(text string) string {
	var out []string
	for _, d := range strings.Split(text, "---\n")[1:] {
		kind, name := "", ""
		for _, l := range strings.Split(strings.NewReplacer("{name: ", "\n  name: ", "}", "\n").Replace(d), "\n") {
			if v, ok := strings.CutPrefix(l, "kind: "); ok {
				kind = v
			}
			if v, ok := strings.CutPrefix(l, "  name: "); ok && name == "" {
				name = v
			}
		}
		out = append(out, kind+"/"+name)
	}
	return strings.Join(out, " ")
}

func TestRender(t *testing.T) {
	text, notes, err := render(t, site(), options())
	if err != nil {
		t.Fatal(err)
	}
	want := "Namespace/web CustomResourceDefinition/things.site.test Secret/key Job/migrate ServiceAccount/site " +
		"ConfigMap/store ClusterRole/site " +
		"Deployment/rel-web Thing/mine Unknown/whose Job/announce"
	if got := names(text); got != want {
		t.Errorf("got  %s\nwant %s\n%s", got, want, text)
	}
	for _, s := range []string{
		"metadata:\n  namespace: web\n  name: rel-web\n", "metadata:\n  namespace: web\n  name: mine\n",
		"  name: site\n  namespace: elsewhere\n",
		"kind: ClusterRole\nmetadata:\n  name: site\n", "kind: Unknown\nmetadata:\n  name: whose\n", "size: \"1\"",
		"# Source: site/templates/web.yaml\n",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("%q is not in\n%s", s, text)
		}
	}
	p := i18n.NewPrinter(i18n.English)
	var all []string
	for _, n := range notes {
		all = append(all, p.Msg(n))
	}
	wantNotes := []string{
		"site: applying a manifest runs no Helm hooks; these are applied as plain objects: Secret key, Job " +
			"migrate, Job announce",
		"site: skipped hooks that do not belong to the installation: Job wipe",
		"site: these objects name no namespace and their scope is unknown; they may not end up in web: Unknown whose",
	}
	if !slices.Equal(all, wantNotes) {
		t.Errorf("notes: %q", all)
	}
	found, err := addon.Images("site", []byte(text))
	if got := strings.Join(said(found), " "); err != nil || got != "quay.io/site/migrate:v1 quay.io/site/web:v1" {
		t.Errorf("%v %s", err, got)
	}

	// The same from a directory, and with the inner chart packed: the same bytes.
	dir := fstest.MapFS{".helmignore": {Data: []byte("*.swp\n")}, "templates/x.swp": {Data: []byte("{{ broken")}}
	for f, s := range site() {
		dir[f] = &fstest.MapFile{Data: []byte(s)}
	}
	again, _, err := addon.Render(t.Context(), addon.ChartSource{Name: "site", Dir: dir}, options())
	if err != nil || string(again) != text {
		t.Errorf("from a directory: %v\n%s", err, again)
	}
	within := site()
	db := map[string]string{}
	for f := range within {
		if rest, ok := strings.CutPrefix(f, "charts/db/"); ok {
			db[rest] = within[f]
			delete(within, f)
		}
	}
	within["charts/db-0.1.0.tgz"] = packed(t, "db", db).String()
	if again, _, err := render(t, within, options()); err != nil || again != text {
		t.Errorf("with a packed chart within: %v\n%s", err, again)
	}
}

func TestRenderOptions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*addon.RenderOptions)
		has    string
		lacks  string
	}{
		{"the default namespace", func(o *addon.RenderOptions) { o.Namespace = "" },
			"kind: Deployment\nmetadata:\n  name: rel-web", "namespace: default"},
		{"one that is there", func(o *addon.RenderOptions) { o.Namespace = "kube-system" },
			"  namespace: kube-system\n  name: rel-web", "kind: Namespace"},
		{"no definitions", func(o *addon.RenderOptions) { o.IncludeCRDs = false }, "rel-web", "things.site.test"},
		{"a later value wins", func(o *addon.RenderOptions) {
			o.Values = [][]byte{[]byte("image: {tag: v2}\nreplicas: 2"), []byte("image: {tag: v3}")}
		}, "quay.io/site/web:v3", "replicas: 1"},
		{"set wins", func(o *addon.RenderOptions) {
			o.Values, o.Set = [][]byte{[]byte("image: {tag: v2}")}, []string{"image.tag=v4", "replicas=3"}
		}, "replicas: 3", "v2"},
		{"a condition", func(o *addon.RenderOptions) { o.Set = []string{"cache.enabled=true"} }, "cache:1", "absent"},
		{"tags", func(o *addon.RenderOptions) { o.Set = []string{"tags.data=false"} }, "rel-web", "name: store"},
		{"an alias's values", func(o *addon.RenderOptions) { o.Set = []string{"store.size=9"} }, `size: "9"`,
			`size: "1"`},
	} {
		o := options()
		c.change(&o)
		text, _, err := render(t, site(), o)
		if err != nil || !strings.Contains(text, c.has) || strings.Contains(text, c.lacks) {
			t.Errorf("%s: %v\n%s", c.name, err, text)
		}
	}
	f := site()
	f["templates/caps.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: caps\ndata:\n  v: {{ " +
		".Capabilities.KubeVersion }} " +
		"{{ .Capabilities.APIVersions.Has \"site.test/v9\" }} {{ .Capabilities.HelmVersion.Version }}{{ " +
		".Capabilities.HelmVersion.GoVersion }}\n"
	o := options()
	o.APIVersions = []string{"site.test/v9"}
	if text, _, err := render(t, f, o); err != nil || !strings.Contains(text, "v: v1.34.2 true v4.0.1\n") {
		t.Errorf("capabilities: %v\n%s", err, text)
	}
}

func TestChartsThatAreRefused(t *testing.T) {
	template := func(text string) func(map[string]string, *addon.RenderOptions) {
		return func(f map[string]string, _ *addon.RenderOptions) {
			f["templates/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  v: " + text + "\n"
		}
	}
	file := func(name, text string) func(map[string]string, *addon.RenderOptions) {
		return func(f map[string]string, _ *addon.RenderOptions) { f[name] = text }
	}
	option := func(change func(*addon.RenderOptions)) func(map[string]string, *addon.RenderOptions) {
		return func(_ map[string]string, o *addon.RenderOptions) { change(o) }
	}
	for _, c := range []struct {
		name   string
		change func(map[string]string, *addon.RenderOptions)
		code   string
		says   string
	}{
		{"a password", template("{{ randAlphaNum 20 }}"), "addon.not-deterministic", "site/templates/x.yaml"},
		{"an id", template("{{ uuidv4 }}"), "addon.not-deterministic", "site/templates/x.yaml"},
		{"a private key", template(`{{ genPrivateKey "ed25519" | b64enc }}`), "addon.not-deterministic",
			"site/templates/x.yaml"},
		{"the date", template(`{{ now | date "2006-01-02" }}`), "addon.not-deterministic", "site/templates/x.yaml"},
		{"the year", template(`{{ with $x := now.Year }}{{ $x }}{{ end }}`), "addon.not-deterministic",
			"site/templates/x.yaml"},
		{"a time that does not show", template(`{{ $x := now }}1`), "", ""},
		{"a missing value", template(`{{ required "say x" .Values.x }}`), "addon.render", "say x"},
		{"a template's end", template(`{{ if }}`), "addon.render", "x.yaml"},
		{"no YAML", file("templates/x.yaml", "a: [\n"), "addon.render", "x.yaml"},
		{"a name that includes itself", template(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`),
			"addon.render", "nested"},
		{"a panic of helm", template(`{{ index (dict) 1 2 3 }}`), "addon.render", ""},
		{"no chart", func(f map[string]string, _ *addon.RenderOptions) { delete(f, "Chart.yaml") }, "addon.chart",
			"Chart.yaml"},
		{"a chart that is not there", func(f map[string]string, _ *addon.RenderOptions) {
			delete(f, "charts/db/Chart.yaml")
			delete(f, "charts/db/values.yaml")
			delete(f, "charts/db/templates/d.yaml")
		}, "addon.chart-dependency", "store *"},
		{"a library", file("Chart.yaml", "apiVersion: v2\nname: site\nversion: 1.0.0\ntype: library\n"),
			"addon.chart-library", ""},
		{"another Kubernetes", option(func(o *addon.RenderOptions) { o.KubeVersion = "1.29.0" }),
			"addon.chart-kubernetes", ""},
		{"no Kubernetes", option(func(o *addon.RenderOptions) { o.KubeVersion = "new" }), "addon.kubernetes-version",
			""},
		{"values against the schema", option(func(o *addon.RenderOptions) { o.Set = []string{"replicas=none"} }),
			"addon.chart-schema", "'/replicas': got string"},
		{"values that are no YAML", option(func(o *addon.RenderOptions) { o.Values = [][]byte{[]byte("[")} }),
			"addon.chart-values", ""},
		{"a setting that is none", option(func(o *addon.RenderOptions) { o.Set = []string{"replicas"} }),
			"addon.chart-values", ""},
		{"a release's name", option(func(o *addon.RenderOptions) { o.Release = "No Name" }), "addon.chart-names", ""},
		{"a namespace's name", option(func(o *addon.RenderOptions) { o.Namespace = "a\n  b: c" }), "addon.chart-names",
			""},
		{"nothing to make", func(f map[string]string, o *addon.RenderOptions) {
			clear(f)
			f["Chart.yaml"] = "apiVersion: v2\nname: site\nversion: 1.0.0\n"
			f["templates/x.yaml"] = "{{ if .Values.on }}kind: X{{ end }}\n"
		}, "addon.render-empty", "no objects"},
		{"a path upwards", file("../up", "x"), "addon.chart-member", ""},
		{"an absolute path", file("/etc/passwd", "x"), "addon.chart-member", ""},
		{"a file twice", file("./Chart.yaml", "x"), "addon.chart-member", ""},
		{"a chart within that is none", file("charts/x.tgz", "x"), "addon.chart-member", "x.tgz"},
		{"a large file", file("files/big", strings.Repeat("x", 6<<20)), "addon.too-large", ""},
	} {
		f, o := site(), options()
		c.change(f, &o)
		_, _, err := render(t, f, o)
		if code(t, err) != c.code || err != nil && !strings.Contains(i18nText(err), c.says) {
			t.Errorf("%s: %v (%s)", c.name, err, i18nText(err))
		}
	}
}

func i18nText(err error) string {
	if err == nil {
		return ""
	}
	text, _ := i18n.NewPrinter(i18n.English).Fault(event.AsFault(err))
	return text
}

func TestASchemaThatRefersElsewhere(t *testing.T) {
	for _, ref := range []string{"file:///etc/passwd", "https://schemas.test/x.json", "other.json"} {
		f := site()
		f["values.schema.json"] = `{"$ref": "` + ref + `"}`
		_, notes, err := render(t, f, options())
		if err != nil || !slices.ContainsFunc(notes, func(m event.Msg) bool { return m.Key == "addon.note.schema" }) {
			t.Errorf("%s: %v %v", ref, notes, err)
		}
	}
}

func TestAnArchiveWithMoreThanFiles(t *testing.T) {
	for name, h := range map[string]*tar.Header{
		"a link":      {Name: "site/templates/l.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a hard link": {Name: "site/templates/l.yaml", Typeflag: tar.TypeLink, Linkname: "site/Chart.yaml"},
		"a device":    {Name: "site/dev", Typeflag: tar.TypeChar},
		"no root":     {Name: "Chart.yaml", Typeflag: tar.TypeReg},
	} {
		var out bytes.Buffer
		gz := gzip.NewWriter(&out)
		tw := tar.NewWriter(gz)
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if tw.Close() != nil || gz.Close() != nil {
			t.Fatal("not written")
		}
		_, _, err := addon.Render(t.Context(), addon.ChartSource{Name: "x", Archive: &out}, options())
		if code(t, err) != "addon.chart-member" {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := fstest.MapFS{"Chart.yaml": {Data: []byte("/etc/passwd"), Mode: 0o777 | 1<<27}} // fs.ModeSymlink
	if _, _, err := addon.Render(t.Context(), addon.ChartSource{Name: "x", Dir: dir}, options()); code(t,
		err) != "addon.chart-member" {
		t.Errorf("a link in a directory: %v", err)
	}
	// Charts packed within charts share one budget, and have a bottom.
	inner := map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n"}
	for range 12 {
		inner = map[string]string{"charts/x.tgz": packed(t, "x", inner).String()}
	}
	if _, _, err := render(t, inner, options()); code(t, err) != "addon.chart-member" {
		t.Errorf("a chart within a chart within a chart …: %v", err)
	}
	bomb, zeros := map[string]string{}, packed(t, "x",
		map[string]string{"files/zero": strings.Repeat("\x00", 5<<20)}).String()
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		bomb["charts/"+n+".tgz"] = zeros
	}
	if _, _, err := render(t, bomb, options()); code(t, err) != "addon.too-large" {
		t.Errorf("a bomb: %v", err)
	}
}

func TestRenderingEndsWithItsContext(t *testing.T) {
	f := site()
	f["templates/slow.yaml"] = `{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}`
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := addon.Render(ctx, addon.ChartSource{Name: "site", Archive: packed(t, "site", f)}, options())
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v", err)
	}
}

// A chart that takes too long, or too much memory, is ended and told what it may take.
func TestRenderingHasBounds(t *testing.T) {
	for name, c := range map[string]struct {
		template, says string
		most           time.Duration
		heap           uint64
	}{
		"of time": {`{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}`, "more than 1ms or",
			time.Millisecond, 1 << 40},
		"of memory": {`{{ $x := repeat 67108864 "x" }}{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}`,
			"or 1 MiB", time.Hour, 1 << 20},
	} {
		f := site()
		f["templates/slow.yaml"] = c.template
		src := addon.ChartSource{Name: "site", Archive: packed(t, "site", f)}
		err := addon.RenderWithin(t.Context(), src, options(), c.most, c.heap)
		if code(t, err) != "addon.render-limit" || !strings.Contains(i18nText(err), c.says) {
			t.Errorf("%s: %v (%s)", name, err, i18nText(err))
		}
	}
}
