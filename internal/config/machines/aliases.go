package machines

import (
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"
)

// mostCopied is how many values the aliases of one text may stand for: a few lines can stand for billions.
const mostCopied = 100_000

var errAliases = errors.New("aliases that stand for too much")

// aliases puts what aliases stand for in their place, and what merge keys name into their maps.
type aliases struct {
	copied int          // values so far
	within []*yaml.Node // anchors that are being copied: none may stand for itself
	err    error        // errAliases, once there is too much
}

// value is a node without aliases in it.
func (x *aliases) value(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return x.copy(n)
	}
	for i, c := range n.Content {
		n.Content[i] = x.value(c)
	}
	if n.Kind == yaml.MappingNode {
		merge(n)
	}
	return n
}

// copy is a node of its own for an alias, or for a part of what one stands for.
func (x *aliases) copy(n *yaml.Node) *yaml.Node {
	x.copied++
	if x.copied > mostCopied || n.Kind == yaml.AliasNode && slices.Contains(x.within, n.Alias) {
		x.err = errAliases
	}
	if x.err != nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}
	}
	if n.Kind == yaml.AliasNode {
		x.within = append(x.within, n.Alias)
		defer func() { x.within = x.within[:len(x.within)-1] }()
		return x.copy(n.Alias)
	}
	own := *n
	own.Content = nil
	for _, c := range n.Content {
		own.Content = append(own.Content, x.copy(c))
	}
	if own.Kind == yaml.MappingNode {
		merge(&own)
	}
	return &own
}

// merge gives a map the pairs of those that its key << names and that it has not itself; of several maps the first
// counts.
func merge(n *yaml.Node) {
	var own, more []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case key.Tag != "!!merge":
			own = append(own, key, v)
		case v.Kind == yaml.SequenceNode:
			more = append(more, v.Content...)
		default:
			more = append(more, v)
		}
	}
	had := map[string]bool{}
	for i := 0; i < len(own); i += 2 {
		had[own[i].Value] = true
	}
	for _, m := range more {
		if m.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i]; !had[key.Value] {
				had[key.Value] = true
				own = append(own, key, m.Content[i+1])
			}
		}
	}
	n.Content = own
}
