package spec

import (
	"errors"
	"fmt"
	"net/url"
	"path"
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

// Parse reads a spec. An unknown key, a wrong type or value is never passed over; the error is Problems with all of them.
func Parse(data []byte) (*Spec, error) {
	p := &parser{}
	if len(data) > maxSpec {
		p.add(nil, "", "spec.too-large", nil)
		return nil, p.problems
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		p.add(nil, "", "spec.yaml", err)
		return nil, p.problems
	}
	if len(doc.Content) != 1 {
		p.add(nil, "", "spec.yaml", errors.New("empty"))
		return nil, p.problems
	}
	s := &Spec{raw: data}
	p.top(s, doc.Content[0])
	p.cross(s)
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return s, nil
}

type parser struct{ problems Problems }

func (p *parser) add(n *yaml.Node, key, code string, err error, kv ...string) {
	line := "1"
	if n != nil {
		line = strconv.Itoa(n.Line)
	}
	p.problems = append(p.problems, event.NewFault(event.ClassUsage, code, err, append([]string{"line", line, "key", key}, kv...)...))
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
			if h != "{arch}" && h != "{kubernetes}" {
				p.add(n, key, "spec.hole", nil, "hole", h)
			}
		}
		if check != nil {
			if err := check(strings.NewReplacer("{arch}", "amd64", "{kubernetes}", "v1.0.0").Replace(v)); err != nil {
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
	var version string
	p.mapping(n, "", map[string]field{
		"version": {p.text(&version, func(v string) error {
			if v != strconv.Itoa(Version) {
				return fmt.Errorf("this program reads version %d", Version)
			}
			return nil
		}), true},
		"name":       {p.text(&s.Name, matching(namePattern)), true},
		"kubernetes": {p.text(&s.Kubernetes, matching(versionPattern)), true},
		"os":         {func(n *yaml.Node, k string) { p.os(s, n, k) }, true},
		"packages":   {func(n *yaml.Node, k string) { p.packages(s, n, k) }, false},
		"binaries":   {p.list(func(n *yaml.Node, k string) { p.binary(s, n, k) }), false},
		"addons":     {p.list(func(n *yaml.Node, k string) { p.addon(s, n, k) }), false},
		"images":     {p.list(func(n *yaml.Node, k string) { p.image(s, n, k) }), false},
	})
}

var (
	namePattern    = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)
	versionPattern = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([-+.][0-9A-Za-z.+-]+)?$`)
	wordPattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_~:/-]*$`)
	filePattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
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
		"family": {p.text(&s.OS.Family, func(v string) error {
			if v != "debian" {
				return errors.New("this version packs for family debian")
			}
			return nil
		}), true},
		"id":       {p.text(&s.OS.ID, matching(wordPattern)), true},
		"release":  {p.text(&s.OS.Release, matching(wordPattern)), true},
		"codename": {p.text(&s.OS.Codename, matching(wordPattern)), false},
	})
}

func (p *parser) packages(s *Spec, n *yaml.Node, key string) {
	p.mapping(n, key, map[string]field{
		"repositories": {p.list(func(n *yaml.Node, k string) { p.repository(s, n, k) }), false},
		"install": {p.list(func(n *yaml.Node, k string) {
			var x bundle.Package
			p.mapping(n, k, map[string]field{"name": {p.text(&x.Name, matching(debPattern)), true}, "roles": {p.roles(&x.Roles), true}})
			s.Install = append(s.Install, x)
		}), false},
	})
}

func (p *parser) repository(s *Spec, n *yaml.Node, key string) {
	var r Repository
	check := "true"
	p.mapping(n, key, map[string]field{
		"type": {p.text(&r.Type, func(v string) error {
			if v != "deb" {
				return errors.New("this version reads type deb")
			}
			return nil
		}), true},
		"url":        {p.text(&r.URL, webURL(true)), true},
		"suites":     {p.texts(&r.Suites, matching(wordPattern)), true},
		"components": {p.texts(&r.Components, matching(wordPattern)), true},
		"keyring":    {p.text(&r.Keyring, nil), true},
		"check-valid-until": {p.text(&check, func(v string) error {
			if v != "true" && v != "false" {
				return errors.New("true or false")
			}
			return nil
		}), false},
	})
	r.URL = strings.TrimSuffix(r.URL, "/")
	r.IgnoreExpiry = check == "false"
	s.Repositories = append(s.Repositories, r)
}

func (p *parser) binary(s *Spec, n *yaml.Node, key string) {
	b := Binary{Mode: 0o755}
	p.mapping(n, key, map[string]field{
		"name":     {p.text(&b.Name, matching(filePattern)), true},
		"version":  {p.text(&b.Version, matching(wordPattern)), false},
		"url":      {p.text(&b.URL, webURL(false)), true},
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
	if (b.Checksum == "") == (b.SHA256 == "") {
		p.add(n, key, "spec.checksum", nil)
	}
	s.Binaries = append(s.Binaries, b)
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
		"url":     {p.text(&a.URL, webURL(false)), true},
		"sha256":  {p.text(&a.SHA256, matching(sumPattern)), false},
		"roles":   {p.roles(&a.Roles), false},
	})
	s.Addons = append(s.Addons, a)
}

func (p *parser) image(s *Spec, n *yaml.Node, key string) {
	var im Image
	p.mapping(n, key, map[string]field{
		"name":  {p.text(&im.Name, imageName), true},
		"roles": {p.roles(&im.Roles), true},
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
	for _, b := range s.Binaries {
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
	for _, im := range s.Images {
		if seen[im.Name] {
			p.add(nil, im.Name, "spec.duplicate", nil)
		}
		seen[im.Name] = true
	}
	for _, x := range s.Install {
		if seen["pkg "+x.Name] {
			p.add(nil, x.Name, "spec.duplicate", nil)
		}
		seen["pkg "+x.Name] = true
	}
	if len(s.Install) > 0 && len(s.Repositories) == 0 {
		p.add(nil, "packages.repositories", "spec.missing", nil)
	}
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
