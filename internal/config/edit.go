package config

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// text is a deploy.yaml that is being edited. Only the top-level keys that change are rewritten, from their nodes;
// everything else stays letter by letter, comments and order with it.
type text struct {
	data    []byte
	root    *yaml.Node
	changed map[*yaml.Node]bool // keys of the root whose value is another now
	after   map[*yaml.Node]*yaml.Node
}

// AddNodes gives the machines their places in the lists of a deploy.yaml of either layout: one that is there already,
// by its address, gets the roles that it lacks. Etcd members are listed only if the file lists them. The result has
// been loaded again: the problems are those of the new text, and the error is a fault of the text that was given.
func AddNodes(data []byte, file string, add []Node) ([]byte, Problems, error) {
	t, err := readText(data, file)
	if err != nil {
		return nil, nil, err
	}
	explicit := len(t.list("etcds")) > 0
	was, problems := Load(data, file)
	if was == nil {
		return nil, problems, nil
	}
	for _, n := range add {
		for _, role := range n.Roles {
			switch role {
			case bundle.ControlPlane:
				t.add("masters", n)
			case bundle.Worker:
				t.add(t.workers(), n)
			case bundle.Etcd:
				if !explicit && !n.Has(bundle.ControlPlane) {
					// The control planes are the members so far, without being listed.
					for _, m := range was.With(bundle.Etcd) {
						t.add("etcds", m)
					}
					explicit = true
				}
				if explicit {
					t.add("etcds", n)
				}
			case bundle.LoadBalancer:
				return nil, nil, event.NewFault(event.ClassUsage, "config.add-balancer", nil, "file", file)
			}
		}
	}
	return t.result(file, nodesWith(was, add))
}

// RemoveNodes takes the machines with these names out of all lists. An endpoint that named one of them names what is
// the default without them.
func RemoveNodes(data []byte, file string, names []string) ([]byte, Problems, error) {
	t, err := readText(data, file)
	if err != nil {
		return nil, nil, err
	}
	was, problems := Load(data, file)
	if was == nil {
		return nil, problems, nil
	}
	var gone, stay []Node
	for _, n := range was.Nodes {
		if slices.Contains(names, n.Name) {
			gone = append(gone, n)
		} else {
			stay = append(stay, n)
		}
	}
	for _, key := range []string{"masters", "nodes", "workers", "etcds"} {
		for _, n := range gone {
			t.remove(key, n)
		}
	}
	t.removeOwn(gone)
	host, _, _ := net.SplitHostPort(was.Endpoint)
	if key, value := t.pair("apiserver-endpoint"); value != nil && !isNull(value) {
		for _, n := range gone {
			if host == n.IP.String() || host == n.Name {
				value.Value = endpointWithout(was, stay)
				t.changed[key] = true
			}
		}
	}
	return t.result(file, stay)
}

// endpointWithout is where the API server is reached by default when only these machines are left.
func endpointWithout(c *Cluster, nodes []Node) string {
	for role, port := range map[bundle.Role]int{bundle.LoadBalancer: c.LBPort} {
		for _, n := range nodes {
			if n.Has(role) {
				return net.JoinHostPort(n.IP.String(), strconv.Itoa(port))
			}
		}
	}
	for _, n := range nodes {
		if n.Has(bundle.ControlPlane) {
			return net.JoinHostPort(n.IP.String(), APIPort)
		}
	}
	return c.Endpoint
}

// AbsolutePaths makes the paths of bundles absolute that are relative to dir, so that the text means the same in
// another directory.
func AbsolutePaths(data []byte, file, dir string) ([]byte, error) {
	c, _ := Load(data, file)
	t, err := readText(data, file)
	if err != nil || c == nil {
		return data, err
	}
	paths := append(slices.Collect(maps.Values(c.Source.Bundles)), c.Source.More...)
	var visit func(n *yaml.Node) bool
	visit = func(n *yaml.Node) (changed bool) {
		if n.Kind == yaml.ScalarNode && slices.Contains(paths, n.Value) && !filepath.IsAbs(n.Value) &&
			!strings.HasPrefix(n.Value, "~/") {
			n.Value = filepath.Join(dir, n.Value)
			return true
		}
		for i, sub := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				changed = visit(sub) || changed
			}
		}
		return changed
	}
	for _, name := range []string{"package-src", "install", "eggo"} {
		if key, value := t.pair(name); value != nil && visit(value) {
			t.changed[key] = true
		}
	}
	if len(t.changed) == 0 {
		return t.data, nil
	}
	out, _, err := t.result(file, c.Nodes)
	return out, err
}

// nodesWith are the cluster's nodes and the others, roles together.
func nodesWith(c *Cluster, add []Node) []Node {
	var out []Node
	for _, n := range append(slices.Clone(c.Nodes), add...) {
		i := slices.IndexFunc(out, func(o Node) bool { return o.IP == n.IP })
		if i < 0 {
			n.Roles = slices.Clone(n.Roles)
			out = append(out, n)
			continue
		}
		for _, role := range n.Roles {
			if !out[i].Has(role) {
				out[i].Roles = append(out[i].Roles, role)
			}
		}
	}
	return out
}

func readText(data []byte, file string) (*text, error) {
	fail := func(err error) error { return event.NewFault(event.ClassUsage, "config.edit", err, "file", file) }
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, bom), []byte("\r\n"), []byte("\n"))
	data, _, _ = slashComments(data)
	doc, _, err := decodeYAML(data)
	if err != nil {
		return nil, fail(err)
	}
	if doc == nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fail(errors.New("not a map"))
	}
	root := doc.Content[0]
	for i := 1; i < len(root.Content); i += 2 {
		root.Content[i] = trimFoot(root.Content[i])
	}
	return &text{data: data, root: root, changed: map[*yaml.Node]bool{}, after: map[*yaml.Node]*yaml.Node{}}, nil
}

// pair is a top-level key with its value.
func (t *text) pair(name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(t.root.Content); i += 2 {
		if t.root.Content[i].Value == name {
			return t.root.Content[i], t.root.Content[i+1]
		}
	}
	return nil, nil
}

func (t *text) list(name string) []*yaml.Node {
	if _, v := t.pair(name); v != nil && v.Kind == yaml.SequenceNode {
		return v.Content
	}
	return nil
}

// workers is the name that the list of workers has in this file, or in its layout.
func (t *text) workers() string {
	for _, name := range []string{"workers", "nodes"} {
		if key, _ := t.pair(name); key != nil {
			return name
		}
	}
	if key, _ := t.pair("install"); key != nil {
		return "workers"
	}
	return "nodes"
}

func (t *text) add(list string, n Node) {
	if slices.ContainsFunc(t.list(list), func(item *yaml.Node) bool { return isMachine(item, n) }) {
		return
	}
	key, value := t.pair(list)
	if key == nil {
		key, value = t.insert(list)
	}
	if value.Kind != yaml.SequenceNode {
		*value = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", LineComment: value.LineComment}
	}
	item := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, kv := range [][2]string{{"name", n.Name}, {"ip", n.IP.String()}, {"port", strconv.Itoa(n.Port)},
		{"arch", n.Arch}} {
		item.Content = append(item.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: kv[0]},
			&yaml.Node{Kind: yaml.ScalarNode, Value: kv[1]})
	}
	// Machines are written as those that are there.
	for _, name := range []string{list, "masters"} {
		if like := t.list(name); len(like) > 0 {
			item.Style = like[0].Style
			break
		}
	}
	if len(value.Content) == 0 {
		value.Style = 0
	}
	value.Content = append(value.Content, item)
	t.changed[key] = true
}

// insert makes an empty list behind the last list of machines that is there.
func (t *text) insert(name string) (key, value *yaml.Node) {
	key, value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name},
		&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	at := len(t.root.Content) - 2
	for i := 0; i+1 < len(t.root.Content); i += 2 {
		if slices.Contains([]string{"masters", "nodes", "workers", "etcds"}, t.root.Content[i].Value) {
			at = i
		}
	}
	t.after[key] = t.root.Content[at]
	t.root.Content = slices.Insert(t.root.Content, at+2, key, value)
	return key, value
}

func (t *text) remove(list string, n Node) {
	key, value := t.pair(list)
	if value == nil || value.Kind != yaml.SequenceNode {
		return
	}
	before := len(value.Content)
	value.Content = slices.DeleteFunc(value.Content, func(item *yaml.Node) bool { return isMachine(item, n) })
	if len(value.Content) == before {
		return
	}
	if len(value.Content) == 0 {
		value.Style = yaml.FlowStyle
	}
	t.changed[key] = true
}

// isMachine reports whether an entry of a list is that machine.
func isMachine(item *yaml.Node, n Node) bool {
	for i := 0; i+1 < len(item.Content); i += 2 {
		if item.Content[i].Value == "ip" {
			a, err := netip.ParseAddr(item.Content[i+1].Value)
			return err == nil && a.Unmap() == n.IP
		}
	}
	return false
}

// result is the new text, proved by loading it: its machines are want.
func (t *text) result(file string, want []Node) ([]byte, Problems, error) {
	return t.proved(file, func(c *Cluster) error {
		if !sameNodes(c.Nodes, want) {
			return errors.New("the lists of machines cannot be written")
		}
		return nil
	})
}

// proved is the new text, whose cluster is right.
func (t *text) proved(file string, right func(*Cluster) error) ([]byte, Problems, error) {
	if len(t.changed) == 0 {
		_, problems := Load(t.data, file)
		return t.data, problems, nil
	}
	out, err := t.spliced()
	if err == nil {
		if c, problems := Load(out, file); c != nil && right(c) == nil {
			return out, problems, nil
		}
	}
	// A text whose lines are not what they seem (a flow map, an end marker) is written as a whole.
	if out, err = t.encode(t.root.Content, false); err != nil {
		return nil, nil, event.NewFault(event.ClassUsage, "config.edit", err, "file", file)
	}
	c, problems := Load(out, file)
	if c != nil {
		if err := right(c); err != nil {
			return nil, nil, event.NewFault(event.ClassUsage, "config.edit", err, "file", file)
		}
	}
	return out, problems, nil
}

func sameNodes(a, b []Node) bool {
	if len(a) != len(b) {
		return false
	}
	for _, n := range a {
		i := slices.IndexFunc(b, func(o Node) bool { return o.IP == n.IP })
		if i < 0 || b[i].Name != n.Name || b[i].Port != n.Port || b[i].Arch != n.Arch ||
			len(b[i].Roles) != len(n.Roles) {
			return false
		}
		if slices.ContainsFunc(n.Roles, func(r bundle.Role) bool { return !b[i].Has(r) }) {
			return false
		}
	}
	return true
}

// spliced puts the changed keys in the place of their lines.
func (t *text) spliced() ([]byte, error) {
	if t.root.Style&yaml.FlowStyle != 0 {
		return nil, errors.New("flow style")
	}
	lines := strings.SplitAfter(string(t.data), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n"
	}
	next := len(lines) + 1 // the line of the key behind
	for i := len(t.root.Content) - 2; i >= 0; i -= 2 {
		key, value := t.root.Content[i], t.root.Content[i+1]
		at := key
		if before := t.after[key]; before != nil {
			at = before
		}
		end := next - 1
		for end > at.Line && blank(lines[end-1]) {
			end--
		}
		if t.changed[key] {
			text, err := t.encode([]*yaml.Node{key, value}, key.Line > 0 && compact(key, value))
			if err != nil {
				return nil, err
			}
			start := key.Line - 1
			if key.Line == 0 {
				start = end
			}
			lines = slices.Replace(lines, start, end, string(text))
		}
		if next = key.Line; next == 0 {
			next = end + 1 // what was inserted is no part of the key before
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

// blank reports whether a line holds nothing but a comment.
func blank(line string) bool {
	s := strings.TrimSpace(line)
	return s == "" || strings.HasPrefix(s, "#")
}

// compact reports whether the dashes of the list stand under the first letter of its key.
func compact(key, value *yaml.Node) bool {
	return value.Kind == yaml.SequenceNode && value.Column == key.Column
}

// encode writes pairs of the root. Comments around a pair are in the text already.
func (t *text) encode(pairs []*yaml.Node, compact bool) ([]byte, error) {
	if len(pairs) == 2 {
		key := *pairs[0]
		key.HeadComment, key.FootComment = "", ""
		pairs = []*yaml.Node{&key, pairs[1]}
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if compact {
		e.CompactSeqIndent()
	}
	if err := e.Encode(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs}); err != nil {
		return nil, err
	}
	err := e.Close()
	return b.Bytes(), err
}

// trimFoot takes away the comments at the very end of a value: they stand in lines that stay.
func trimFoot(n *yaml.Node) *yaml.Node {
	c := *n
	c.FootComment = ""
	if last := len(c.Content) - 1; last >= 0 {
		c.Content = slices.Clone(c.Content)
		c.Content[last] = trimFoot(c.Content[last])
		if c.Kind == yaml.MappingNode {
			key := *c.Content[last-1]
			key.FootComment = ""
			c.Content[last-1] = &key
		}
	}
	return &c
}
