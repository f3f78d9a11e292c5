package v1

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const crds = "../../assets/eggops/crds"

// openAPI has the keywords of a schema that the tests read.
type openAPI struct {
	Properties map[string]openAPI `json:"properties"`
	Items      *openAPI           `json:"items"`
	Rules      []struct {
		Rule    string `json:"rule"`
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
	Default any `json:"default"`
}

// definition has the fields of a CustomResourceDefinition that the tests read.
type definition struct {
	Spec struct {
		Names struct {
			Kind       string   `json:"kind"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Scope    string `json:"scope"`
		Versions []struct {
			Schema struct {
				Root openAPI `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

func definitions(t *testing.T) map[string]definition {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]definition{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var d definition
		if err := yaml.Unmarshal(text, &d); err != nil {
			t.Fatal(p, err)
		}
		if len(d.Spec.Versions) != 1 {
			t.Fatalf("%s has %d versions", p, len(d.Spec.Versions))
		}
		out[d.Spec.Names.Kind] = d
	}
	return out
}

func kinds() map[string]runtime.Object {
	return map[string]runtime.Object{
		"Machine": &Machine{}, "MachineBinding": &MachineBinding{}, "Infrastructure": &Infrastructure{},
		"Cluster": &Cluster{}, "Operation": &Operation{},
	}
}

// The definitions in assets have the fields of the types, and no other. make generate-check finds what differs besides.
func TestDefinitionsHaveTheFieldsOfTheTypes(t *testing.T) {
	short := map[string]string{"Machine": "em", "MachineBinding": "emb", "Infrastructure": "ei", "Cluster": "ec",
		"Operation": "eop"}
	all := definitions(t)
	if len(all) != len(kinds()) {
		t.Errorf("definitions of %v", slices.Collect(maps.Keys(all)))
	}
	for kind, object := range kinds() {
		names := all[kind].Spec.Names
		if !slices.Equal(names.ShortNames, []string{short[kind]}) ||
			!slices.Equal(names.Categories, []string{"eggo"}) || all[kind].Spec.Scope != "Namespaced" {
			t.Errorf("%s: %+v, %s", kind, names, all[kind].Spec.Scope)
		}
		if len(all[kind].Spec.Versions) == 1 {
			compare(t, kind, reflect.TypeOf(object).Elem(), all[kind].Spec.Versions[0].Schema.Root)
		}
	}
}

// compare compares the fields of a struct of this package with a schema.
func compare(t *testing.T, path string, is reflect.Type, s openAPI) {
	t.Helper()
	for is.Kind() == reflect.Pointer {
		is = is.Elem()
	}
	if is.Kind() == reflect.Slice && s.Items != nil {
		compare(t, path+"[]", is.Elem(), *s.Items)
		return
	}
	if is.Kind() != reflect.Struct || is.PkgPath() != reflect.TypeFor[Machine]().PkgPath() {
		return
	}
	fields := map[string]reflect.Type{}
	flatten(is, fields)
	delete(s.Properties, "apiVersion")
	delete(s.Properties, "kind")
	has, want := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(fields))
	if !slices.Equal(has, want) {
		t.Errorf("%s: the definition has %v, the type %v; make generate writes it", path, has, want)
	}
	for name, f := range fields {
		compare(t, path+"."+name, f, s.Properties[name])
	}
}

// flatten collects the JSON names of the fields of a struct, with those of embedded ones.
func flatten(is reflect.Type, into map[string]reflect.Type) {
	for i := range is.NumField() {
		f := is.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "":
			into[name] = f.Type
		case f.Type != reflect.TypeFor[metav1.TypeMeta]() && f.Type != reflect.TypeFor[metav1.ListMeta]():
			flatten(f.Type, into)
		}
	}
}

// Each rule in a marker is in a definition, and each rule there in a marker: rules that were changed in one place only
// are seen without controller-gen.
func TestDefinitionsHaveTheRulesOfTheMarkers(t *testing.T) {
	marker := regexp.MustCompile(`XValidation:rule="(.*)",message="(.*)"`)
	marked, defined := map[string]bool{}, map[string]bool{}
	paths, err := filepath.Glob("*_types.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range marker.FindAllStringSubmatch(string(text), -1) {
			marked[m[1]+"\n"+m[2]] = true
		}
	}
	var collect func(s openAPI)
	collect = func(s openAPI) {
		for _, r := range s.Rules {
			defined[r.Rule+"\n"+r.Message] = true
		}
		for _, p := range s.Properties {
			collect(p)
		}
		if s.Items != nil {
			collect(*s.Items)
		}
	}
	for _, d := range definitions(t) {
		collect(d.Spec.Versions[0].Schema.Root)
	}
	if len(marked) < 20 || !maps.Equal(marked, defined) {
		t.Errorf("%d rules in markers, %d in definitions; make generate writes those", len(marked), len(defined))
		for r := range marked {
			if !defined[r] {
				t.Errorf("not in a definition: %s", r)
			}
		}
		for r := range defined {
			if !marked[r] {
				t.Errorf("not in a marker: %s", r)
			}
		}
	}
}

// Objects whose status people and Git do not write are not healthy before the operator has seen them.
func TestStatusBeginsUnobserved(t *testing.T) {
	for kind, d := range definitions(t) {
		got := d.Spec.Versions[0].Schema.Root.Properties["status"].Default
		want := any(map[string]any{"observedGeneration": float64(-1)})
		if kind == "MachineBinding" { // the operator alone makes them
			want = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the default of status is %v, want %v", kind, got, want)
		}
	}
}

func TestKindsAreInTheScheme(t *testing.T) {
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for kind := range kinds() {
		for _, k := range []string{kind, kind + "List"} {
			if !s.Recognizes(GroupVersion().WithKind(k)) {
				t.Errorf("%s is not in the scheme", k)
			}
		}
	}
}

// The roles as the original counts them: its own etcd bit was written in hexadecimal, and never met.
func TestRolesOfTheOriginal(t *testing.T) {
	for r, want := range map[Role]struct {
		bit   int32
		usage string
	}{
		RoleMaster: {1, "Master"}, RoleWorker: {2, "Worker"}, RoleEtcd: {4, "Etcd"},
		RoleLoadBalance: {8, "Loadbalance"}, "other": {0, ""},
	} {
		if r.Bit() != want.bit || r.Usage() != want.usage {
			t.Errorf("%s: %d %q, want %+v", r, r.Bit(), r.Usage(), want)
		}
	}
}
