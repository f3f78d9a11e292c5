package addon

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
)

// Helm's client puts objects without a namespace into the release's; a rendered manifest is applied without it, and
// they would end up in "default". So the namespace is written into them here.

// scopes knows which kinds are in a namespace: Kubernetes' own, and custom ones from the definitions in the same chart
// or beside it.
type scopes struct {
	walker
	api     *kubeapi.Table
	custom  map[string]bool // group/kind → in a namespace
	unknown []string        // objects without a namespace whose kind nothing defines
}

// learn takes the scope of a definition.
func (s *scopes) learn(doc *yaml.Node) error {
	fields, err := s.fields(doc, 0)
	if err != nil {
		return err
	}
	kind, namespaced, err := s.defines(fields)
	if kind != "" {
		s.custom[kind] = namespaced
	}
	return err
}

// defines is the kind that a CustomResourceDefinition brings, as group/kind; "" if the object is none.
func (w *walker) defines(fields []field) (kind string, namespaced bool, err error) {
	if text(fields, "kind") != "CustomResourceDefinition" || get(fields, "spec") == nil {
		return "", false, nil
	}
	spec, err := w.fields(get(fields, "spec"), 1)
	if err != nil || get(spec, "names") == nil {
		return "", false, err
	}
	names, err := w.fields(get(spec, "names"), 2)
	if err != nil {
		return "", false, err
	}
	return text(spec, "group") + "/" + text(names, "kind"), text(spec, "scope") != "Cluster", nil
}

// lacking is an object that needs a namespace.
type lacking struct {
	kind, name string
	meta       *yaml.Node // its metadata, which aliases may make that of other objects too
	place      []int      // the number of its document, then those in lists of objects
}

// fill writes a namespace into the objects of a document that need one and have none; nothing else of it changes. Where
// the style of the text leaves no place for a word (an alias, an empty value), the document is encoded again.
func (s *scopes) fill(doc string, roots []*yaml.Node, namespace string) (string, error) {
	list, err := s.all(roots)
	if err != nil || len(list) == 0 {
		return doc, err
	}
	want, ok := withNamespaces(doc, list, namespace)
	if out := insert(doc, list, namespace); ok && same(out, want) {
		return out, nil
	}
	out, err := s.rewrite(roots, namespace)
	if err != nil {
		return "", err
	}
	if ok && same(out, want) {
		return out, nil
	}
	for _, l := range list {
		s.unknown = append(s.unknown, l.kind+" "+l.name)
	}
	return doc, nil
}

// all are the objects of these documents that need a namespace.
func (s *scopes) all(roots []*yaml.Node) (list []lacking, err error) {
	for i, r := range roots {
		if r == nil {
			continue
		}
		if err := s.find(r, []int{i}, &list, 0); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// find looks for objects that need a namespace.
func (s *scopes) find(n *yaml.Node, place []int, list *[]lacking, depth int) error {
	fields, err := s.fields(n, depth)
	if err != nil {
		return err
	}
	kind, apiVersion := text(fields, "kind"), text(fields, "apiVersion")
	if items := get(fields, "items"); items != nil && items.Kind == yaml.SequenceNode &&
		strings.HasSuffix(kind, "List") {
		for i, c := range items.Content {
			if err := s.find(target(c), append(slices.Clone(place), i), list, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	meta := get(fields, "metadata")
	if kind == "" || meta == nil || meta.Kind != yaml.MappingNode {
		return nil
	}
	m, err := s.fields(meta, depth+1)
	if err != nil || text(m, "namespace") != "" {
		return err
	}
	namespaced, known := s.custom[kubeapi.Group(apiVersion)+"/"+kind]
	if !known {
		namespaced, known = s.api.Namespaced(apiVersion, kind)
	}
	switch {
	case namespaced:
		*list = append(*list, lacking{kind, text(m, "name"), meta, place})
	case !known:
		s.unknown = append(s.unknown, kind+" "+text(m, "name"))
	}
	return nil
}

// word is the namespace as a value of YAML: quoted where it would be a number or a truth value.
func word(namespace string) string {
	for _, resolve := range []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"} {
		if namespace == resolve {
			return strconv.Quote(namespace)
		}
	}
	if namespace[0] < 'a' {
		return strconv.Quote(namespace)
	}
	return namespace
}

// insert puts the namespace before the first field of each metadata: as a line of its own, or behind the brace of a map
// in flow style.
func insert(doc string, list []lacking, namespace string) string {
	type insertion struct {
		line, column int
		text         string
		own          bool // a line
	}
	var places []insertion
	for _, l := range list {
		switch m := l.meta; {
		case m.Style&yaml.FlowStyle != 0:
			quoted := `"namespace": ` + strconv.Quote(namespace)
			if len(m.Content) > 0 {
				quoted += ", "
			}
			places = append(places, insertion{m.Line, m.Column + 1, quoted, false})
		case len(m.Content) > 0:
			first := m.Content[0]
			places = append(places, insertion{first.Line, first.Column, strings.Repeat(" ", first.Column-1) +
				"namespace: " + word(namespace) + "\n", true})
		}
	}
	slices.SortFunc(places, func(a, b insertion) int { // from the end: the places before stay what they are
		if a.line != b.line {
			return b.line - a.line
		}
		return b.column - a.column
	})
	lines := strings.SplitAfter(doc, "\n")
	for _, p := range places {
		if p.line < 1 || p.line > len(lines) {
			continue
		}
		at := lines[p.line-1]
		if p.own {
			lines[p.line-1] = p.text + at
			continue
		}
		if runes := []rune(at); p.column-1 <= len(runes) {
			lines[p.line-1] = string(runes[:p.column-1]) + p.text + string(runes[p.column-1:])
		}
	}
	return strings.Join(lines, "")
}

// rewrite encodes the documents with the namespace in them, and what aliases repeat written out.
func (s *scopes) rewrite(roots []*yaml.Node, namespace string) (string, error) {
	plain := make([]*yaml.Node, len(roots))
	for i, r := range roots {
		if r == nil {
			continue
		}
		var err error
		if plain[i], err = s.expanded(r, 0); err != nil {
			return "", err
		}
	}
	list, err := (&scopes{api: s.api, custom: s.custom}).all(plain)
	if err != nil {
		return "", err
	}
	for _, l := range list {
		fields := []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: "namespace"},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: namespace}}
		for i := 0; i+1 < len(l.meta.Content); i += 2 {
			if l.meta.Content[i].Value != "namespace" {
				fields = append(fields, l.meta.Content[i], l.meta.Content[i+1])
			}
		}
		l.meta.Content = fields
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, r := range plain {
		if r == nil {
			continue
		}
		if err := enc.Encode(r); err != nil {
			return "", err
		}
	}
	return b.String(), enc.Close()
}

// expanded is a copy of a node without anchors and aliases.
func (w *walker) expanded(n *yaml.Node, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	if err := w.spend(1); err != nil {
		return nil, err
	}
	out := *target(n)
	out.Anchor, out.Content = "", nil
	for _, c := range target(n).Content {
		x, err := w.expanded(c, depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, x)
	}
	return &out, nil
}

// values are the documents of a text, without empty ones.
func values(doc string) (out []any, ok bool) {
	roots, err := documents([]byte(doc))
	if err != nil {
		return nil, false
	}
	for _, r := range roots {
		var v any
		if r != nil && r.Decode(&v) != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// withNamespaces are the documents as they are to be.
func withNamespaces(doc string, list []lacking, namespace string) (out []any, ok bool) {
	if out, ok = values(doc); !ok {
		return nil, false
	}
	for _, l := range list {
		v := out[l.place[0]]
		for _, i := range l.place[1:] {
			object, _ := v.(map[string]any)
			items, _ := object["items"].([]any)
			if i >= len(items) {
				return nil, false
			}
			v = items[i]
		}
		object, _ := v.(map[string]any)
		meta, is := object["metadata"].(map[string]any)
		if !is {
			return nil, false
		}
		meta["namespace"] = namespace
	}
	return out, true
}

// same reports whether a text has these documents, empty ones apart.
func same(doc string, want []any) bool {
	got, ok := values(doc)
	empty := func(v any) bool { return v == nil }
	return ok && reflect.DeepEqual(slices.DeleteFunc(got, empty), slices.DeleteFunc(slices.Clone(want), empty))
}

// given says whether a new cluster has the namespace.
func given(namespace string) bool {
	switch namespace {
	case "default", "kube-system", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

// isNamespace says whether a document is the namespace of that name.
func isNamespace(doc *yaml.Node, name string) (bool, error) {
	w := &walker{}
	fields, err := w.fields(doc, 0)
	if err != nil || text(fields, "kind") != "Namespace" || get(fields, "metadata") == nil {
		return false, err
	}
	meta, err := w.fields(get(fields, "metadata"), 1)
	return err == nil && text(meta, "name") == name, err
}
