package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A key is one row and one field: the fields of Spec are the rows of the table, in its order, each of the row's kind.
func TestSpec_HasAFieldForEachRow(t *testing.T) {
	all := theTable()
	seen := map[string]bool{}
	var walk func(row string, of reflect.Type)
	walk = func(row string, of reflect.Type) {
		var names []string
		for _, f := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
				names = append(names, name)
			}
		}
		var rows []string
		for _, k := range all.below[row] {
			rows = append(rows, k.written())
			seen[k.Path] = true
			index, is := all.fields[of][k.written()]
			if !is {
				t.Errorf("%s has no field", k.Path)
				continue
			}
			f := of.FieldByIndex(index).Type
			want := map[Kind]string{YesNo: "bool", Number: "int", List: "slice", Machines: "slice",
				Map: "struct"}[k.Kind]
			switch {
			case k.Kind == Block, k.form == oneOrList:
				want = f.Kind().String()
			case want == "":
				want = "string"
			}
			if f.Kind().String() != want {
				t.Errorf("%s is a %s, want %s", k.Path, f.Kind(), want)
			}
			for f.Kind() == reflect.Slice || f.Kind() == reflect.Map {
				f = f.Elem()
			}
			if f.Kind() == reflect.Struct {
				walk(k.shape(), f)
			}
		}
		if !slices.Equal(names, rows) {
			t.Errorf("%s: the fields are\n%q, the rows\n%q", of, names, rows)
		}
	}
	walk("", reflect.TypeFor[Spec]())
	for _, k := range all.keys {
		if !seen[k.Path] {
			t.Errorf("no field has the key %s", k.Path)
		}
	}
}

// What a file says, its Spec says, and the file that is written of it; what JSON makes of the Spec as well.
func TestSpec_MeansWhatItsFileMeans(t *testing.T) {
	n := 0
	for _, text := range append(examples(t), newLayout) {
		want, _ := Load([]byte(text), "f")
		if want == nil || want.Source.Type == "" { // only a file can have no bundle
			continue
		}
		n++
		s, problems := Decode([]byte(text), "f")
		if problems.HasErrors() {
			t.Fatalf("%v\n%s", problems, text)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again Spec
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		written, _ := Decode(s.YAML(), "f")
		for name, one := range map[string]Spec{"decoded": s, "by JSON": again, "written": written} {
			got, problems := one.Cluster("f")
			if got == nil {
				t.Fatalf("%s: %v\n%s", name, problems, text)
			}
			sameCluster(t, want, got)
			if t.Failed() {
				t.Fatalf("%s:\n%s\n%s", name, text, data)
			}
		}
	}
	if n < 200 {
		t.Fatalf("%d valid examples: the search is broken", n)
	}
}

// A Spec that was not read from a file is checked by the rules of a file, those of numbers included; lines are those of
// the file that it would be.
func TestSpecCluster_FindsAllProblems(t *testing.T) {
	s := Spec{ClusterID: "UPPER", Masters: []MachineSpec{{Name: "a", IP: "192.0.2.1", Port: 70000},
		{Name: "a", IP: "192.0.2.2"}}, Service: ServiceSpec{CIDR: "10.0.0.0/8", DNS: DNSSpec{Replicas: -1}},
		Runtime: "iSulad", PackageSrc: PackageSrcSpec{X86Src: "/x.tar.gz"},
		Eggo: EggoSpec{Nodes: map[string]NodeSpec{"a": {Taints: []string{"x"}}}}}
	c, problems := s.Cluster("f")
	if c != nil {
		t.Fatal("it is valid")
	}
	for key, code := range map[string]string{"cluster-id": "config.name", "masters[0].port": "config.integer",
		"masters[1]": "config.host-twice", "service.cidr": "config.service-size",
		"service.dns.replicas": "config.integer", "eggo.nodes.a.taints[0]": "config.taint"} {
		i := slices.IndexFunc(problems, func(p Problem) bool { return p.Key == key && p.Code == code })
		if i < 0 {
			t.Errorf("no %s at %s:\n%s", code, key, dump(problems))
			continue
		}
		lines := strings.Split(string(s.YAML()), "\n")
		if at := lines[problems[i].Line-1]; code == "config.integer" && !strings.Contains(at, "70000") &&
			!strings.Contains(at, "-1") {
			t.Errorf("%s is in line %d: %s", key, problems[i].Line, at)
		}
	}
	s = Spec{Masters: s.Masters[:1], PackageSrc: s.PackageSrc}
	s.Masters[0].Port = 0
	if c, problems = s.Cluster("f"); c == nil || problems.HasErrors() || c.Runtime != "containerd" ||
		c.Nodes[0].Port != 22 || c.ServiceCIDR.String() != "10.32.0.0/16" {
		t.Errorf("%+v\n%s", c, dump(problems))
	}
	if c, problems = (Spec{}).Cluster("f"); c != nil || len(problems) == 0 || problems[0].Severity != event.Error {
		t.Errorf("nothing at all is valid: %v", problems)
	}
}

// BenchmarkLoad is a whole file of three machines.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if c, problems := Load([]byte(minimal), "f"); c == nil {
			b.Fatal(problems)
		}
	}
}

// Texts of requests and custom resources come back from the file as they were, whatever they hold: none of them becomes
// a key, another value or a comment.
func TestSpecYAML_KeepsHostileTexts(t *testing.T) {
	values := append(slices.Clone(hostile), "<<", "*a", "&a", "!!str x", "a: b", "- a", "# a", "a #b", "//", "null",
		"~", "yes", "1e3", "0o7", "'", `"`, "|", ">", "%", "@", "：", "\u200b", "\u00a0", "a // b", "---", "...",
		"[", "{")
	for _, value := range values {
		if len(value) > 1000 { // the file would be too large
			continue
		}
		var s Spec
		filled(reflect.ValueOf(&s).Elem(), value)
		got, problems := Decode(s.YAML(), "f")
		if d := cmp.Diff(s, got); d != "" || problems.HasErrors() {
			t.Fatalf("%q: %s\n%s", clip(value), dump(problems), d)
		}
	}
}

// filled gives each text of a value of Spec, and each name in a map, that text; bastions, which may be a text, do not
// have it.
func filled(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), text)
		filled(v.Index(1), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range []string{text, "a"} {
			one := reflect.New(v.Type().Elem()).Elem()
			filled(one, text)
			v.SetMapIndex(reflect.ValueOf(name), one)
		}
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		v.SetInt(23)
	case reflect.Bool:
		v.SetBool(true)
	default:
	}
}

// FuzzSpec checks that a file and the file written from its Spec have the same values.
func FuzzSpec(f *testing.F) {
	f.Add(minimal)
	f.Add(newLayout)
	f.Add("eggo: {bastion: 'ops@b.example, c', nodes: {a: {labels: {x/y: ''}, taints: ['a:NoSchedule']}}}\n")
	f.Add("config-extra-args: [{name: etcd, extra-args: {ETCD_A: 1}}, {name: kubelet, extra-args: ['--a=b=c']}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := Decode([]byte(text), "f")
		s.Cluster("f")
		if problems.HasErrors() {
			return
		}
		got, problems := Decode(s.YAML(), "f")
		if d := cmp.Diff(s, got); d != "" || problems.HasErrors() {
			t.Fatalf("%s\n%s\n%s", dump(problems), d, s.YAML())
		}
	})
}
