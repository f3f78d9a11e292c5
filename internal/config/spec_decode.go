package config

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Decode reads a deploy.yaml of either layout. The problems are those of its form: what is no YAML, keys that there are
// not, values of the wrong kind, and what no Spec can hold. Load finds all others as well.
func Decode(data []byte, filename string) (Spec, Problems) {
	l := theTable().newLoader(filename)
	s, _ := l.spec(data)
	l.unsaid()
	if at := "loadbalance"; l.maps[at] && s.LoadBalance == (BalancerSpec{}) {
		l.require(at, "<balancer>", s.LoadBalance)
	}
	return s, l.sorted()
}

// spec decodes a file; false means that there is nothing in it that can be read.
func (l *loader) spec(data []byte) (s Spec, ok bool) {
	l.lines = bytes.Count(data, []byte("\n")) + 1
	root := l.parse(data)
	if root == nil {
		return s, false
	}
	v := valueAt("", "", nil, root)
	if !l.kind(v, yaml.MappingNode) {
		return s, false
	}
	l.object(v, "", reflect.ValueOf(&s).Elem())
	return s, true
}

// unsaid reports packages from the network: in a file an empty type of the source means that, in a Spec it is nothing.
func (l *loader) unsaid() {
	if l.blank[sourceType] {
		l.err(l.spot(sourceType), "config.online")
	}
}

// source describes a file beside its Spec: where its values stand, and what no Spec can hold. A Spec that was
// not read from a file has only paths that are given.
type source struct {
	given map[string]position // every key that is there, as it is written
	names map[string]string   // paths as they are written, by those of the table, where they differ
	keys  map[string]position // names in maps, by their paths
	bad   map[string]bool     // paths of values that were refused when they were read
	maps  map[string]bool     // paths of maps that may be a list as well
	blank map[string]bool     // paths of values that are empty
	again []flagAgain         // flags of a list that are there twice
	once  map[string]val      // what a key with several spellings was read from
}

// flagAgain is the second value of a flag.
type flagAgain struct{ of, path, name, value string }

func newSource() source {
	return source{given: map[string]position{}, names: map[string]string{}, keys: map[string]position{},
		bad: map[string]bool{}, maps: map[string]bool{}, blank: map[string]bool{}, once: map[string]val{}}
}

// written returns a path of the table as the file has it.
func (s *source) written(path string) string {
	for end := len(path); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if name, is := s.names[path[:end]]; is {
			return name + path[end:]
		}
	}
	return path
}

// spot returns the place of a path of the table, or of the nearest one above it that is in the file.
func (s *source) spot(path string) spot {
	path = s.written(path)
	return spot{path, nearest(s.given, path)}
}

// called notes the name that a value has in the file.
func (s *source) called(v val) {
	if s.written(v.canon) != v.path {
		s.names[v.canon] = v.path
	}
}

// object decodes a map whose keys are those of the table below a row into a struct.
func (l *loader) object(v val, row string, to reflect.Value) {
	readers := map[string]reader{}
	for _, k := range l.table.below[row] {
		name := k.name()
		read := func(sub val) {
			sub.canon = below(v.canon, name)
			l.called(sub)
			l.decode(sub, k, l.table.field(to, k))
		}
		if len(k.Also)+len(k.Alias) == 0 {
			readers[name] = read
			continue
		}
		once := v.path + " " + name
		readers[name] = l.single(once, k.Written != "", read)
		for _, other := range k.Also {
			readers[other] = readers[name]
		}
		for _, other := range k.Alias {
			readers[other] = l.single(once, false, l.alias(name, read))
		}
	}
	l.fields(v, readers)
}

// decode reads the value of a key into its field.
func (l *loader) decode(v val, k Key, to reflect.Value) {
	switch {
	case k.form == oneOrList:
		l.oneOrList(v, k, to)
	case k.form == hops:
		to.Set(reflect.ValueOf(l.hops(v)))
	case k.form == flagValues:
		to.Set(reflect.ValueOf(l.flagMap(v)))
	case to.Kind() == reflect.Struct:
		l.object(v, k.shape(), to)
	case to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.String:
		l.items(v, func(item val) { to.Set(reflect.Append(to, reflect.ValueOf(l.raw(item)))) })
	case to.Kind() == reflect.Slice:
		if l.structs(v, k, to); k.Needed && v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
			delete(l.given, v.path) // an empty list of control planes is none
		}
	case to.Kind() == reflect.Map:
		l.named(v, k, to)
	default:
		l.scalar(v, k, to)
	}
}

// raw returns the text of a scalar as it stands in the file, whatever YAML takes it for: 123456 and 007 are text here.
// "" means absent.
func (l *loader) raw(v val) string {
	if !l.kind(v, yaml.ScalarNode) {
		if !isNull(v.node) {
			l.bad[v.canon] = true
		}
		return ""
	}
	if v.node.Value == "" {
		l.blank[v.canon] = true
	}
	return v.node.Value
}

// scalar reads a text, a number, or yes or no.
func (l *loader) scalar(v val, k Key, to reflect.Value) {
	if k.Kind == Network && v.node.Kind == yaml.SequenceNode && len(v.node.Content) > 1 {
		l.err(v.spot, "config.dual-stack", "value", clip(strings.Join(scalars(v.node), ", ")))
		l.bad[v.canon] = true
		return
	}
	text := l.raw(v)
	if k.Kind == Secret {
		remark := v.node.LineComment
		if remark == "" && v.key != nil {
			remark = v.key.LineComment
		}
		if cutByRemark(v.node, remark) {
			l.warn(v.spot, "config.secret-comment")
		}
	}
	if to.Kind() == reflect.String {
		to.SetString(text)
		return
	}
	if text, ok := l.line(v.spot, text); ok {
		if to.Kind() == reflect.Bool {
			to.SetBool(l.yesNo(v.spot, text))
		} else {
			to.SetInt(int64(l.integer(v.spot, k, text)))
		}
	}
	if text != "" && to.IsZero() {
		l.bad[v.canon] = true
	}
}

// cutByRemark reports whether a value ends, or is empty, because of a # that belongs to it: a remark has a space behind
// that.
func cutByRemark(n *yaml.Node, remark string) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && len(remark) > 1 && remark[0] == '#' &&
		!strings.ContainsRune(" \t#", rune(remark[1]))
}

// structs reads a list of maps. What is no map keeps its place in the list.
func (l *loader) structs(v val, k Key, to reflect.Value) {
	l.items(v, func(item val) {
		one := reflect.New(to.Type().Elem()).Elem()
		switch {
		case l.kind(item, yaml.MappingNode):
			l.object(item, k.Of, one)
		case isNull(item.node) && k.Kind == Machines:
			l.err(item.spot, "config.want-map")
			fallthrough
		default:
			l.bad[item.canon] = true
		}
		to.Set(reflect.Append(to, one))
	})
}

// oneOrList reads one map; a list with one entry is understood.
func (l *loader) oneOrList(v val, k Key, to reflect.Value) {
	if v.node.Kind == yaml.SequenceNode {
		switch len(v.node.Content) {
		case 0:
			return
		case 1:
			l.warn(v.spot, "config.loadbalance-list")
			canon := v.canon
			v = v.item(0)
			v.canon = canon
			l.called(v)
			l.given[v.path] = v.pos
		default:
			l.err(v.spot, "config.loadbalance-many")
			return
		}
	}
	if l.kind(v, yaml.MappingNode) {
		l.maps[v.canon] = true
		l.object(v, k.Of, to)
	}
}

// hops reads bastions: one as text in the way of ssh -J (user@host:port, several with commas), one map, or a list of
// both. The list is never nil: an empty list means that there are none.
func (l *loader) hops(v val) []HopSpec {
	out := []HopSpec{}
	add := func(from val, hop HopSpec) {
		from.canon = itemKey(v.canon, len(out))
		l.called(from)
		out = append(out, hop)
	}
	one := func(item val) {
		if item.node.Kind != yaml.ScalarNode {
			var hop HopSpec
			item.canon = itemKey(v.canon, len(out))
			l.called(item)
			l.object(item, "<hop>", reflect.ValueOf(&hop).Elem())
			l.bad[item.canon] = item.node.Kind != yaml.MappingNode
			out = append(out, hop)
			return
		}
		text, ok := l.line(item.spot, l.raw(item))
		if !ok || text == "" {
			return
		}
		for hop := range strings.SplitSeq(text, ",") {
			b, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				l.err(item.spot, "config.bastion", "value", clip(hop))
				return
			}
			add(item, HopSpec{Host: b.Host, Port: b.Port, User: b.User})
		}
	}
	switch {
	case isNull(v.node):
	case v.node.Kind == yaml.SequenceNode:
		l.items(v, one)
	default:
		one(v)
	}
	return out
}

// flagMap reads {flag: value}, or a list of flag=value.
func (l *loader) flagMap(v val) map[string]string {
	if v.node.Kind != yaml.SequenceNode {
		out := map[string]string{}
		l.named(v, Key{}, reflect.ValueOf(&out).Elem())
		return out
	}
	out := map[string]string{}
	l.items(v, func(item val) {
		text, ok := l.line(item.spot, l.raw(item))
		if !ok || text == "" {
			return
		}
		name, value, _ := strings.Cut(text, "=")
		l.given[below(v.path, name)] = item.pos
		item.canon = below(v.canon, name)
		if _, twice := out[name]; twice {
			l.again = append(l.again, flagAgain{v.canon, item.path, name, value})
			return
		}
		l.names[item.canon] = item.path
		out[name] = value
	})
	return out
}

// named reads a map with any names: to texts, or to maps of a shape.
func (l *loader) named(v val, k Key, to reflect.Value) {
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	to.Set(reflect.MakeMap(to.Type()))
	l.pairs(v, func(key *yaml.Node, sub val) {
		l.given[sub.path] = sub.pos
		l.keys[sub.canon] = position{key.Line, key.Column}
		one := reflect.New(to.Type().Elem()).Elem()
		if one.Kind() == reflect.Struct {
			l.object(sub, k.Of, one)
		} else {
			one.SetString(l.raw(sub))
		}
		to.SetMapIndex(reflect.ValueOf(key.Value), one)
	})
}

// scalars are the values of a list, as far as they are plain.
func scalars(n *yaml.Node) []string {
	var out []string
	for _, one := range n.Content {
		if one.Kind == yaml.ScalarNode {
			out = append(out, event.Clean(one.Value))
		}
	}
	return out
}

// inOrder returns the names of a map in the order in which they stand in the file, or else sorted.
func inOrder[T any](l *loader, path string, m map[string]T) []string {
	names := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(names, func(a, b string) int {
		return l.nameAt(path, a).compare(l.nameAt(path, b))
	})
	return names
}

// nameAt is where a name of a map stands in the file.
func (l *loader) nameAt(path, name string) position {
	at := below(path, event.Clean(clip(name)))
	if pos, is := l.keys[at]; is {
		return pos
	}
	return l.spot(at).pos
}
