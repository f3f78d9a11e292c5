package clusterspec

import (
	"maps"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/config"
)

// edgeLabel is what makes a worker an edge node.
const edgeLabel = "node-role.kubernetes.io/edge"

// plain is the node with the label of edge nodes as a role.
func (n Node) plain() Node {
	if _, is := n.Labels[edgeLabel]; !is {
		return n
	}
	if n.Labels = maps.Clone(n.Labels); !n.Has(Edge) {
		n.Roles = append(slices.Clone(n.Roles), Edge)
	}
	if delete(n.Labels, edgeLabel); len(n.Labels) == 0 {
		n.Labels = nil
	}
	return n
}

// Settings are the labels and taints of a node, which the rules have taken.
func (n Node) Settings() config.NodeSettings {
	s, _ := n.settings("")
	return s
}

// settings are labels and taints, and what is wrong with them by the rules of deploy.yaml.
func (n Node) settings(at string) (config.NodeSettings, []Finding) {
	var out []Finding
	s := config.NodeSettings{Labels: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		name, value, code := config.LabelOf(key + "=" + n.Labels[key])
		if code != "" || name != key || value != n.Labels[key] {
			out = append(out, wrong(at+".labels", "label", "name", n.Name, "label", key+"="+n.Labels[key]))
		}
		s.Labels[key] = n.Labels[key]
	}
	if n.Has(Edge) {
		s.Labels[edgeLabel] = ""
	}
	for i, text := range n.Taints {
		t, code := config.TaintOf(text)
		if code != "" {
			out = append(out, wrong(at+".taints["+strconv.Itoa(i)+"]", "taint", "name", n.Name, "taint", text))
		}
		s.Taints = append(s.Taints, t)
	}
	return s, out
}

// relabels says whether a node is to have other labels or taints than it has, which was is plain.
func (n Node) relabels(was Node) bool {
	return n.Labels != nil && !maps.Equal(n.plain().Labels, was.Labels) ||
		n.Taints != nil && !slices.Equal(n.Taints, was.Taints)
}

// labeled gives a deploy.yaml the labels and taints of nodes.
func labeled(text []byte, name string, nodes []Node) ([]byte, config.Problems, error) {
	more := map[string]config.NodeSettings{}
	for _, n := range nodes {
		if s := n.Settings(); len(s.Labels)+len(s.Taints) > 0 {
			more[n.Name] = s
		}
	}
	if len(more) == 0 {
		return text, nil, nil
	}
	return config.AddNodeSettings(text, name, more)
}
