package config

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// single guards a key that has several spellings: the second that stands in the file is a problem. If both say the
// same, it is only a warning, unless the key is strict.
func (l *loader) single(canonical string, strict bool, read reader) reader {
	return func(v val) {
		first, twice := l.once[canonical]
		switch {
		case !twice:
			l.once[canonical] = v
			read(v)
		case sameNode(first.node, v.node) && strict:
			l.err(v.spot, "config.same-twice", "other", first.path, "line", strconv.Itoa(first.pos.line))
		case sameNode(first.node, v.node):
			l.warn(v.spot, "config.same-twice", "other", first.path, "line", strconv.Itoa(first.pos.line))
		default:
			l.err(v.spot, "config.given-twice", "other", first.path, "line", strconv.Itoa(first.pos.line))
		}
	}
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// alias reads a spelling that is understood but is not the format's.
func (l *loader) alias(canonical string, read reader) reader {
	return func(v val) {
		l.warnAt(position{v.key.Line, v.key.Column}, v.path, "config.alias-key", "name", v.key.Value, "instead",
			canonical)
		read(v)
	}
}
