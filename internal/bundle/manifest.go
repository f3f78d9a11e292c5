// Package bundle is the offline bundle: its spec, lock and manifest, how it is fetched and written, read and verified. The format is
// described in docs/bundle-format.md.
package bundle

// FormatVersion of manifest.json. A reader refuses a higher one.
const FormatVersion = 1

// The names of the members that are not payload. Manifest and Sums are the first two members, ImagesSum is the last.
const (
	ManifestName  = "manifest.json"
	SumsName      = "SHA256SUMS"
	ImagesName    = "images.tar"
	ImagesSumName = "images.tar.sha256"
)

// Kind of a member.
type Kind string

// The kinds. A deb or rpm is installed by the node's own package manager, which chooses by Metadata (a Packages file of a flat apt
// repository, later repodata/); a Binary is placed at Dst; an Addon is a manifest that is applied; Images is the one images.tar.
const (
	Deb      Kind = "deb"
	RPM      Kind = "rpm"
	Metadata Kind = "metadata"
	Binary   Kind = "binary"
	Addon    Kind = "addon"
	Images   Kind = "images"
)

// Role of a node, in the field's terms; the spec, the manifest and internal/config share these words.
type Role string

// The roles.
const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
	Etcd         Role = "etcd"
	LoadBalancer Role = "loadbalancer"
)

// Manifest describes a bundle for one architecture. It holds no time and no path of the builder: the same spec and lock give the same
// bytes.
type Manifest struct {
	Format     int      `json:"format"`
	Name       string   `json:"name"`
	Arch       string   `json:"arch"`       // amd64, arm64
	Kubernetes string   `json:"kubernetes"` // v1.34.2
	OS         OS       `json:"os"`
	Members    []Member `json:"members"` // in the order of the archive, without manifest.json, SHA256SUMS and images.tar.sha256
	Images     []Image  `json:"images"`
	// Install lists the packages that the spec named, with their roles; their dependencies are chosen on the node by its own package
	// manager from the metadata.
	Install []Package `json:"install"`
}

// OS that the packages are for, in the terms of os-release.
type OS struct {
	Family   string `json:"family"`   // debian, rpm
	ID       string `json:"id"`       // debian, ubuntu, openEuler, centos
	Release  string `json:"release"`  // VERSION_ID, such as 12
	Codename string `json:"codename"` // VERSION_CODENAME, such as bookworm
}

// Package that the spec named.
type Package struct {
	Name  string `json:"name"`
	Roles []Role `json:"roles"`
}

// Member of the archive.
type Member struct {
	Path    string `json:"path"` // clean, relative, slash-separated
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"`              // package, program or addon name
	Version string `json:"version,omitempty"` //
	Source  string `json:"source,omitempty"`  // upstream URL
	Size    int64  `json:"size"`              // bytes
	SHA256  string `json:"sha256,omitempty"`  // empty only for images.tar, whose sum is in the last member
	Roles   []Role `json:"roles,omitempty"`   // the roles that need it; empty for dependencies and metadata
	Dst     string `json:"dst,omitempty"`     // absolute directory on the node, for Binary
	Mode    uint32 `json:"mode,omitempty"`    // permission bits on the node, for Binary
}

// Image in images.tar.
type Image struct {
	Name     string   `json:"name"`   // as pods name it: registry.k8s.io/pause:3.10.1
	Digest   string   `json:"digest"` // of the platform's manifest, sha256:…
	Size     int64    `json:"size"`   // of its compressed blobs, in bytes
	Roles    []Role   `json:"roles"`
	Platform string   `json:"platform"`         // linux/arm64
	Index    string   `json:"index,omitempty"`  // digest of the upstream index it was chosen from
	Layers   []string `json:"layers,omitempty"` // blob digests
}
