package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("spec.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validated(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// Every spec that we ship is right by the schema; what is no key, no list or no choice is not.
func TestTheSchemaJudgesSpecs(t *testing.T) {
	s := compiled(t)
	for _, system := range assets.Systems() {
		text, err := assets.BundleSpec(system)
		if err != nil {
			t.Fatal(err)
		}
		if err := validated(t, s, text); err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
	for text, right := range map[string]bool{
		small: true, small + "addons:\n - {name: x, url: https://a.test/x, roles: [worker]}\n": true,
		small + "packages: {repositories: [{type: '{arch}', machine: true, priority: 7}]}\n": true,
		"": false, "- a\n": false, small + "image: []\n": false, small + "images: {}\n": false,
		small + "runtime: podman\n":                   false,
		small + "addons: [{url: https://a.test/x}]\n": false, small + "addons: [{name: x, roles: [gateway]}]\n": false,
		small + "binaries: [{name: x, dst: /tmp, roles: [etcd], chekcsum: x}]\n": false,
		strings.Replace(small, "version: 1", "version: '2'", 1):                  false, "name: a\n": false,
	} {
		if err := validated(t, s, []byte(text)); (err == nil) != right {
			t.Errorf("right %v: %v\n%s", right, err, text)
		}
	}
}

// The schema has the keys that the parser reads, and asks for those that the parser asks for.
func TestTheSchemaHasTheParsersKeys(t *testing.T) {
	var doc struct {
		Properties map[string]any            `json:"properties"`
		Defs       map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	keys := func(properties map[string]any) string {
		var out []string
		for k := range properties {
			out = append(out, k)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	inside := func(o any, path ...string) map[string]any {
		for _, p := range path {
			o = o.(map[string]any)[p]
		}
		return o.(map[string]any)
	}
	def := func(name string) map[string]any { return inside(doc.Defs[name], "properties") }
	for text, want := range map[string]map[string]any{
		"zz: 1\n":             doc.Properties,
		"os: {zz: 1}\n":       inside(doc.Properties, "os", "properties"),
		"packages: {zz: 1}\n": inside(doc.Properties, "packages", "properties"),
		"packages: {install: [{zz: 1}]}\n": inside(
			doc.Properties, "packages", "properties", "install", "items", "properties"),
		"packages: {repositories: [{zz: 1}]}\n": def("repository"),
		"binaries: [{zz: 1}]\n":                 def("binary"),
		"files: [{zz: 1}]\n":                    def("binary"),
		"dirs: [{zz: 1}]\n":                     inside(doc.Properties, "dirs", "items", "properties"),
		"addons: [{zz: 1}]\n":                   def("addon"),
		"addons: [{chart: {zz: 1}}]\n":          inside(def("addon"), "chart", "properties"),
		"images: [{zz: 1}]\n":                   inside(doc.Properties, "images", "items", "properties"),
		"image-hints: [{zz: 1}]\n":              inside(doc.Properties, "image-hints", "items", "properties"),
	} {
		_, err := Parse([]byte(text))
		ps := (Problems)(nil)
		if !errors.As(err, &ps) {
			t.Fatal(err)
		}
		i := slices.IndexFunc(ps, func(p *event.Fault) bool { return p.Code == "spec.unknown-key" })
		if i < 0 || ps[i].Args["known"] != keys(want) {
			t.Errorf("%s: the schema has %s, the parser says\n%v", text, keys(want), ps)
		}
	}
}
