package config

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML returns the Spec as a deploy.yaml, with its passwords, in the order of the manual.
func (s Spec) YAML() []byte {
	root := theTable().node(Key{}, reflect.ValueOf(s))
	if len(root.Content) == 0 {
		return []byte("{}\n")
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(root) != nil || e.Close() != nil {
		return nil // not possible: texts, lists and maps always encode
	}
	return b.Bytes()
}

// node returns the value of a key as it is written.
func (t *table) node(k Key, of reflect.Value) *yaml.Node {
	switch of.Kind() {
	case reflect.Struct:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, one := range t.below[k.shape()] {
			if field := t.field(of, one); !field.IsZero() {
				out.Content = append(out.Content, textNode(one.written()), t.node(one, field))
			}
		}
		return out
	case reflect.Slice:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range of.Len() {
			out.Content = append(out.Content, t.node(k, of.Index(i)))
		}
		return out
	case reflect.Map:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		names := of.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			out.Content = append(out.Content, textNode(name.String()), t.node(k, of.MapIndex(name)))
		}
		return out
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(int(of.Int()))}
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(of.Bool())}
	default:
		n := textNode(of.String())
		if k.Kind == Secret {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	}
}
