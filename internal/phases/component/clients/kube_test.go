package clients

import (
	"slices"
	"strings"
	"testing"
)

func TestManifestsAreSplit(t *testing.T) {
	names := func(text string) (out []string, err error) {
		list, err := ParseManifests([]byte(text))
		for _, o := range list {
			out = append(out, o.GetKind()+" "+o.GetName())
		}
		return out, err
	}
	for text, want := range map[string][]string{
		"": nil, "---\n---\n# only words\n---\n": nil,
		"kind: A\napiVersion: v1\nmetadata: {name: a}\n---\n\n---\nkind: B\napiVersion: v1\nmetadata: {name: b}\n": {"A a", "B b"},
		`{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}`:                                                   {"A a"},
		"kind: List\napiVersion: v1\nitems:\n- {kind: A, apiVersion: v1, metadata: {name: a}}\n- {kind: B, " +
			"apiVersion: v1, metadata: {name: b}}\n": {"A a", "B b"},
		"kind: ConfigMapList\napiVersion: v1\nitems: []\n---\nkind: C\napiVersion: v1\nmetadata: {name: \"---\"}\n": {"C ---"},
		"kind: A\napiVersion: v1\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    kind: Not\n":                     {"A a"},
	} {
		if got, err := names(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"a: [", "- a\n- b\n", "just words\n", "kind: A\nkind: &a [*a]\n", "\x00",
		"kind: List\napiVersion: v1\nitems: [1, a, null]\n",
		"a: &a [x,x]\nb: &b [*a,*a]\n" + strings.Repeat("c: !!binary x\n", 3),
	} {
		if got, err := names(text); err == nil {
			t.Errorf("%q was taken: %v", text, got)
		}
	}
}

func FuzzManifests(f *testing.F) {
	f.Add([]byte("kind: A\n---\nkind: List\nitems: [{kind: B}]\n"))
	f.Add([]byte("{\"kind\":\"List\",\"items\":[null]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseManifests(data)
		for _, o := range list {
			if err == nil && o == nil {
				t.Error("an object that is none")
			}
		}
	})
}
