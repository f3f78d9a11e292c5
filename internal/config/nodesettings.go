package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// NodeSettings are what the Node of a machine has in the cluster beside what its roles give it.
type NodeSettings struct {
	Labels map[string]string `json:"labels,omitempty"`
	Taints []Taint           `json:"taints,omitempty"`
}

// Taint keeps pods away that do not tolerate it.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"` // NoSchedule, PreferNoSchedule, NoExecute
}

// String is the taint as kubectl writes it.
func (t Taint) String() string {
	if t.Value == "" {
		return t.ID()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// ID is the key and the effect: a node has one taint of each.
func (t Taint) ID() string { return t.Key + ":" + t.Effect }

const (
	labelName  = `[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?`
	labelKey   = `(?:` + subdomain + `/)?` + labelName
	taintsText = `(` + labelKey + `)(?:=((?:` + labelName + `)?))?:(NoSchedule|PreferNoSchedule|NoExecute)`
)

var (
	ruleLabel      = pattern("config.label", 253+1+63, labelKey)
	ruleLabelValue = pattern("config.label-value", 63, `(?:`+labelName+`)?`)
	ruleTaint      = pattern("config.taint", 253+1+63+1+63+20, taintsText)
	taintRE        = regexp.MustCompile(`\A` + taintsText + `\z`)
)

// LabelOf reads KEY=VALUE, as kubectl takes it.
func LabelOf(text string) (key, value string, code string) {
	key, value, _ = strings.Cut(text, "=")
	switch {
	case !ruleLabel.ok(key):
		return "", "", ruleLabel.code
	case !ruleLabelValue.ok(value):
		return "", "", ruleLabelValue.code
	case isReserved(key):
		return "", "", "config.label-reserved"
	}
	return key, value, ""
}

// TaintOf reads KEY=VALUE:EFFECT or KEY:EFFECT, as kubectl takes it.
func TaintOf(text string) (t Taint, code string) {
	m := taintRE.FindStringSubmatch(text)
	switch {
	case m == nil || !ruleTaint.ok(text):
		return Taint{}, ruleTaint.code
	case isReserved(m[1]):
		return Taint{}, "config.taint-reserved"
	}
	return Taint{Key: m[1], Value: m[2], Effect: m[3]}, ""
}

// isReserved reports whether a key of a label or a taint is for Kubernetes, or for Eggo's own roles. What Kubernetes
// leaves to administrators is not.
func isReserved(key string) bool {
	domain, name, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	switch domain {
	case "node-role.kubernetes.io":
		return name == "control-plane" || name == "master"
	case "node-restriction.kubernetes.io":
		return false
	case "topology.kubernetes.io":
		return name != "zone" && name != "region"
	}
	if key == "node.kubernetes.io/exclude-from-external-load-balancers" {
		return false
	}
	for _, own := range []string{"kubernetes.io", "k8s.io", "eggo.isula.org"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return true
		}
	}
	return false
}

// nodeSettings takes eggo.nodes: labels and taints by the names of machines.
func (l *loader) nodeSettings(list map[string]NodeSpec) {
	if len(list) == 0 {
		return
	}
	l.c.Eggo.Nodes = map[string]NodeSettings{}
	for name, s := range list {
		path := "eggo.nodes." + event.Clean(clip(name))
		l.c.Eggo.Nodes[name] = NodeSettings{Labels: l.labels(below(path, "labels"), s.Labels),
			Taints: l.taints(below(path, "taints"), s.Taints)}
	}
}

func (l *loader) labels(path string, list map[string]string) map[string]string {
	out := map[string]string{}
	for _, label := range inOrder(l, path, list) {
		at := l.spot(below(path, event.Clean(clip(label))))
		if _, ok := l.line(at, list[label]); !ok || l.bad[below(path, event.Clean(clip(label)))] {
			continue
		}
		key, value, code := LabelOf(label + "=" + list[label])
		if strings.Contains(label, "=") {
			code = ruleLabel.code
		}
		switch code {
		case "":
			out[key] = value
		case ruleLabelValue.code:
			l.err(at, code, "value", clip(list[label]))
		default:
			l.errAt(l.nameAt(path, label), at.path, code, "value", clip(label))
		}
	}
	return out
}

func (l *loader) taints(path string, list []string) (out []Taint) {
	for i, text := range list {
		at := l.spot(itemKey(path, i))
		if _, ok := l.line(at, text); !ok || text == "" {
			continue
		}
		t, code := TaintOf(text)
		switch {
		case code != "":
			l.err(at, code, "value", clip(text))
		case slices.ContainsFunc(out, func(o Taint) bool { return o.ID() == t.ID() }):
			l.err(at, "config.taint-twice", "value", t.ID())
		default:
			out = append(out, t)
		}
	}
	return out
}

// checkNodeSettings refuses settings of machines that have no Node, and warns of those that the file does not have.
func (l *loader) checkNodeSettings() {
	for _, name := range slices.Sorted(maps.Keys(l.c.Eggo.Nodes)) {
		key := "eggo.nodes." + event.Clean(clip(name))
		i := slices.IndexFunc(l.c.Nodes, func(n Node) bool { return n.Name == name })
		switch {
		case i < 0:
			l.warnAt(l.where(key), key, "config.node-unknown", "value", clip(name))
		case !l.c.Nodes[i].Has(bundle.ControlPlane) && !l.c.Nodes[i].Has(bundle.Worker):
			l.errAt(l.where(key), key, "config.node-no-kubelet", "value", clip(name))
		}
	}
}

// With returns the labels and taints of a node with more of them. A label takes the place of the one with its key, a
// taint of the one with its key and effect.
func (s NodeSpec) With(more NodeSettings) NodeSpec {
	labels := map[string]string{}
	maps.Copy(labels, s.Labels)
	maps.Copy(labels, more.Labels)
	out := NodeSpec{Labels: labels, Taints: slices.Clone(s.Taints)}
	for _, fresh := range more.Taints {
		out.Taints = append(slices.DeleteFunc(out.Taints, func(text string) bool {
			t, _ := TaintOf(text)
			return t.ID() == fresh.ID()
		}), fresh.String())
	}
	return out
}

// AddNodeSettings gives machines of a deploy.yaml labels and taints in eggo.nodes, beside those that they have. The
// result has been loaded again, as that of AddNodes.
func AddNodeSettings(data []byte, file string, more map[string]NodeSettings) ([]byte, Problems, error) {
	t, err := readText(data, file)
	if err != nil {
		return nil, nil, err
	}
	spec, was, problems := LoadSpec(data, file)
	if was == nil {
		return nil, problems, nil
	}
	all := mapIn(asMap(t.eggo()), "nodes")
	for _, name := range slices.Sorted(maps.Keys(more)) {
		own, merged := mapIn(all, name), spec.Eggo.Nodes[name].With(more[name])
		if len(more[name].Labels) > 0 {
			labels := mapIn(own, "labels")
			for _, k := range slices.Sorted(maps.Keys(more[name].Labels)) {
				setIn(labels, k, merged.Labels[k])
			}
		}
		if len(more[name].Taints) > 0 {
			list := valueIn(own, "taints")
			*list = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			for _, text := range merged.Taints {
				list.Content = append(list.Content, textNode(text))
			}
		}
	}
	return t.result(file, was.Nodes)
}

// eggo is the map of our own keys, which is made if it is not there; it is taken for changed.
func (t *text) eggo() *yaml.Node {
	key, eggo := t.pair("eggo")
	if key == nil {
		key, eggo = textNode("eggo"), &yaml.Node{}
		t.after[key] = t.root.Content[len(t.root.Content)-2]
		t.root.Content = append(t.root.Content, key, eggo)
	}
	t.changed[key] = true
	return eggo
}

// valueIn is the value of a key of a map, which is made if it is not there.
func valueIn(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	n := &yaml.Node{}
	m.Content = append(m.Content, textNode(key), n)
	return n
}

func setIn(m *yaml.Node, key, value string) { valueIn(m, key).SetString(value) }
