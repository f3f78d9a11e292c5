package bundle

// FormatVersion of manifest.json is that of a full bundle in the flat layout. What an older reader would misread has
// FormatExtended: a difference, the typed layout, kinds that format 1 does not have. NeededFormat says which one a
// manifest must have; a reader refuses a higher one than it knows.
const (
	FormatVersion  = 1
	FormatExtended = 2
)

// The names of the members that are not payload. Manifest and Sums are the first two members, ImagesSum is the last.
// ImagesName is that of the flat layout; Manifest.ImagesPath follows the layout.
const (
	ManifestName  = "manifest.json"
	SumsName      = "SHA256SUMS"
	ImagesName    = "images.tar"
	ImagesSumName = "images.tar.sha256"
	SBOMName      = "sbom.spdx.json"
)

// Kind of a member.
type Kind string

// The kinds. A deb or rpm is installed by the node's own package manager, which chooses by Metadata (a Packages file of
// a flat apt repository, repodata/); a Binary is placed at Dst, so are an ExtraFile and the files of a directory, each
// an ExtraDir; an Addon is a manifest that is applied; SBOM is the bill of materials, which no node gets; Images is the
// one images.tar.
const (
	Deb       Kind = "deb"
	RPM       Kind = "rpm"
	Metadata  Kind = "metadata"
	Binary    Kind = "binary"
	Addon     Kind = "addon"
	Images    Kind = "images"
	ExtraFile Kind = "file" // format 2
	ExtraDir  Kind = "dir"  // format 2
	SBOM      Kind = "sbom" // format 2
)

// Layout of the members in the archive.
type Layout string

// The layouts. Flat has packages, programs and images.tar at the root and addons below addons/. Typed has a directory
// for each kind: pkg/ bin/ file/ dir/ image/.
const (
	Flat  Layout = ""
	Typed Layout = "typed" // format 2
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

// Manifest describes a bundle for one architecture. It holds no time and no path of the builder: the same spec and lock
// give the same bytes.
type Manifest struct {
	Format     int    `json:"format"`
	Name       string `json:"name"`
	Arch       string `json:"arch"`             // amd64, arm64
	Layout     Layout `json:"layout,omitempty"` // of the members
	Kubernetes string `json:"kubernetes"`       // v1.34.2
	OS         OS     `json:"os"`
	Base       *Base  `json:"base,omitempty"` // of a difference bundle
	// of a bundle that was made of an archive of another tool
	Adopted *Adopted `json:"adopted,omitempty"`
	// in the order of the archive, without manifest.json, SHA256SUMS and images.tar.sha256
	Members []Member `json:"members"`
	Images  []Image  `json:"images"`
	// Install lists the packages that the spec named, with their roles; their dependencies are chosen on the node by
	// its own package manager from the metadata.
	Install []Package `json:"install"`
}

// Base says what a difference bundle needs beside itself, and what the two of them make.
type Base struct {
	ID   string `json:"id"`   // of the bundle it is the difference to
	Name string `json:"name"` //
	Arch string `json:"arch"` // that of the difference
	Full string `json:"full"` // ID of the full bundle that comes out
}

// Adopted says which archive a bundle was made of, and what that archive cannot prove.
type Adopted struct {
	File       string       `json:"file"` // base name
	SHA256     string       `json:"sha256"`
	Size       int64        `json:"size"`
	Unverified []Unverified `json:"unverified"`
}

// Unverified is a fact that nothing in an adopted archive proves, or something that the archive lacks: the code and the
// arguments of a sentence.
type Unverified struct {
	Code string            `json:"code"`
	Args map[string]string `json:"args,omitempty"`
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
	Name    string `json:"name"`              // package, program, addon or directory name
	Version string `json:"version,omitempty"` //
	Source  string `json:"source,omitempty"`  // upstream URL
	Size    int64  `json:"size"`              // bytes; of images.tar always that of the full bundle's
	SHA256  string `json:"sha256,omitempty"`  // empty only for images.tar, whose sum is in the last member
	Roles   []Role `json:"roles,omitempty"`   // the roles that need it; empty for dependencies and metadata
	Dst     string `json:"dst,omitempty"`     // absolute directory on the node, for Binary, ExtraFile and ExtraDir
	Mode    uint32 `json:"mode,omitempty"`    // permission bits on the node, for Binary, ExtraFile and ExtraDir
	From    string `json:"from,omitempty"`    // FromBase: not carried, the base has a member with this sha256
	Carried int64  `json:"carried,omitempty"` // bytes of images.tar in a difference bundle, which holds fewer blobs
}

// FromBase marks a member of a difference bundle that its base has.
const FromBase = "base"

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
