package clusterspec

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// labeled gives a Spec the labels and taints of nodes, beside those that it has.
func labeled(s *config.Spec, nodes []Node) {
	for _, n := range nodes {
		own := n.Settings()
		if len(own.Labels)+len(own.Taints) == 0 {
			continue
		}
		if s.Eggo.Nodes == nil {
			s.Eggo.Nodes = map[string]config.NodeSpec{}
		}
		s.Eggo.Nodes[n.Name] = s.Eggo.Nodes[n.Name].With(own)
	}
}

// labelAt returns the part of a request that a key below eggo.nodes comes from: that of the node with the longest name
// that fits, since names have dots, too.
func labelAt(key string, nodes []Node) string {
	longest, at := -1, ""
	for i, n := range nodes {
		field, its := strings.CutPrefix(key, "eggo.nodes."+n.Name)
		if !its || field != "" && field[0] != '.' || len(n.Name) <= longest {
			continue
		}
		longest, at = len(n.Name), "body.nodes["+strconv.Itoa(i)+"].labels"
		if strings.HasPrefix(field, ".taints") {
			at = strings.TrimSuffix(at, "labels") + "taints"
		}
	}
	return cmp.Or(at, location(key, ""))
}
