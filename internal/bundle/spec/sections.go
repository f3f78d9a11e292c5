package spec

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

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
			p.mapping(n, k, map[string]field{"name": {p.text(&x.Name, matching(packagePattern)), true},
				"roles": {p.roles(&x.Roles), true}})
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
		"type":       {p.text(&r.Type, oneOf("deb", "rpm")), true},
		"arches":     {p.texts(&r.Arches, oneOf("amd64", "arm64")), false},
		"url":        {p.text(&r.URL, repositoryURL), false},
		"dir":        {p.path(&r.Dir), false},
		"machine":    {p.text(machine, isMachine), false},
		"suites":     {p.texts(&r.Suites, matching(suitePattern)), false},
		"components": {p.texts(&r.Components, matching(wordPattern)), false},
		"keyring":    {p.text(&keyring, nil), false},
		"trusted":    {p.text(trusted, isTrusted), false},
		"priority": {p.text(&priority, func(v string) error {
			_, err := strconv.ParseInt(v, 10, 16)
			return err
		}), false},
		"check-valid-until": {p.text(validUntil, isCheck), false},
	})
	r.URL = strings.TrimRight(r.URL, "/")
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
	p.checkRepository(r, n, key)
	s.Repositories = append(s.Repositories, r)
}

// checkRepository holds a repository's keys against each other.
func (p *parser) checkRepository(r Repository, n *yaml.Node, key string) {
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
	if r.Type == "deb" && r.URL != "" {
		p.suites(r, n, key)
	}
}

// suites reports suites that do not fit their components, or that the URL has already.
func (p *parser) suites(r Repository, n *yaml.Node, key string) {
	fill := replacer("amd64", "v1.0.0")
	for i, s := range r.Suites {
		if strings.HasSuffix(r.URL+"/", "/dists/"+s+"/") {
			p.add(n, join(key, "url"), "spec.value", errors.New("it must be the URL of the directory above dists"),
				"value", r.URL)
		}
		if err := deb.CheckSuite(fill.Replace(s), r.Components); err != nil {
			p.add(n, fmt.Sprintf("%s[%d]", join(key, "suites"), i), "spec.value", err, "value", s)
		}
	}
}

// plainHTTP says whether anybody on the way could answer instead.
func plainHTTP(address string) bool {
	u, err := url.Parse(replacer("amd64", "v1.0.0").Replace(address))
	return err == nil && u.Scheme == "http" && !fetch.Loopback(u.Hostname())
}

func (p *parser) binary(to *[]Binary, use nodepath.Use, n *yaml.Node, key string) {
	b := Binary{Mode: 0o644}
	if use == nodepath.Program {
		b.Mode = 0o755
	}
	p.mapping(n, key, map[string]field{
		"name":     {p.text(&b.Name, matching(filePattern)), true},
		"version":  {p.text(&b.Version, matching(wordPattern)), false},
		"url":      {p.text(&b.URL, webURL(false)), false},
		"path":     {p.path(&b.Path), false},
		"checksum": {p.text(&b.Checksum, webURL(false)), false},
		"sha256":   {p.text(&b.SHA256, matching(sumPattern)), false},
		"pick":     {func(n *yaml.Node, k string) { p.pick(&b, n, k) }, false},
		"dst":      {p.text(&b.Dst, onNode(use)), true},
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

// onNode accepts a directory of a node that a bundle's files of that use may be put in.
func onNode(use nodepath.Use) func(string) error {
	return func(v string) error {
		if path.Clean(v) != v || !nodepath.Dir(use, v) {
			return fmt.Errorf("one of %s, or a directory below", strings.Join(nodepath.Dirs(use), ", "))
		}
		return nil
	}
}

func (p *parser) directory(s *Spec, n *yaml.Node, key string) {
	var d Dir
	p.mapping(n, key, map[string]field{
		"name":  {p.text(&d.Name, matching(filePattern)), true},
		"path":  {p.path(&d.Path), true},
		"dst":   {p.text(&d.Dst, onNode(nodepath.Tree)), true},
		"roles": {p.roles(&d.Roles), true},
	})
	s.Dirs = append(s.Dirs, d)
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
