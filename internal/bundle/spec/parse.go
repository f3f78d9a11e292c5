package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const maxSpec = 1 << 20 // bytes

// Problems are all that is wrong with a spec, each a fault of class usage with the arguments line and key.
type Problems []*event.Fault

func (p Problems) Error() string {
	var s []string
	for _, f := range p {
		s = append(s, "line "+f.Args["line"]+": "+f.Args["key"]+": "+f.Error())
	}
	return strings.Join(s, "\n")
}

// Unwrap gives the single faults.
func (p Problems) Unwrap() []error {
	var out []error
	for _, f := range p {
		out = append(out, f)
	}
	return out
}

// Parse reads a spec that stands alone. An unknown key, a wrong type or value is never passed over; the error is
// Problems with all of them.
func Parse(data []byte) (*Spec, error) {
	return parse("", data, func(string) ([]byte, error) {
		return nil, errors.New("only a spec in a file can include others")
	})
}

// Load reads a spec from a file, and the files that it includes. Problems name the file in which they are.
func Load(file string) (*Spec, error) {
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	return parse(file, data, func(name string) ([]byte, error) { return read(name) })
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	var data []byte
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxSpec+1))
	}
	if err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, event.NewFault(event.ClassUsage, "usage.file", err, "file", file)
	}
	return data, nil
}

func parse(file string, data []byte, load func(string) ([]byte, error)) (*Spec, error) {
	p := &parser{file: file, load: load}
	s := &Spec{Runtime: "containerd", Layout: "flat", Closure: Full, Discover: Discover{Addons: true}, raw: data}
	p.document(s, data)
	if len(p.problems) == 0 {
		p.cross(s)
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return s, nil
}

func (p *parser) document(s *Spec, data []byte) {
	if len(data) > maxSpec {
		p.add(nil, "", "spec.too-large", nil)
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		p.add(nil, "", "spec.yaml", err)
		return
	}
	if len(doc.Content) != 1 {
		p.add(nil, "", "spec.yaml", errors.New("empty"))
		return
	}
	p.top(s, doc.Content[0])
}

// include reads another spec first: its lists come before ours, and of the single values ours win.
func (p *parser) include(s *Spec) func(*yaml.Node, string) {
	return p.list(func(n *yaml.Node, key string) {
		var name string
		p.text(&name, nil)(n, key)
		file := p.place(name).File
		if p.depth++; p.depth > maxIncludes {
			p.add(n, key, "spec.include", errors.New("a spec includes itself, or too many others"), "file", name)
			return
		}
		data, err := p.load(file)
		if err != nil {
			p.add(n, key, "spec.include", err, "file", name)
			return
		}
		outer, at := p.file, p.dir
		p.file, p.dir = file, filepath.Dir(p.place(name).Name)
		p.document(s, data)
		p.file, p.dir = outer, at
	})
}

const maxIncludes = 16 // files in all

// place is where a file is that the spec names, beside the spec unless the name is absolute. The name of one that an
// included spec names is from the first spec on: two included ones may each have a directory debs.
func (p *parser) place(name string) Path {
	if name == "" || filepath.IsAbs(name) {
		return Path{Name: name, File: name}
	}
	out := Path{Name: name, File: filepath.Join(filepath.Dir(p.file), name)}
	if p.dir != "" && p.dir != "." {
		out.Name = filepath.Join(p.dir, name)
	}
	return out
}

func (p *parser) path(to *Path) func(*yaml.Node, string) {
	return func(n *yaml.Node, key string) {
		var name string
		p.text(&name, func(v string) error {
			if v == "" || strings.Contains(v, "://") {
				return errors.New("the path of a file")
			}
			return nil
		})(n, key)
		*to = p.place(name)
	}
}

type parser struct {
	file     string
	dir      string // of file, as the specs that include it write it; "" for the first
	load     func(string) ([]byte, error)
	depth    int
	problems Problems
}

func (p *parser) add(n *yaml.Node, key, code string, err error, kv ...string) {
	line := "1"
	if n != nil {
		line = strconv.Itoa(n.Line)
	}
	where := []string{"line", line, "key", key}
	if p.file != "" {
		where = append(where, "file", p.file)
	}
	p.problems = append(p.problems, event.NewFault(event.ClassUsage, code, err, append(where, kv...)...))
}

// field of a mapping: its reader, and whether it must be there.
type field struct {
	read     func(n *yaml.Node, key string)
	required bool
}

func (p *parser) mapping(n *yaml.Node, key string, fields map[string]field) {
	if n.Kind != yaml.MappingNode {
		p.add(n, key, "spec.type", nil, "want", "map")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		full := join(key, k.Value)
		f, ok := fields[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || !ok:
			p.add(k, full, "spec.unknown-key", nil, "known", known(fields))
		case seen[k.Value]:
			p.add(k, full, "spec.duplicate", nil)
		case v.Kind == yaml.AliasNode:
			p.add(v, full, "spec.alias", nil)
		default:
			f.read(v, full)
		}
		seen[k.Value] = true
	}
	for k, f := range sorted(fields) {
		if f.required && !seen[k] {
			p.add(n, join(key, k), "spec.missing", nil)
		}
	}
}

func sorted(fields map[string]field) func(func(string, field) bool) {
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return func(yield func(string, field) bool) {
		for _, k := range keys {
			if !yield(k, fields[k]) {
				return
			}
		}
	}
}

func known(fields map[string]field) string {
	var keys []string
	for k := range sorted(fields) {
		keys = append(keys, k)
	}
	return strings.Join(keys, ", ")
}

func join(key, k string) string {
	if key == "" {
		return k
	}
	return key + "." + k
}

func (p *parser) list(each func(n *yaml.Node, key string)) func(*yaml.Node, string) {
	return func(n *yaml.Node, key string) {
		if n.Kind != yaml.SequenceNode {
			p.add(n, key, "spec.type", nil, "want", "list")
			return
		}
		for i, x := range n.Content {
			k := fmt.Sprintf("%s[%d]", key, i)
			if x.Kind == yaml.AliasNode {
				p.add(x, k, "spec.alias", nil)
				continue
			}
			each(x, k)
		}
	}
}

// text reads a string and holds it against check, which may be nil. Any scalar is taken as it is written: release: 12
// means "12".
func (p *parser) text(to *string, check func(string) error) func(*yaml.Node, string) {
	return func(n *yaml.Node, key string) {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			p.add(n, key, "spec.type", nil, "want", "text")
			return
		}
		v := n.Value
		if event.Clean(v) != v {
			p.add(n, key, "spec.value", errors.New("control characters"), "value", v)
			return
		}
		for _, h := range holes.FindAllString(v, -1) {
			if h != "{arch}" && h != "{uname}" && h != "{kubernetes}" {
				p.add(n, key, "spec.hole", nil, "hole", h)
			}
		}
		if check != nil {
			if err := check(replacer("amd64", "v1.0.0").Replace(v)); err != nil {
				p.add(n, key, "spec.value", err, "value", v)
			}
		}
		*to = v
	}
}

var holes = regexp.MustCompile(`\{[^{}]*\}`)

func (p *parser) texts(to *[]string, check func(string) error) func(*yaml.Node, string) {
	return p.list(func(n *yaml.Node, key string) {
		var s string
		p.text(&s, check)(n, key)
		*to = append(*to, s)
	})
}

func (p *parser) roles(to *[]bundle.Role) func(*yaml.Node, string) {
	return p.list(func(n *yaml.Node, key string) {
		var s string
		p.text(&s, func(v string) error {
			if !slices.Contains(bundle.AllRoles(), bundle.Role(v)) {
				return fmt.Errorf("one of %v", bundle.AllRoles())
			}
			return nil
		})(n, key)
		*to = append(*to, bundle.Role(s))
	})
}

func (p *parser) top(s *Spec, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "include" {
				p.include(s)(n.Content[i+1], "include")
			}
		}
	}
	var version string
	p.mapping(n, "", map[string]field{
		"version": {p.text(&version, func(v string) error {
			if v != strconv.Itoa(Version) {
				return fmt.Errorf("this program reads version %d", Version)
			}
			return nil
		}), true},
		"include":     {func(*yaml.Node, string) {}, false}, // read before
		"name":        {p.text(&s.Name, matching(namePattern)), false},
		"kubernetes":  {p.text(&s.Kubernetes, matching(versionPattern)), false},
		"os":          {func(n *yaml.Node, k string) { p.os(s, n, k) }, false},
		"runtime":     {p.text(&s.Runtime, oneOf("containerd", "docker", "isulad")), false},
		"layout":      {p.text(&s.Layout, oneOf("flat", "typed")), false},
		"discover":    {p.discover(s), false},
		"packages":    {func(n *yaml.Node, k string) { p.packages(s, n, k) }, false},
		"binaries":    {p.list(func(n *yaml.Node, k string) { p.binary(&s.Binaries, nodepath.Program, n, k) }), false},
		"files":       {p.list(func(n *yaml.Node, k string) { p.binary(&s.Files, nodepath.File, n, k) }), false},
		"dirs":        {p.list(func(n *yaml.Node, k string) { p.directory(s, n, k) }), false},
		"addons":      {p.list(func(n *yaml.Node, k string) { p.addon(s, n, k) }), false},
		"images":      {p.list(func(n *yaml.Node, k string) { p.image(s, n, k) }), false},
		"image-hints": {p.list(func(n *yaml.Node, k string) { p.hint(s, n, k) }), false},
	})
}

func (p *parser) discover(s *Spec) func(*yaml.Node, string) {
	return func(n *yaml.Node, key string) {
		s.Discover = Discover{}
		p.list(func(n *yaml.Node, key string) {
			var v string
			p.text(&v, oneOf("addons", "kubernetes", "kubeadm"))(n, key)
			s.Discover.Addons = s.Discover.Addons || v == "addons"
			s.Discover.Kubernetes = s.Discover.Kubernetes || v == "kubernetes"
			s.Discover.Kubeadm = s.Discover.Kubeadm || v == "kubeadm"
		})(n, key)
	}
}

func (p *parser) hint(s *Spec, n *yaml.Node, key string) {
	var h Hint
	p.mapping(n, key, map[string]field{
		"api-version": {p.text(&h.APIVersion, nil), false},
		"kind":        {p.text(&h.Kind, matching(filePattern)), true},
		"path":        {p.text(&h.Path, nil), true},
	})
	s.Hints = append(s.Hints, h)
}

func oneOf(words ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("one of %s", strings.Join(words, ", "))
		}
		return nil
	}
}

func truth(to *bool) (*string, func(string) error) {
	v := strconv.FormatBool(*to)
	return &v, func(v string) error {
		if v != "true" && v != "false" {
			return errors.New("true or false")
		}
		*to = v == "true"
		return nil
	}
}

var (
	namePattern    = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)
	versionPattern = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([-+.][0-9A-Za-z.+-]+)?$`)
	wordPattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_~:/-]*$`)
	suitePattern   = regexp.MustCompile(`^[A-Za-z0-9./][A-Za-z0-9.+_~:/-]*$`) // also "/" and "./", of flat repositories
	filePattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
	packagePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_+.:/()-]*$`) // an rpm may be named by what it provides
	debPattern     = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	sumPattern     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func matching(re *regexp.Regexp) func(string) error {
	return func(v string) error {
		if !re.MatchString(v) {
			return fmt.Errorf("must match %s", re)
		}
		return nil
	}
}
