// Package spec is the description of what goes into a bundle: packages, binaries, files, addons, images and the roles
// that need each. Its format is described in docs/bundle-format.md and by the comments of assets/bundle.yaml.
package spec

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Version of the format.
const Version = 1

// The families of operating systems, by their packages.
const (
	Debian = "debian"
	RPM    = "rpm"
)

// Closure says how much of the packages' dependencies is packed.
type Closure string

// The closures.
const (
	Full   Closure = "full"           // all, as into an empty machine
	Minus  Closure = "minus-baseline" // without what the target's base system has
	NoDeps Closure = "none"           // the named packages alone
)

// Spec of a bundle, for every architecture.
type Spec struct {
	Name       string
	Kubernetes string // v1.34.2
	OS         bundle.OS
	Runtime    string // containerd, docker or isulad: which has to load the images
	Layout     string // flat or typed: where the members stand
	Discover   Discover

	Closure      Closure
	Baseline     Path // the list of the base system's packages
	Repositories []Repository
	Install      []bundle.Package
	Binaries     []Binary
	Files        []Binary
	Dirs         []Dir
	Addons       []Addon
	Images       []Image
	Hints        []Hint

	raw []byte
}

// Discover says which images are packed without being listed.
type Discover struct {
	Addons     bool // those that the addons' manifests name
	Kubernetes bool // those of the Kubernetes version's own list that a cluster of binaries needs: pause and CoreDNS
	Kubeadm    bool // all of that list: what a control plane of pods needs, which kubeadm makes
}

// Path of a file that a spec names. File is where it is, Name how the spec writes it: only that enters what is pinned.
type Path struct {
	Name string
	File string `json:"-"`
}

// Repository of packages.
type Repository struct {
	Type         string   // deb or rpm
	Arches       []string // amd64, arm64: only for these; empty: for all
	URL          string   // "" for Dir and Machine
	Suites       []string // deb
	Components   []string // deb; empty for a flat repository
	Keyring      string   // "embedded:NAME", an https URL, or ""
	KeyringFile  Path     // or a file
	Priority     int      // deb: higher wins, 500 unless given; rpm: lower wins, 99 unless given
	Trusted      bool     // nothing signs it and the spec vouches for it
	IgnoreExpiry bool     // check-valid-until: false, for snapshots of an archive
	Dir          Path     // a directory of package files without metadata
	Machine      bool     // the builder's own configured sources
}

// Binary is one program or file by URL, or picked members of an archive.
type Binary struct {
	Name     string
	Version  string
	URL      string
	Path     Path              // or a file beside the spec
	Checksum string            // URL of upstream's own checksum file
	SHA256   string            // or the sum itself
	Pick     map[string]string // path in the archive → name; empty: the download is the program
	Dst      string            // absolute directory on the node
	Mode     uint32            // permission bits; a program has 0755 unless given, a file 0644
	Roles    []bundle.Role
	// the directory of Dirs that it is a file of; Name is then its path from there, with the directory's name before it
	Dir string
}

// Dir is a directory beside the spec; its files go to Dst/Name on the node, each at its place below it.
type Dir struct {
	Name  string
	Path  Path
	Dst   string
	Roles []bundle.Role
}

// Addon is a manifest, a directory of manifests, or a chart, put into addons/. Exactly one of URL, Path, Dir and Chart
// is set.
type Addon struct {
	Name    string
	Version string
	URL     string
	Path    Path
	Dir     Path
	Chart   *Chart
	SHA256  string // of the download, optional; without it the lock pins what came first
	Roles   []bundle.Role
	Images  []string // that its manifests do not show; they are packed with its roles
}

// Chart is rendered when the bundle is built.
type Chart struct {
	URL       string // of a .tgz (https://…), or oci://registry/repository:version
	Repo      string // or a classic repository, with Name and Version
	Name      string
	Version   string
	Path      Path // or a .tgz or a directory beside the spec
	Release   string
	Namespace string
	Values    string // YAML
	ValueFile Path
}

// Image by the name that pods use.
type Image struct {
	Name    string
	Archive Path   // of docker save, podman, skopeo, or an OCI layout; its registry unless given
	Why     string // it is packed though no addon names it, "" if nobody said; for people
	Roles   []bundle.Role
}

// Hint says where objects of a kind name images: in CRDs only their authors know.
type Hint struct {
	APIVersion, Kind, Path string
}

// Raw is the text that the spec was read from.
func (s *Spec) Raw() []byte { return s.raw }

// Arch is the architecture in the words of the spec's package family.
func (s *Spec) Arch(goarch string) string {
	if s.OS.Family == RPM {
		return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
	}
	return goarch
}

// For returns the spec with {arch}, {uname} (x86_64, aarch64) and {kubernetes} filled in. The order stays. In the
// bundle's own name and its os, which are one for all architectures, {kubernetes} was filled in when the spec was read.
func (s *Spec) For(arch string) *Spec {
	r := replacer(arch, s.Kubernetes)
	out := *s
	out.Repositories = nil
	for _, x := range s.Repositories {
		if len(x.Arches) > 0 && !slices.Contains(x.Arches, arch) {
			continue
		}
		x.URL, x.Keyring = r.Replace(x.URL), r.Replace(x.Keyring)
		x.KeyringFile, x.Dir = fill(r, x.KeyringFile), fill(r, x.Dir)
		x.Suites, x.Components = texts(r, x.Suites), texts(r, x.Components)
		out.Repositories = append(out.Repositories, x)
	}
	out.Install = nil
	for _, x := range s.Install {
		x.Name = r.Replace(x.Name)
		out.Install = append(out.Install, x)
	}
	out.Baseline = fill(r, s.Baseline)
	out.Binaries, out.Files = binaries(r, s.Binaries), binaries(r, s.Files)
	out.Dirs = nil
	for _, x := range s.Dirs {
		x.Name, x.Path, x.Dst = r.Replace(x.Name), fill(r, x.Path), r.Replace(x.Dst)
		out.Dirs = append(out.Dirs, x)
	}
	out.Addons = nil
	for _, x := range s.Addons {
		x.Name, x.Version, x.URL, x.Images = r.Replace(x.Name), r.Replace(x.Version), r.Replace(x.URL),
			texts(r, x.Images)
		x.Path, x.Dir = fill(r, x.Path), fill(r, x.Dir)
		if x.Chart != nil {
			c := *x.Chart
			c.URL, c.Repo, c.Name, c.Version, c.Path = r.Replace(c.URL), r.Replace(c.Repo), r.Replace(c.Name),
				r.Replace(c.Version), fill(r, c.Path)
			c.Release, c.Namespace = r.Replace(c.Release), r.Replace(c.Namespace)
			c.Values, c.ValueFile = r.Replace(c.Values), fill(r, c.ValueFile)
			x.Chart = &c
		}
		out.Addons = append(out.Addons, x)
	}
	out.Images = nil
	for _, x := range s.Images {
		x.Name, x.Archive = r.Replace(x.Name), fill(r, x.Archive)
		out.Images = append(out.Images, x)
	}
	return &out
}

func replacer(arch, kubernetes string) *strings.Replacer {
	uname := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	return strings.NewReplacer("{arch}", arch, "{uname}", uname, "{kubernetes}", kubernetes)
}

func fill(r *strings.Replacer, p Path) Path {
	return Path{Name: r.Replace(p.Name), File: r.Replace(p.File)}
}

func texts(r *strings.Replacer, in []string) []string {
	var out []string
	for _, x := range in {
		out = append(out, r.Replace(x))
	}
	return out
}

func binaries(r *strings.Replacer, in []Binary) []Binary {
	var out []Binary
	for _, x := range in {
		x.Name, x.Version, x.URL, x.Checksum = r.Replace(x.Name), r.Replace(x.Version), r.Replace(x.URL),
			r.Replace(x.Checksum)
		x.Dst, x.Path = r.Replace(x.Dst), fill(r, x.Path)
		pick := map[string]string{}
		for k, v := range x.Pick {
			pick[r.Replace(k)] = r.Replace(v)
		}
		x.Pick = pick
		out = append(out, x)
	}
	return out
}
