package addon

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Hint says where objects of a kind carry the names of images that the API does not tell: in custom resources,
// ConfigMaps, arguments. What it points at has to be there only where the object has it, but must then be an image's
// name (also behind an argument's =), a list of them, a map of repository and tag, or the text of a manifest whose
// images count.
type Hint struct {
	Kind       string // "" is any
	APIVersion string // group or group/version; "" is any
	Path       string // spec.images[*].name, data["config.yaml"], spec.args[2]; * alone is every field of a map
}

// String is the hint as messages show it.
func (h Hint) String() string {
	s := h.Path
	if h.Kind != "" {
		s = h.Kind + " " + s
	}
	if h.APIVersion != "" {
		s = h.APIVersion + " " + s
	}
	return s
}

// Hints are those for custom resources in wide use whose definition says that the field is an image's name:
// prometheus-operator (https://prometheus-operator.dev/docs/api-reference/api/) and Rook
// (https://rook.io/docs/rook/latest/CRDs/specification/).
func Hints() []Hint {
	return []Hint{
		{"Alertmanager", "monitoring.coreos.com", "spec.image"},
		{"Prometheus", "monitoring.coreos.com", "spec.image"},
		{"PrometheusAgent", "monitoring.coreos.com", "spec.image"},
		{"ThanosRuler", "monitoring.coreos.com", "spec.image"},
		{"CephCluster", "ceph.rook.io", "spec.cephVersion.image"},
	}
}

// Check says whether the hint's path can be read; the fault is "addon.hint".
func (h Hint) Check() error {
	_, err := h.steps()
	return err
}

// step of a path: a field, every field, an element, every element.
type step struct {
	field string
	index int // -1: every one
	list  bool
	every bool
}

const maxHint = 1024 // bytes of a path

func (h Hint) steps() ([]step, error) {
	bad := func(why string) ([]step, error) {
		return nil, fault("addon.hint", errors.New(why), "hint", h.String())
	}
	p := strings.TrimPrefix(strings.TrimPrefix(h.Path, "$"), ".")
	if p == "" || len(p) > maxHint {
		return bad("no path")
	}
	var out []step
	for p != "" {
		switch {
		case p[0] == '.':
			if len(out) == 0 || len(p) == 1 || p[1] == '.' || p[1] == '[' {
				return bad("an empty field")
			}
			p = p[1:]
			fallthrough
		case p[0] != '[':
			n := strings.IndexAny(p, ".[")
			if n < 0 {
				n = len(p)
			}
			out, p = append(out, step{field: p[:n], every: p[:n] == "*"}), p[n:]
		case strings.HasPrefix(p, `["`):
			q, err := strconv.QuotedPrefix(p[1:])
			if err != nil || !strings.HasPrefix(p[1+len(q):], "]") {
				return bad("a quoted field has no end")
			}
			name, err := strconv.Unquote(q)
			if err != nil {
				return bad("a quoted field cannot be read")
			}
			out, p = append(out, step{field: name}), p[len(q)+2:]
		default:
			in, rest, ok := strings.Cut(p[1:], "]")
			n, err := strconv.ParseUint(in, 10, 16)
			if !ok || err != nil && in != "*" {
				return bad("brackets hold a number, * or a quoted field")
			}
			s := step{index: int(n), list: true}
			if in == "*" {
				s.index = -1
			}
			out, p = append(out, s), rest
		}
	}
	return out, nil
}

func (h Hint) matches(kind, apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return (h.Kind == "" || h.Kind == kind) && (h.APIVersion == "" || h.APIVersion == apiVersion ||
		h.APIVersion == group && group != apiVersion)
}

// place is a node and where it stands.
type place struct {
	path string
	node *yaml.Node
}

// follow finds what a path points at; a path that leads nowhere finds nothing.
func (w *walker) follow(from *yaml.Node, steps []step) ([]place, error) {
	now := []place{{"", from}}
	for _, s := range steps {
		var next []place
		for _, p := range now {
			if s.list {
				if p.node.Kind != yaml.SequenceNode {
					continue
				}
				if err := w.spend(len(p.node.Content)); err != nil {
					return nil, err
				}
				for i, c := range p.node.Content {
					if s.index < 0 || s.index == i {
						next = append(next, place{at(p.path, i), target(c)})
					}
				}
				continue
			}
			fields, err := w.fields(p.node, 0)
			if err != nil {
				return nil, err
			}
			for _, f := range fields {
				if s.every || f.key == s.field {
					next = append(next, place{within(p.path, f.key), f.value})
				}
			}
		}
		if err := w.spend(len(next)); err != nil {
			return nil, err
		}
		now = next
	}
	return now, nil
}
