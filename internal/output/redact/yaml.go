package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML takes the secrets out of a YAML file: what stands behind a secret's key, whatever its form, and where its value
// occurs again, in comments too. Keys and structure stay. What is no YAML is not given away.
func (r *Redactor) YAML(data []byte) []byte {
	for how := range plainest + 1 {
		if out, err := r.tryYAML(data, how); err == nil {
			return out
		}
	}
	return []byte("# It cannot be read as YAML, so nobody can tell what in it is a secret.\n")
}

// How a file is written again, as much like the original as can be read again.
const (
	withComments = iota
	withoutComments
	plainest // one style for all, and no tags of its own
)

func (r *Redactor) tryYAML(data []byte, how int) ([]byte, error) {
	docs, err := readYAML(data)
	if err != nil {
		return nil, err
	}
	before, err := readYAML(data)
	if err != nil {
		return nil, err
	}
	y := yamlSecrets{r: r, nodes: map[*yaml.Node]bool{}, keys: map[*yaml.Node]bool{}}
	for _, d := range docs {
		y.find(d, false)
	}
	y.known = replacer(append(y.values(), r.secrets...))
	for _, d := range docs {
		y.redact(d, how)
	}
	out, err := writeYAML(docs)
	if err != nil {
		return nil, err
	}
	after, err := readYAML(out)
	if err != nil {
		return nil, err
	}
	if len(before) != len(after) {
		return nil, errors.New("it has other documents")
	}
	for i := range before {
		if !sameKeys(before[i], after[i]) {
			return nil, errors.New("it has other keys")
		}
	}
	return out, nil
}

// secretsIn are the secrets in a YAML file, or in what is to become one.
func (r *Redactor) secretsIn(data []byte) []string {
	docs, err := readYAML(data)
	if err != nil {
		var out []string
		for _, m := range r.line.FindAllStringSubmatch(string(data), -1) {
			out = append(out, strings.Trim(m[2], ` "'`))
		}
		return out
	}
	y := yamlSecrets{r: r, nodes: map[*yaml.Node]bool{}, keys: map[*yaml.Node]bool{}}
	for _, d := range docs {
		y.find(d, false)
	}
	return y.values()
}

// yamlSecrets are the nodes of a YAML tree that hold secrets.
type yamlSecrets struct {
	r     *Redactor
	nodes map[*yaml.Node]bool
	keys  map[*yaml.Node]bool
	known *strings.Replacer
}

// find collects the scalars behind secrets' keys. What a secret's key names by an alias is a secret where it stands,
// too.
func (y *yamlSecrets) find(n *yaml.Node, secret bool) {
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, c := range n.Content {
			y.find(c, secret)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind == yaml.ScalarNode {
				y.keys[k] = true
			} else {
				y.find(k, secret)
			}
			y.find(n.Content[i+1], secret || y.r.isSecret(k.Value))
		}
	case yaml.ScalarNode:
		if secret && n.Value != "" && n.Tag != "!!null" {
			y.nodes[n] = true
		}
	case yaml.AliasNode:
		if secret && !y.nodes[n] {
			y.nodes[n] = true // it may be part of what it names
			y.find(n.Alias, true)
		}
	}
}

// values are the secrets themselves.
func (y *yamlSecrets) values() []string {
	var out []string
	for n := range y.nodes {
		if n.Kind == yaml.ScalarNode {
			out = append(out, n.Value)
		}
	}
	return out
}

func (y *yamlSecrets) redact(n *yaml.Node, how int) {
	for _, c := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		if how != withComments {
			*c = ""
		} else if *c != "" {
			*c = y.r.line.ReplaceAllString(y.r.clean(*c, y.known), "${1}"+redacted)
		}
	}
	if n.Kind == yaml.ScalarNode && !y.keys[n] {
		was := n.Value
		if y.nodes[n] {
			n.Value = redacted
		} else if n.Tag != "!!merge" {
			n.Value = y.r.clean(n.Value, y.known)
		}
		if n.Value != was {
			n.Tag, n.Style = "!!str", n.Style&(yaml.LiteralStyle|yaml.FoldedStyle)
			if y.nodes[n] {
				n.Style = 0
			}
		}
	}
	if how == plainest {
		n.Style = 0
		if !strings.HasPrefix(n.Tag, "!!") {
			n.Tag = ""
		}
		if n.Tag == "!!null" {
			n.Value = "null"
		}
		if n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "") {
			n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
		}
	}
	for _, c := range n.Content {
		y.redact(c, how)
	}
}

func readYAML(data []byte) (docs []*yaml.Node, err error) {
	defer func() {
		if v := recover(); v != nil { // the library's parser
			err = fmt.Errorf("%v", v)
		}
	}()
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		switch err := dec.Decode(&n); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, &n)
	}
}

func writeYAML(docs []*yaml.Node) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil { // of a tree that the library does not expect
			err = fmt.Errorf("%v", v)
		}
	}()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, d := range docs {
		if err := enc.Encode(d); err != nil {
			return nil, err
		}
	}
	err = enc.Close()
	return b.Bytes(), err
}

// sameKeys says whether two trees have the same form and the same keys.
func sameKeys(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) || a.Anchor != b.Anchor || a.Kind == yaml.AliasNode &&
		a.Value != b.Value {
		return false
	}
	for i, c := range a.Content {
		o := b.Content[i]
		key := a.Kind == yaml.MappingNode && i%2 == 0 && c.Kind == yaml.ScalarNode
		if key && c.Value != o.Value && (c.Tag != "!!null" || o.Tag != "!!null") || !sameKeys(c, o) {
			return false
		}
	}
	return true
}
