package addon_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// where are the namespaces of the objects in a rendered manifest, by their names; - is none.
func where(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	type object struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Items    []object
	}
	var note func(o object)
	note = func(o object) {
		for _, i := range o.Items {
			note(i)
		}
		if o.Metadata.Name != "" {
			out[o.Metadata.Name] = o.Metadata.Namespace
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o object
		if dec.Decode(&o) != nil {
			return out
		}
		note(o)
	}
}

// A chart's objects land in the release's namespace, whatever the style of their YAML; everything else of the text
// stays as the chart has it.
func TestObjectsGetTheNamespaceInEveryStyle(t *testing.T) {
	for _, c := range []struct {
		name, text string
		has        string // of the result
		want       string // the namespace of the object x; "-" is none
	}{
		{"block", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n",
			"metadata:\n  namespace: web\n  name: x\n", "web"},
		{"a comment before the first field", "apiVersion: v1\nkind: Secret\nmetadata:\n  # why\n  name: x # this\n",
			"  # why\n  namespace: web\n  name: x # this\n", "web"},
		{"deep indentation", "apiVersion: v1\nkind: Secret\nmetadata:\n        name: x\ndata: {a: b}\n",
			"\n        namespace: web\n        name: x\ndata: {a: b}\n", "web"},
		{"flow", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n", `metadata: {"namespace": "web", name: x}`,
			"web"},
		{"flow over lines", "apiVersion: v1\nkind: Secret\nmetadata: {\n  name: x,\n  labels: {a: b}\n}\n",
			"labels: {a: b}", "web"},
		{"the whole object in flow", "{apiVersion: v1, kind: Secret, metadata: {name: x}}\n",
			`metadata: {"namespace": "web", name: x}}`, "web"},
		{"flow behind wide letters", "{apiVersion: v1, kind: ConfigMap, data: {a: \"日本語\"}, metadata: {name: x}}\n",
			"日本語", "web"},
		{"JSON", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}` + "\n", `"name":"x"`, "web"},
		{"JSON over lines", "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"Secret\",\n  \"metadata\": {\n    " +
			"\"name\": \"x\"\n  }\n}\n",
			`"name": "x"`, "web"},
		{"quotes", "\"apiVersion\": 'v1'\n'kind': \"Secret\"\n\"metadata\":\n  \"name\": 'x'\n", "'x'", "web"},
		{"an empty namespace", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n  namespace: \"\"\n", "", "web"},
		{"no value", "apiVersion: v1\nkind: Secret\nmetadata:\n  namespace:\n  name: x\n", "", "web"},
		{"null", "apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: ~}\n", "", "web"},
		{"a key with a question mark", "apiVersion: v1\nkind: Secret\n? metadata\n: name: x\n", "", "web"},
		{"an anchor", "apiVersion: v1\nkind: Secret\nmetadata: &m\n  name: x\nimmutable: true\n", "immutable: true",
			"web"},
		{"a merge", "apiVersion: v1\nkind: Secret\nmetadata:\n  <<: {labels: {a: b}}\n  name: x\n", "a: b", "web"},
		{"a merge that has it", "apiVersion: v1\nkind: Secret\nmetadata:\n  <<: {namespace: own}\n  name: x\n", "",
			"own"},
		{"metadata that a template shares", "apiVersion: apps/v1\nkind: Deployment\nmetadata: &m\n  name: x\nspec:\n" +
			"  template:\n    metadata: *m\n", "", "web"},
		{"lines of Windows", "apiVersion: v1\r\nkind: Secret\r\nmetadata:\r\n  name: x\r\n", "", "web"},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: x\n" +
			"- {apiVersion: v1, kind: Secret, metadata: {name: y}}\n", "", "web"},
		{"one of its own", "apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: own}\n", "", "own"},
		{"cluster-wide", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n", "", "-"},
		{"cluster-wide in an old version", "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: x}\n",
			"", "-"},
		{"an old version", "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: x}\n", "", "web"},
		{"a version that the table lacks", "apiVersion: batch/v2alpha1\nkind: CronJob\nmetadata: {name: x}\n", "",
			"web"},
		{"a custom kind of the chart", "apiVersion: site.test/v1\nkind: Thing\nmetadata: {name: x}\n", "", "web"},
		{"a custom kind that a definition beside it brings",
			"apiVersion: beside.test/v1\nkind: Near\nmetadata: {name: x}\n",
			"", "web"},
		{"one that is cluster-wide", "apiVersion: beside.test/v1\nkind: Wide\nmetadata: {name: x}\n", "", "-"},
		{"a custom kind that nothing defines", "apiVersion: other.test/v1\nkind: Thing\nmetadata: {name: x}\n", "",
			"-"},
	} {
		files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: site\nversion: 1.0.0\n",
			"crds/thing.yaml": site()["crds/thing.yaml"], "templates/x.yaml": c.text}
		o := options()
		o.Scopes = map[string]bool{"beside.test/Near": true, "beside.test/Wide": false}
		text, notes, err := render(t, files, o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := where(t, text)["x"]
		if got == "" {
			got = "-"
		}
		unknown := strings.Contains(c.text, "other.test")
		if got != c.want || !strings.Contains(text, c.has) || unknown != (len(notes) > 0) {
			t.Errorf("%s: in %s, want %s; notes %v\n%s", c.name, got, c.want, notes, text)
		}
		if _, is := where(t, text)["y"]; is && where(t, text)["y"] != "web" {
			t.Errorf("%s: the second object is not in the namespace\n%s", c.name, text)
		}
		if c.name == "metadata that a template shares" && strings.Count(text, "namespace: web") != 1 {
			t.Errorf("the template has got it too:\n%s", text)
		}
	}
}

// Numbers and truth values are names of namespaces too.
func TestANamespaceThatIsANumber(t *testing.T) {
	for _, ns := range []string{"123", "0x1f", "true", "on", "null", "y"} {
		for _, text := range []string{"apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"} {
			o := options()
			o.Namespace = ns
			out, _, err := render(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: site\nversion: 1.0.0\n",
				"templates/x.yaml": text}, o)
			if err != nil || !strings.Contains(out, "namespace\": \""+ns+`"`) &&
				!strings.Contains(out, "namespace: \""+ns+`"`) || !strings.Contains(out, "name: \""+ns+`"`) {
				t.Errorf("%s: %v\n%s", ns, err, out)
			}
		}
	}
}

// A chart asks which versions of the API the cluster has: those of the bundle's Kubernetes, and not those that Helm's
// library still knows. https://github.com/helm/helm/issues/11809,
// https://github.com/prometheus-community/helm-charts/issues/5131
func TestAChartChoosesTheServedVersion(t *testing.T) {
	for _, c := range []struct{ version, ask, want string }{
		{"v1.34.2", "policy/v1/PodDisruptionBudget", "yes"},
		{"v1.34.2", "policy/v1", "yes"},
		{"v1.34.2", "policy/v1beta1", "no"},
		{"v1.34.2", "policy/v1beta1/PodDisruptionBudget", "no"},
		{"v1.34.2", "extensions/v1beta1", "no"},
		{"v1.34.2", "autoscaling/v2/HorizontalPodAutoscaler", "yes"},
		{"v1.34.2", "v1/Pod", "yes"},
		{"v1.31.0", "flowcontrol.apiserver.k8s.io/v1beta3", "yes"},
		{"v1.34.2", "flowcontrol.apiserver.k8s.io/v1beta3", "no"},
		{"v1.34.2", "networking.k8s.io/v1beta1", "no"}, // off by default
		{"v1.36.0", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy", "yes"},
		{"v1.35.0", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy", "no"},
		{"v1.34.2", "monitoring.coreos.com/v1", "no"},
	} {
		o := options()
		o.KubeVersion = c.version
		text, _, err := render(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: site\nversion: 1.0.0\n",
			"templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ if " +
				".Capabilities.APIVersions.Has \"" +
				c.ask + "\" }}yes{{ else }}no{{ end }}\n"}, o)
		if err != nil || !strings.Contains(text, "name: "+c.want+"\n") {
			t.Errorf("%s of %s: %v, want %s\n%s", c.ask, c.version, err, c.want, text)
		}
	}
}
