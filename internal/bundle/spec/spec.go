// Package spec is the description of what goes into a bundle: packages, binaries, addons, images and the roles that need each. Its
// format is described in docs/bundle-format.md and by the comments of assets/bundle.yaml.
package spec

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Version of the format.
const Version = 1

// Spec of a bundle, for every architecture.
type Spec struct {
	Name       string
	Kubernetes string // v1.34.2
	OS         bundle.OS

	Repositories []Repository
	Install      []bundle.Package
	Binaries     []Binary
	Addons       []Addon
	Images       []Image

	raw []byte
}

// Repository of packages.
type Repository struct {
	Type         string // deb
	URL          string
	Suites       []string
	Components   []string
	Keyring      string // "embedded:NAME" or a path, relative to the spec
	IgnoreExpiry bool   // check-valid-until: false, for snapshots of an archive
}

// Binary is one program by URL, or picked members of an archive.
type Binary struct {
	Name     string
	Version  string
	URL      string
	Checksum string            // URL of upstream's own checksum file
	SHA256   string            // or the sum itself
	Pick     map[string]string // path in the archive → name; empty: the download is the program
	Dst      string            // absolute directory on the node
	Mode     uint32            // permission bits, 0755 unless given
	Roles    []bundle.Role
}

// Addon is a file that is put into addons/.
type Addon struct {
	Name    string
	Version string
	URL     string
	SHA256  string // optional; without it the lock pins what came first
	Roles   []bundle.Role
}

// Image by the name that pods use.
type Image struct {
	Name  string
	Roles []bundle.Role
}

// Raw is the text that the spec was read from.
func (s *Spec) Raw() []byte { return s.raw }

// For returns the spec with {arch} and {kubernetes} filled in. The names of roles and the order stay as they are.
func (s *Spec) For(arch string) *Spec {
	r := strings.NewReplacer("{arch}", arch, "{kubernetes}", s.Kubernetes)
	out := *s
	out.Repositories = nil
	for _, x := range s.Repositories {
		x.URL = r.Replace(x.URL)
		out.Repositories = append(out.Repositories, x)
	}
	out.Binaries = nil
	for _, x := range s.Binaries {
		x.Version, x.URL, x.Checksum, x.Dst = r.Replace(x.Version), r.Replace(x.URL), r.Replace(x.Checksum), r.Replace(x.Dst)
		pick := map[string]string{}
		for k, v := range x.Pick {
			pick[r.Replace(k)] = r.Replace(v)
		}
		x.Pick = pick
		out.Binaries = append(out.Binaries, x)
	}
	out.Addons = nil
	for _, x := range s.Addons {
		x.Version, x.URL = r.Replace(x.Version), r.Replace(x.URL)
		out.Addons = append(out.Addons, x)
	}
	out.Images = nil
	for _, x := range s.Images {
		x.Name = r.Replace(x.Name)
		out.Images = append(out.Images, x)
	}
	return &out
}
