package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/event"
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

// Parse reads a spec that stands alone. An unknown key, a wrong type or value is never passed over; the error is Problems with all of them.
func Parse(data []byte) (*Spec, error) {
	return parse("", data, func(string) ([]byte, error) { return nil, errors.New("only a spec in a file can include others") })
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

// place is where a file is that the spec names, beside the spec unless the name is absolute. The name of one that an included spec names
// is from the first spec on: two included ones may each have a directory debs.
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

// text reads a string and holds it against check, which may be nil. Any scalar is taken as it is written: release: 12 means "12".
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
		"binaries":    {p.list(func(n *yaml.Node, k string) { p.binary(&s.Binaries, 0o755, n, k) }), false},
		"files":       {p.list(func(n *yaml.Node, k string) { p.binary(&s.Files, 0o644, n, k) }), false},
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
			p.text(&v, oneOf("addons", "kubernetes"))(n, key)
			s.Discover.Addons = s.Discover.Addons || v == "addons"
			s.Discover.Kubernetes = s.Discover.Kubernetes || v == "kubernetes"
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

func (p *parser) os(s *Spec, n *yaml.Node, key string) {
	p.mapping(n, key, map[string]field{
		"family":   {p.text(&s.OS.Family, oneOf(Debian, RPM)), true},
		"id":       {p.text(&s.OS.ID, matching(wordPattern)), true},
		"release":  {p.text(&s.OS.Release, matching(wordPattern)), true},
		"codename": {p.text(&s.OS.Codename, matching(wordPattern)), false},
	})
}

func (p *parser) packages(s *Spec, n *yaml.Node, key string) {
	closure := string(s.Closure)
	p.mapping(n, key, map[string]field{
		"closure":      {p.text(&closure, oneOf(string(Full), string(Minus), string(NoDeps))), false},
		"baseline":     {p.path(&s.Baseline), false},
		"repositories": {p.list(func(n *yaml.Node, k string) { p.repository(s, n, k) }), false},
		"install": {p.list(func(n *yaml.Node, k string) {
			var x bundle.Package
			p.mapping(n, k, map[string]field{"name": {p.text(&x.Name, matching(packagePattern)), true}, "roles": {p.roles(&x.Roles), true}})
			s.Install = append(s.Install, x)
		}), false},
	})
	s.Closure = Closure(closure)
}

func (p *parser) repository(s *Spec, n *yaml.Node, key string) {
	var r Repository
	var keyring, priority string
	check := true
	validUntil, isCheck := truth(&check)
	trusted, isTrusted := truth(&r.Trusted)
	machine, isMachine := truth(&r.Machine)
	p.mapping(n, key, map[string]field{
		"type":              {p.text(&r.Type, oneOf("deb", "rpm")), true},
		"arches":            {p.texts(&r.Arches, oneOf("amd64", "arm64")), false},
		"url":               {p.text(&r.URL, webURL(true)), false},
		"dir":               {p.path(&r.Dir), false},
		"machine":           {p.text(machine, isMachine), false},
		"suites":            {p.texts(&r.Suites, matching(wordPattern)), false},
		"components":        {p.texts(&r.Components, matching(wordPattern)), false},
		"keyring":           {p.text(&keyring, nil), false},
		"trusted":           {p.text(trusted, isTrusted), false},
		"priority":          {p.text(&priority, func(v string) error { _, err := strconv.ParseInt(v, 10, 16); return err }), false},
		"check-valid-until": {p.text(validUntil, isCheck), false},
	})
	r.URL = strings.TrimSuffix(r.URL, "/")
	r.IgnoreExpiry = !check
	switch {
	case strings.HasPrefix(keyring, "embedded:"):
		r.Keyring = keyring
	case strings.Contains(keyring, "://"):
		if err := webURL(false)(replacer("amd64", "v1.0.0").Replace(keyring)); err != nil {
			p.add(n, join(key, "keyring"), "spec.value", err, "value", keyring)
		}
		r.Keyring = keyring
	case keyring != "":
		r.KeyringFile = p.place(keyring)
	}
	r.Priority = map[string]int{"deb": 500, "rpm": 99}[r.Type]
	if v, err := strconv.Atoi(priority); err == nil {
		r.Priority = v
	}
	p.judgeRepository(r, n, key)
	s.Repositories = append(s.Repositories, r)
}

// judgeRepository holds a repository's keys against each other.
func (p *parser) judgeRepository(r Repository, n *yaml.Node, key string) {
	ways := 0
	for _, set := range []bool{r.URL != "", r.Dir.Name != "", r.Machine} {
		if set {
			ways++
		}
	}
	signed := r.Keyring != "" || r.KeyringFile.Name != ""
	switch {
	case ways != 1:
		p.add(n, key, "spec.one-of", nil, "keys", "url, dir, machine")
	case r.URL != "" && r.Type == "deb" && len(r.Suites) == 0:
		p.add(n, join(key, "suites"), "spec.missing", nil)
	case r.URL != "" && !signed && !r.Trusted:
		p.add(n, join(key, "keyring"), "spec.missing", nil)
	case r.Type == "rpm" && len(r.Suites)+len(r.Components) > 0:
		p.add(n, join(key, "suites"), "spec.unknown-key", nil, "known", "url, dir, keyring, trusted, priority")
	case r.Machine && r.Type != "deb":
		p.add(n, join(key, "machine"), "spec.value", errors.New("only for type deb"), "value", "true")
	case !signed && plainHTTP(r.URL):
		p.add(n, join(key, "url"), "spec.value", errors.New("https, for nothing signs it"), "value", r.URL)
	}
}

// plainHTTP says whether anybody on the way could answer instead.
func plainHTTP(address string) bool {
	u, err := url.Parse(replacer("amd64", "v1.0.0").Replace(address))
	return err == nil && u.Scheme == "http" && !fetch.Loopback(u.Hostname())
}

func (p *parser) binary(to *[]Binary, mode uint32, n *yaml.Node, key string) {
	b := Binary{Mode: mode}
	p.mapping(n, key, map[string]field{
		"name":     {p.text(&b.Name, matching(filePattern)), true},
		"version":  {p.text(&b.Version, matching(wordPattern)), false},
		"url":      {p.text(&b.URL, webURL(false)), false},
		"path":     {p.path(&b.Path), false},
		"checksum": {p.text(&b.Checksum, webURL(false)), false},
		"sha256":   {p.text(&b.SHA256, matching(sumPattern)), false},
		"pick":     {func(n *yaml.Node, k string) { p.pick(&b, n, k) }, false},
		"dst": {p.text(&b.Dst, func(v string) error {
			if !path.IsAbs(v) || path.Clean(v) != v || v == "/" {
				return errors.New("an absolute directory")
			}
			return nil
		}), true},
		"mode": {func(n *yaml.Node, k string) {
			m, err := strconv.ParseUint(n.Value, 8, 32)
			if err != nil || m > 0o777 {
				p.add(n, k, "spec.value", errors.New("octal permission bits such as 0755"), "value", n.Value)
			}
			b.Mode = uint32(m)
		}, false},
		"roles": {p.roles(&b.Roles), true},
	})
	switch {
	case (b.URL == "") == (b.Path.Name == ""):
		p.add(n, key, "spec.one-of", nil, "keys", "url, path")
	case b.URL != "" && (b.Checksum == "") == (b.SHA256 == ""):
		p.add(n, key, "spec.checksum", nil)
	case b.URL == "" && b.Checksum != "":
		p.add(n, join(key, "checksum"), "spec.value", errors.New("only with url"), "value", b.Checksum)
	}
	*to = append(*to, b)
}

func (p *parser) pick(b *Binary, n *yaml.Node, key string) {
	b.Pick = map[string]string{}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		p.add(n, key, "spec.type", nil, "want", "map")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		var from, to string
		p.text(&from, nil)(n.Content[i], key)
		p.text(&to, matching(filePattern))(n.Content[i+1], join(key, from))
		if _, twice := b.Pick[from]; twice {
			p.add(n.Content[i], join(key, from), "spec.duplicate", nil)
		}
		b.Pick[from] = to
	}
}

func (p *parser) addon(s *Spec, n *yaml.Node, key string) {
	var a Addon
	p.mapping(n, key, map[string]field{
		"name":    {p.text(&a.Name, matching(filePattern)), true},
		"version": {p.text(&a.Version, matching(wordPattern)), false},
		"url":     {p.text(&a.URL, webURL(false)), false},
		"path":    {p.path(&a.Path), false},
		"dir":     {p.path(&a.Dir), false},
		"chart":   {func(n *yaml.Node, k string) { a.Chart = p.chart(n, k) }, false},
		"sha256":  {p.text(&a.SHA256, matching(sumPattern)), false},
		"roles":   {p.roles(&a.Roles), false},
		"images":  {p.texts(&a.Images, imageName), false},
	})
	ways := 0
	for _, set := range []bool{a.URL != "", a.Path.Name != "", a.Dir.Name != "", a.Chart != nil} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		p.add(n, key, "spec.one-of", nil, "keys", "url, path, dir, chart")
	}
	if len(a.Roles) == 0 {
		a.Roles = []bundle.Role{bundle.ControlPlane}
	}
	s.Addons = append(s.Addons, a)
}

func (p *parser) chart(n *yaml.Node, key string) *Chart {
	c := &Chart{Namespace: "default"}
	p.mapping(n, key, map[string]field{
		"url": {p.text(&c.URL, func(v string) error {
			if rest, ok := strings.CutPrefix(v, "oci://"); ok {
				return imageName(rest)
			}
			return webURL(false)(v)
		}), false},
		"repository":  {p.text(&c.Repo, webURL(false)), false},
		"name":        {p.text(&c.Name, matching(filePattern)), false},
		"version":     {p.text(&c.Version, nil), false},
		"path":        {p.path(&c.Path), false},
		"release":     {p.text(&c.Release, matching(namePattern)), true},
		"namespace":   {p.text(&c.Namespace, matching(namePattern)), false},
		"values":      {p.values(&c.Values), false},
		"values-file": {p.path(&c.ValueFile), false},
	})
	ways := 0
	for _, set := range []bool{c.URL != "", c.Repo != "", c.Path.Name != ""} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		p.add(n, key, "spec.one-of", nil, "keys", "url, repository, path")
	}
	if (c.Repo == "") != (c.Name == "") || c.Repo == "" && c.Version != "" {
		p.add(n, key, "spec.chart", nil)
	}
	return c
}

// values keeps a YAML map as its text.
func (p *parser) values(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, key string) {
		if n.Kind != yaml.MappingNode {
			p.add(n, key, "spec.type", nil, "want", "map")
			return
		}
		text, err := yaml.Marshal(n)
		if err != nil {
			p.add(n, key, "spec.yaml", err)
		}
		*to = string(text)
	}
}

func (p *parser) image(s *Spec, n *yaml.Node, key string) {
	var im Image
	p.mapping(n, key, map[string]field{
		"name":    {p.text(&im.Name, imageName), true},
		"archive": {p.path(&im.Archive), false},
		"why":     {p.text(&im.Why, nil), false},
		"roles":   {p.roles(&im.Roles), true},
	})
	s.Images = append(s.Images, im)
}

// imageName accepts what containerd and docker name the same: a registry, a repository, and a tag or digest or both.
func imageName(v string) error {
	host, _, ok := strings.Cut(v, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return errors.New("must begin with its registry, such as docker.io/library/nginx:1.29")
	}
	base := v
	if b, d, ok := strings.Cut(v, "@"); ok {
		if _, err := name.NewDigest(v, name.StrictValidation); err != nil {
			return err
		}
		if !strings.HasPrefix(d, "sha256:") {
			return errors.New("the digest must be a sha256")
		}
		if base = b; !strings.Contains(b[len(host):], ":") {
			return nil
		}
	}
	_, err := name.NewTag(base, name.StrictValidation)
	return err
}

// webURL accepts https, and http on loopback, or anywhere when what is fetched is signed.
func webURL(signed bool) func(string) error {
	return func(v string) error {
		u, err := url.Parse(v)
		if err != nil {
			return err
		}
		switch {
		case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			return errors.New("an https URL")
		case u.Scheme == "http" && !signed && !fetch.Loopback(u.Hostname()):
			return errors.New("https, for nothing signs it")
		case u.User != nil:
			return errors.New("no credentials in a spec")
		}
		return nil
	}
}

// cross looks at what no single entry shows.
func (p *parser) cross(s *Spec) {
	files := map[string]bool{}
	file := func(name string) {
		if low := strings.ToLower(name); files[low] {
			p.add(nil, name, "spec.duplicate", nil)
		} else {
			files[low] = true
		}
	}
	for _, n := range []string{bundle.ManifestName, bundle.SumsName, bundle.ImagesName, bundle.ImagesSumName, PackagesName} {
		files[strings.ToLower(n)] = true
	}
	for _, b := range append(slices.Clone(s.Binaries), s.Files...) {
		if len(b.Pick) == 0 {
			file(b.Name)
		}
		for _, n := range sortedValues(b.Pick) {
			file(n)
		}
	}
	for _, a := range s.Addons {
		file("addons/" + a.Name)
	}
	seen := map[string]bool{}
	once := func(kind, name string) {
		if seen[kind+name] {
			p.add(nil, name, "spec.duplicate", nil)
		}
		seen[kind+name] = true
	}
	for _, im := range s.Images {
		once("image ", im.Name)
	}
	for _, x := range s.Install {
		once("package ", x.Name)
		if err := matching(debPattern)(replacer("amd64", "v1.0.0").Replace(x.Name)); s.OS.Family == Debian && err != nil {
			p.add(nil, "packages.install", "spec.value", err, "value", x.Name)
		}
	}
	p.whole(s)
}

// whole looks for what has to be there once all files are read.
func (p *parser) whole(s *Spec) {
	for key, v := range map[string]*string{"name": &s.Name, "kubernetes": &s.Kubernetes, "os.id": &s.OS.ID, "os.release": &s.OS.Release, "os.codename": &s.OS.Codename} {
		if key != "kubernetes" {
			*v = strings.ReplaceAll(*v, "{kubernetes}", s.Kubernetes)
		}
		if hole := holes.FindString(*v); hole != "" { // one value for all architectures
			p.add(nil, key, "spec.hole", nil, "hole", hole)
		}
	}
	for key, missing := range map[string]bool{
		"name": s.Name == "", "kubernetes": s.Kubernetes == "", "os": s.OS.Family == "",
		"packages.repositories": len(s.Install) > 0 && len(s.Repositories) == 0,
		"packages.baseline":     s.Closure == Minus && s.Baseline.Name == "",
	} {
		if missing {
			p.add(nil, key, "spec.missing", nil)
		}
	}
	for i, r := range s.Repositories {
		if want := map[string]string{Debian: "deb", RPM: "rpm"}[s.OS.Family]; r.Type != want {
			p.add(nil, fmt.Sprintf("packages.repositories[%d].type", i), "spec.value", fmt.Errorf("%s, for os.family is %s", want, s.OS.Family), "value", r.Type)
		}
	}
	slices.SortStableFunc(p.problems, func(a, b *event.Fault) int { return strings.Compare(a.Args["key"], b.Args["key"]) })
}

func sortedValues(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// PackagesName is the member with the metadata of the flat apt repository.
const PackagesName = "Packages"
