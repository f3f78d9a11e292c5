package config

import (
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SourceLine is a line of a deploy.yaml that names bundles and has to name others.
type SourceLine struct {
	Line  int    // 0: there is none yet
	Key   string // package-src.x86src
	Value string // "": the line has to go
}

// SetSources has a deploy.yaml of either layout name these bundles and no others. The result has been loaded again: the
// problems are those of the new text, and the error is a fault of the text that was given.
func SetSources(data []byte, file string, to PackageSource) ([]byte, Problems, error) {
	t, err := readText(data, file)
	if err != nil {
		return nil, nil, err
	}
	was, problems := Load(data, file)
	if was == nil {
		return nil, problems, nil
	}
	t.setSources(to, "")
	return t.proved(file, func(c *Cluster) error {
		if !sameNodes(c.Nodes, was.Nodes) || !sameSources(c.Source, to) {
			return errors.New("the paths of the bundles cannot be written")
		}
		return nil
	})
}

// SourceLines are the lines that SetSources would change. Paths of the text are relative to the file's directory.
func SourceLines(data []byte, file string, to PackageSource) []SourceLine {
	t, err := readText(data, file)
	if err != nil {
		return nil
	}
	return t.setSources(to, filepath.Dir(file))
}

// SameButSources reports whether two deploy.yaml are the same to a cluster except for their bundles.
func SameButSources(a, b []byte, file string) bool {
	x, _ := Load(a, file)
	y, _ := Load(b, file)
	if x == nil || y == nil {
		return false
	}
	for _, c := range []*Cluster{x, y} {
		c.Source = PackageSource{DstPath: c.Source.DstPath}
		c.given = nil // with their lines
	}
	return reflect.DeepEqual(x, y)
}

func sameSources(a, b PackageSource) bool {
	return maps.Equal(a.Bundles, b.Bundles) && slices.Equal(a.More, b.More)
}

// setSources gives what it changes. A path that is the same from dir is not changed; "" is no directory.
func (t *text) setSources(to PackageSource, dir string) []SourceLine {
	same := func(is, want string) bool {
		return is == want || dir != "" && !filepath.IsAbs(is) && filepath.Join(dir, is) == want
	}
	top, prefix, paths := t.bundlePaths()
	var out []SourceLine
	note := func(line int, key, value string) {
		out = append(out, SourceLine{line, prefix + key, value})
		t.changed[top] = true
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(paths.Content); {
		key, value := paths.Content[i], paths.Content[i+1]
		arch := archOf(key.Value)
		want := to.Bundles[arch]
		switch {
		case arch == "":
		case want == "" || seen[arch]:
			paths.Content = slices.Delete(paths.Content, i, i+2)
			note(key.Line, key.Value, "")
			continue
		default:
			if seen[arch] = true; !same(value.Value, want) {
				setScalar(value, want)
				note(key.Line, key.Value, want)
			}
		}
		i += 2
	}
	for _, arch := range slices.Sorted(maps.Keys(to.Bundles)) {
		if to.Bundles[arch] == "" || seen[arch] {
			continue
		}
		name := arch
		if top.Value == "package-src" {
			name = strings.TrimPrefix(BundleKey(arch), "package-src.")
		}
		appendPair(paths, name, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: to.Bundles[arch]})
		note(0, name, to.Bundles[arch])
	}
	return append(out, t.setMore(to.More, same)...)
}

// bundlePaths are the map of the bundles' paths, by architecture, and the top-level key that it is of.
func (t *text) bundlePaths() (top *yaml.Node, prefix string, paths *yaml.Node) {
	install, value := t.pair("install")
	old, src := t.pair("package-src")
	if old != nil || install == nil {
		if old == nil {
			old, src = t.append("package-src")
		}
		return old, "package-src.", asMap(src)
	}
	source := mapIn(asMap(value), "package-source")
	return install, "install.package-source.srcpath.", mapIn(source, "srcpath")
}

// setMore writes eggo.bundles.
func (t *text) setMore(want []string, same func(is, want string) bool) []SourceLine {
	key, value := t.pair("eggo")
	if key == nil {
		if len(want) == 0 {
			return nil
		}
		key, value = t.append("eggo")
	}
	value = asMap(value)
	at, line := -1, 0
	var list *yaml.Node
	for i := 0; i+1 < len(value.Content); i += 2 {
		if value.Content[i].Value == "bundles" {
			at, line, list = i, value.Content[i].Line, value.Content[i+1]
		}
	}
	var is []string
	if list != nil {
		for _, n := range list.Content {
			is = append(is, n.Value)
		}
	}
	if slices.EqualFunc(is, want, same) {
		return nil
	}
	t.changed[key] = true
	switch {
	case len(want) == 0:
		value.Content = slices.Delete(value.Content, at, at+2)
		return []SourceLine{{line, "eggo.bundles", ""}}
	case list == nil:
		list = &yaml.Node{}
		appendPair(value, "bundles", list)
	}
	*list = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: list.Style, LineComment: list.LineComment}
	for _, p := range want {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p})
	}
	return []SourceLine{{line, "eggo.bundles", strings.Join(want, ", ")}}
}

// append makes an empty map at the end.
func (t *text) append(name string) (key, value *yaml.Node) {
	key = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	t.after[key] = t.root.Content[len(t.root.Content)-2]
	if before := t.after[t.after[key]]; before != nil {
		t.after[key] = before
	}
	t.root.Content = append(t.root.Content, key, value)
	return key, value
}

// archOf is the architecture that a key of either layout is the bundle of, "" of another key.
func archOf(key string) string {
	switch key {
	case "x86src":
		return "amd64"
	case "armsrc":
		return "arm64"
	}
	key = strings.ToLower(key)
	if key == "amd64" || key == "arm64" {
		return key
	}
	return archAliases[key]
}

func appendPair(n *yaml.Node, name string, value *yaml.Node) {
	if len(n.Content) == 0 {
		n.Style = 0
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, value)
}

// setScalar gives a scalar another text, as it was quoted before.
func setScalar(n *yaml.Node, value string) {
	quoted := n.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)
	*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: quoted, LineComment: n.LineComment,
		HeadComment: n.HeadComment}
}
