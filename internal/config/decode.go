package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/output/spelling"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// spot is a place of a deploy.yaml: the path of a key as it is written there, and where a problem with its value is
// shown.
type spot struct {
	path string
	pos  position
}

// val is a value of the file.
type val struct {
	spot
	canon string     // path with the names of the table
	key   *yaml.Node // nil for the root and for items of a list
	node  *yaml.Node
}

// valueAt returns the value of a key. Where there is nothing after the key, problems with it are shown at the key.
func valueAt(path, canon string, key, node *yaml.Node) val {
	pos := position{node.Line, node.Column}
	if key != nil && (isNull(node) || node.Line == 0) {
		pos = position{key.Line, key.Column}
	}
	return val{spot{path, pos}, canon, key, node}
}

func (v val) item(i int) val {
	return valueAt(itemKey(v.path, i), itemKey(v.canon, i), nil, v.node.Content[i])
}

// reader takes one value of the file.
type reader func(val)

func (l *loader) problem(sev event.Severity, at position, key, code string, kv ...string) {
	if len(l.problems) >= maxProblems {
		l.more = true
		return
	}
	p := Problem{
		File: l.file, Line: min(max(at.line, 1), max(l.lines, 1)), Col: max(at.col, 1),
		Key: key, Code: code, Severity: sev, Args: map[string]string{"key": key},
	}
	maps.Copy(p.Args, event.M("", kv...).Args)
	l.problems = append(l.problems, p)
}

func (l *loader) errAt(at position, key, code string, kv ...string) {
	l.problem(event.Error, at, key, code, kv...)
}

func (l *loader) warnAt(at position, key, code string, kv ...string) {
	l.problem(event.Warning, at, key, code, kv...)
}

func (l *loader) err(s spot, code string, kv ...string)  { l.errAt(s.pos, s.path, code, kv...) }
func (l *loader) warn(s spot, code string, kv ...string) { l.warnAt(s.pos, s.path, code, kv...) }

// kind reports whether the value is of that kind; if not, that is a problem. An empty value is of no kind and no
// problem: it counts as absent.
func (l *loader) kind(v val, want yaml.Kind) bool {
	if v.node.Kind == want && !isNull(v.node) {
		return true
	}
	if text := v.node.Value; want == yaml.MappingNode && strings.ContainsRune(text, '：') {
		l.err(v.spot, "config.full-width", "char", "：", "instead", ":")
		return false
	}
	if !isNull(v.node) {
		l.err(v.spot, map[yaml.Kind]string{
			yaml.ScalarNode: "config.want-value", yaml.SequenceNode: "config.want-list",
			yaml.MappingNode: "config.want-map",
		}[want])
	}
	return false
}

// fields reads a map with known keys; others are problems, as are keys that stand there twice.
func (l *loader) fields(v val, table map[string]reader) {
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	l.pairs(v, func(key *yaml.Node, sub val) {
		read, known := table[key.Value]
		if !known && strings.ContainsRune(key.Value, '：') {
			l.errAt(position{key.Line, key.Column}, sub.path, "config.full-width", "char", "：", "instead", ":")
			return
		}
		if !known {
			code, like := "config.unknown-key", spelling.Nearest(key.Value, slices.Collect(maps.Keys(table)))
			if like != "" {
				code = "config.misspelt-key"
			}
			l.errAt(position{key.Line, key.Column}, sub.path, code, "name", clip(key.Value), "like", like)
			return
		}
		l.given[sub.path] = sub.pos
		read(sub)
	})
}

// below is the path of a key in the map at a path.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// pairs visits the pairs of a map. The path of a key that is not plain is cut, because it is shown.
func (l *loader) pairs(v val, visit func(key *yaml.Node, sub val)) {
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if key.Kind != yaml.ScalarNode {
			l.errAt(position{key.Line, key.Column}, v.path, "config.key-kind")
			continue
		}
		word := event.Clean(clip(key.Value))
		path := below(v.path, word)
		if first := seen[key.Value]; first != nil {
			l.errAt(position{key.Line, key.Column}, path, "config.duplicate-key", "name", clip(key.Value), "first",
				strconv.Itoa(first.Line))
			continue
		}
		seen[key.Value] = key
		visit(key, valueAt(path, below(v.canon, word), key, v.node.Content[i+1]))
	}
}

// items visits the items of a list.
func (l *loader) items(v val, read reader) {
	if !l.kind(v, yaml.SequenceNode) {
		return
	}
	for i := range v.node.Content {
		l.given[v.item(i).path] = v.item(i).pos
		read(v.item(i))
	}
}
