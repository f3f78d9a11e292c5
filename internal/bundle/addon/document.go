package addon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var (
	errSize  = errors.New("too many nodes")
	errDepth = errors.New("nested too deeply, or an alias within its own anchor")
	errKey   = errors.New("a key that is no scalar")
)

// repeated is a key that a map has twice.
type repeated struct {
	key  string
	line int
}

func (r *repeated) Error() string {
	return fmt.Sprintf("line %d: the key %s is there twice", r.line, strconv.Quote(r.key))
}

// documents reads a stream of YAML (JSON is YAML) within the bounds. Empty documents are nil, so that an index counts
// them. Aliases are left as they are: who follows them has to count.
func documents(data []byte) ([]*yaml.Node, error) {
	if len(data) > maxManifest || marks(data) > maxMarks {
		return nil, errSize
	}
	var out []*yaml.Node
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Tag == "!!null":
			out = append(out, nil)
			continue
		}
		if err := check(doc.Content[0], 0); err != nil {
			return nil, err
		}
		out = append(out, doc.Content[0])
	}
}

// marks counts the signs that begin a node, before anything is parsed: an upper bound for half the nodes.
func marks(data []byte) int {
	n := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{', '&', '*':
			n++
		case ':', '-', '?':
			if i+1 == len(data) || data[i+1] <= ' ' {
				n++
			}
		}
	}
	return n
}

// check refuses what Kubernetes' own parser would: keys that are there twice or are no scalars; and too deep a nesting.
func check(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]struct{}, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind == yaml.AliasNode {
				k = k.Alias
			}
			if k.Kind != yaml.ScalarNode {
				return errKey
			}
			if _, twice := seen[k.Value]; twice {
				return &repeated{k.Value, k.Line}
			}
			seen[k.Value] = struct{}{}
		}
	}
	for _, c := range n.Content {
		if err := check(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// explain makes a fault of what documents or a walk returned. What looks like a template that nobody rendered is said
// to be one.
func explain(name string, data []byte, err error) error {
	var twice *repeated
	switch f := (*event.Fault)(nil); {
	case errors.As(err, &f):
		return f
	case errors.Is(err, errSize):
		return fault("addon.too-large", err, "addon", name, "limit", mib(maxManifest))
	case errors.As(err, &twice):
		return fault("addon.duplicate-key", nil, "addon", name, "key", twice.key, "line", strconv.Itoa(twice.line))
	case bytes.Contains(data, []byte("{{")):
		line := 1 + bytes.Count(data[:bytes.Index(data, []byte("{{"))], []byte("\n"))
		return fault("addon.template", err, "addon", name, "line", strconv.Itoa(line))
	}
	return fault("addon.yaml", err, "addon", name)
}

// field of a map.
type field struct {
	key   string
	value *yaml.Node
}

// walker looks at nodes and counts how many.
type walker struct{ steps int }

func (w *walker) spend(n int) error {
	if w.steps += n; w.steps > maxSteps {
		return errSize
	}
	return nil
}

func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// fields of a map, in their order, with those that merge keys (<<) bring in behind them.
func (w *walker) fields(n *yaml.Node, depth int) ([]field, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	if n = target(n); n.Kind != yaml.MappingNode {
		return nil, nil
	}
	if err := w.spend(1 + len(n.Content)/2); err != nil {
		return nil, err
	}
	out := make([]field, 0, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			if v := target(n.Content[i+1]); v.Kind == yaml.SequenceNode {
				merged = append(merged, v.Content...)
			} else {
				merged = append(merged, v)
			}
			continue
		}
		out = append(out, field{target(n.Content[i]).Value, target(n.Content[i+1])})
	}
	if merged == nil {
		return out, nil
	}
	own := map[string]bool{}
	for _, f := range out {
		own[f.key] = true
	}
	for _, m := range merged {
		more, err := w.fields(m, depth+1)
		if err != nil {
			return nil, err
		}
		for _, f := range more {
			if !own[f.key] {
				own[f.key], out = true, append(out, f)
			}
		}
	}
	return out, nil
}

// text is the value of a scalar field of type string, "" if there is none.
func text(fields []field, key string) string {
	if n := get(fields, key); n != nil && n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return n.Value
	}
	return ""
}

func get(fields []field, key string) *yaml.Node {
	for _, f := range fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// within is the path of a field; it is cut where it gets too long to be shown.
func within(path, key string) string {
	switch {
	case len(path)+len(key) > maxPath:
		return path
	case key == "" || strings.ContainsAny(key, ".[]\"* "):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func at(path string, i int) string {
	if len(path) > maxPath {
		return path
	}
	return path + "[" + strconv.Itoa(i) + "]"
}
