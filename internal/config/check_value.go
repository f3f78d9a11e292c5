package config

import (
	"bytes"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// CheckValue returns what is wrong with the value of one setting by itself, by the rule of its key. What depends on
// other keys is found by Draft.Check.
func CheckValue(key, value string) (Problem, bool) {
	t := theTable()
	if _, known := SettingOf(key); value == "" || !known {
		return Problem{}, false
	}
	l := t.newLoader("")
	var spec Spec
	if l.set(&spec, key, value); len(l.problems) == 0 {
		l.values(spec)
		l.checkPorts()
	}
	l.proposeNetworks()
	return l.first()
}

// CheckMachine returns what is wrong with one field (name, ip, port, arch) of a machine by itself.
func CheckMachine(field, value string) (Problem, bool) {
	t := theTable()
	k, known := t.find("<machine>." + field)
	if value == "" || !known {
		return Problem{}, false
	}
	l, path := t.newLoader(""), machineKey(0)
	var m MachineSpec
	key := below(path, field)
	l.decode(valueAt(key, key, nil, textNode(value)), k, t.field(reflect.ValueOf(&m).Elem(), k))
	l.host(path, "<machine>", m, bundle.Worker)
	return l.first()
}

// first returns the first error of what was read.
func (l *loader) first() (Problem, bool) {
	for _, p := range l.problems.Sorted() {
		if p.Severity == event.Error {
			return p, true
		}
	}
	return Problem{}, false
}

// node returns a value as it stands in a file; nil if it says nothing. A block that is no YAML is a problem.
func (s Setting) node(value string) (*yaml.Node, *Problem) {
	switch {
	case s.Kind == Block:
		return s.block(value)
	case s.Kind != List:
		return textNode(value), nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, one := range Items(value) {
		item := textNode(one)
		if s.Key == "addons" {
			item = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{textNode("filename"), item}}
		}
		list.Content = append(list.Content, item)
	}
	return list, nil
}

// block returns the value of a key that is typed as YAML, by the rules of the file that it is written into; nil if it
// says nothing.
func (s Setting) block(value string) (*yaml.Node, *Problem) {
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	l, data := theTable().newLoader(""), []byte(indented(value, "  "))
	l.text = bytes.Split(data, []byte("\n"))
	if l.readable(data); len(l.problems) == 0 {
		l.visible(data)
	}
	if bad, is := l.first(); is {
		bad.Key, bad.Args["key"] = s.Key, s.Key
		return nil, &bad
	}
	data, _, _ = slashComments(data)
	root, second, err := decodeYAML(data)
	if err != nil && s.Key == "eggo.bastion" && !strings.ContainsAny(value, "\n[{") {
		// It was typed as for ssh -J: the rule of bastions has better words for it than the parser.
		return textNode(value), nil
	}
	if err != nil || second > 0 {
		cause := "---"
		if err != nil {
			cause = err.Error()
		}
		return nil, &Problem{Line: 1, Col: 1, Key: s.Key, Code: "config.syntax", Severity: event.Error,
			Args: map[string]string{"key": s.Key, "cause": clip(cause)}}
	}
	if root == nil || len(root.Content) == 0 || isNull(root.Content[0]) {
		return nil, nil
	}
	return root.Content[0], nil
}

// indented returns YAML as it is written below its key.
func indented(value, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(value, "\n ") + "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent + line)
		} else {
			b.WriteString("\n")
		}
	}
	return b.String()
}
