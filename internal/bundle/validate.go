package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What a reader accepts at most. A manifest within these bounds decides all further ones: nothing is read beyond the
// sizes it names.
const (
	MaxManifest = 16 << 20 // bytes of manifest.json
	MaxMembers  = 20000
	maxMember   = 64 << 30  // bytes of one member
	maxTotal    = 256 << 30 // bytes of all members
)

func fault(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassBundle, code, err, kv...)
}

// ParseManifest reads manifest.json and checks everything in it that a reader relies on: format, names, paths, sums and
// sizes. The faults are of class bundle: "bundle.format", "bundle.manifest", "bundle.unsafe-path".
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > MaxManifest {
		return nil, fault("bundle.manifest", fmt.Errorf("%d bytes", len(data)))
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fault("bundle.manifest", err)
	}
	if head.Format > FormatExtended {
		return nil, fault("bundle.format", nil, "format", fmt.Sprint(head.Format), "known", fmt.Sprint(FormatExtended))
	}
	var m Manifest
	if err := unmarshal(data, &m); err != nil {
		return nil, fault("bundle.manifest", err)
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return &m, nil
}

// unmarshal decodes JSON from outside. An array of more than MaxMembers elements is refused first: an element of two
// bytes becomes one of hundreds in memory.
func unmarshal(data []byte, to any) error {
	if err := boundArrays(data); err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

func boundArrays(data []byte) error {
	var open []int // elements of each array that is open; -1 for an object
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		last := len(open) - 1
		if tok == json.Delim(']') || tok == json.Delim('}') {
			open = open[:last]
			continue
		}
		if last >= 0 && open[last] >= 0 {
			if open[last]++; open[last] > MaxMembers {
				return fmt.Errorf("an array of more than %d elements", MaxMembers)
			}
		}
		switch tok {
		case json.Delim('['):
			open = append(open, 0)
		case json.Delim('{'):
			open = append(open, -1)
		}
	}
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)

// Validate checks what ParseManifest promises; the builder calls it too before it writes.
func (m *Manifest) Validate() error {
	bad := func(f string, a ...any) error { return fault("bundle.manifest", fmt.Errorf(f, a...)) }
	switch {
	case m.Format != m.NeededFormat():
		return bad("format %d, and what it holds needs %d", m.Format, m.NeededFormat())
	case !namePattern.MatchString(m.Name):
		return bad("name %q", m.Name)
	case m.Arch != "amd64" && m.Arch != "arm64":
		return bad("arch %q", m.Arch)
	case m.Layout != Flat && m.Layout != Typed:
		return bad("layout %q", m.Layout)
	case len(m.Members) > MaxMembers:
		return bad("%d members", len(m.Members))
	}
	for _, s := range []string{m.Kubernetes, m.OS.Family, m.OS.ID, m.OS.Release, m.OS.Codename} {
		if len(s) > 128 || !plain(s) {
			return bad("%q", s)
		}
	}
	if err := m.Adopted.validate(); err != nil {
		return err
	}
	if err := m.validatePaths(); err != nil {
		return err
	}
	var total int64
	hasImages := false
	for _, e := range m.Members {
		if err := m.validateMember(e); err != nil {
			return err
		}
		if total += e.Size; total > maxTotal {
			return bad("more than %d bytes", int64(maxTotal))
		}
		hasImages = hasImages || e.Kind == Images
	}
	if err := m.checkTargets(); err != nil {
		return err
	}
	if err := m.validateImages(hasImages); err != nil {
		return err
	}
	return m.validateBase()
}

var codePattern = regexp.MustCompile(`^adopt\.[a-z-]{1,40}$`)

// validate bounds what is shown of an adopted bundle.
func (a *Adopted) validate() error {
	const findings, args, text = 100, 8, 4096
	if a == nil {
		return nil
	}
	ok := len(a.File) <= 255 && plain(a.File) && isSum(a.SHA256) && a.Size >= 0 && len(a.Unverified) <= findings
	for _, u := range a.Unverified {
		ok = ok && codePattern.MatchString(u.Code) && len(u.Args) <= args
		for k, v := range u.Args {
			ok = ok && len(k)+len(v) <= text && plain(k) && plain(v)
		}
	}
	if !ok {
		return fault("bundle.manifest", errors.New("adopted"))
	}
	return nil
}

// validatePaths makes sure that every member has a path of its own on every file system, and none is a directory of
// another.
func (m *Manifest) validatePaths() error {
	var t pathTree
	caser := cases.Fold()
	for _, n := range []string{ManifestName, SumsName, ImagesSumName} {
		t.add(fold(caser, n), n)
	}
	for _, e := range m.Members {
		if err := CheckPath(e.Path); err != nil {
			return err
		}
		if other, ok := t.add(fold(caser, e.Path), e.Path); !ok {
			return fault("bundle.duplicate", nil, "member", e.Path, "other", other)
		}
		if t.dirs > MaxMembers {
			return fault("bundle.manifest", fmt.Errorf("more than %d directories", MaxMembers))
		}
	}
	return nil
}

// pathTree has each element of each path once, so that checking a manifest takes time in proportion to its text,
// however deep its paths are.
type pathTree struct {
	nodes []pathNode // the first is the root
	below map[pathEdge]int
	dirs  int
	steps int // elements that were looked up
}

type pathNode struct {
	file string // the path that ends here, as it is written
	any  string // a path that goes through here
}

type pathEdge struct {
	parent  int
	element string
}

// add takes a path with its key. It says which other path is there already, is one of its directories, or needs it as a
// directory.
func (t *pathTree) add(key, p string) (other string, ok bool) {
	if t.below == nil {
		t.nodes, t.below = make([]pathNode, 1), map[pathEdge]int{}
	}
	at := 0
	for element := range strings.SplitSeq(key, "/") {
		t.steps++
		if f := t.nodes[at].file; f != "" {
			return f, false
		}
		if at > 0 && t.nodes[at].any == "" {
			t.nodes[at].any = p
			t.dirs++
		}
		next, known := t.below[pathEdge{at, element}]
		if !known {
			next = len(t.nodes)
			t.nodes = append(t.nodes, pathNode{})
			t.below[pathEdge{at, element}] = next
		}
		at = next
	}
	if n := t.nodes[at]; n.file != "" || n.any != "" {
		return cmp.Or(n.file, n.any), false
	}
	t.nodes[at].file = p
	return "", true
}

func (m *Manifest) validateMember(e Member) error {
	bad := func(f string, a ...any) error {
		return fault("bundle.manifest", fmt.Errorf("member %q: "+f, append([]any{e.Path}, a...)...))
	}
	if !slices.Contains([]Kind{Deb, RPM, Metadata, Binary, Addon, Images, ExtraFile, ExtraDir, SBOM}, e.Kind) {
		return bad("kind %q", e.Kind)
	}
	if !m.checkLayout(e) {
		return bad("kind %q has no such path", e.Kind)
	}
	for _, s := range []string{e.Name, e.Version, e.Source} {
		if len(s) > 4096 || !plain(s) {
			return bad("%q", s)
		}
	}
	if e.Size < 0 || e.Size > maxMember {
		return bad("size %d", e.Size)
	}
	if e.Kind == Images && e.SHA256 != "" || e.Kind != Images && !isSum(e.SHA256) {
		return bad("sha256 %q", e.SHA256)
	}
	if e.Mode&^0o777 != 0 {
		return bad("mode %o", e.Mode)
	}
	placed := e.Kind == Binary || e.Kind == ExtraFile || e.Kind == ExtraDir
	if placed && (!path.IsAbs(e.Dst) || path.Clean(e.Dst) != e.Dst || !plain(e.Dst)) {
		return bad("dst %q", e.Dst)
	}
	if e.From != "" && (e.From != FromBase || m.Base == nil || e.Kind == Images) {
		return bad("from %q", e.From)
	}
	if (e.Carried != 0) != (m.Base != nil && e.Kind == Images) || e.Carried < 0 || e.Carried > e.Size {
		return bad("carried %d", e.Carried)
	}
	return validRoles(e.Path, e.Roles)
}

func (m *Manifest) validateImages(hasMember bool) error {
	bad := func(f string, a ...any) error { return fault("bundle.manifest", fmt.Errorf(f, a...)) }
	if hasMember != (len(m.Images) > 0) {
		return bad("%d images, but images.tar: %v", len(m.Images), hasMember)
	}
	names := map[string]bool{}
	for _, im := range m.Images {
		if im.Name == "" || len(im.Name) > 512 || !plain(im.Name) || names[im.Name] {
			return bad("image %q", im.Name)
		}
		names[im.Name] = true
		if !isDigest(im.Digest) || im.Index != "" && !isDigest(im.Index) || im.Size < 0 {
			return bad("image %s: digest %q, index %q, size %d", im.Name, im.Digest, im.Index, im.Size)
		}
		if slices.ContainsFunc(im.Layers, func(d string) bool { return !isDigest(d) }) {
			return bad("image %s: layers %q", im.Name, im.Layers)
		}
		if im.Platform != "linux/"+m.Arch {
			return fault("bundle.image-arch", nil, "image", im.Name, "got", im.Platform, "want", "linux/"+m.Arch)
		}
		if err := validRoles(im.Name, im.Roles); err != nil {
			return err
		}
	}
	for _, p := range m.Install {
		if !packagePattern.MatchString(p.Name) {
			return bad("package %q", p.Name)
		}
		if err := validRoles(p.Name, p.Roles); err != nil {
			return err
		}
	}
	return nil
}

var packagePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]*$`)

// AllRoles in the order in which they are listed to people.
func AllRoles() []Role { return []Role{ControlPlane, Worker, Etcd, LoadBalancer} }

func validRoles(what string, roles []Role) error {
	for _, r := range roles {
		if !slices.Contains(AllRoles(), r) {
			return fault("bundle.manifest", fmt.Errorf("%s: role %q", what, r))
		}
	}
	return nil
}

// CheckArch says whether the bundle is for machines of that architecture; the fault is "bundle.wrong-arch".
func CheckArch(m *Manifest, arch string) error {
	if m.Arch != arch {
		return fault("bundle.wrong-arch", nil, "bundle", m.Name, "got", m.Arch, "want", arch)
	}
	return nil
}

// EncodeManifest gives manifest.json's bytes: indented, so that a person can read it, and the same for the same
// manifest.
func EncodeManifest(m *Manifest) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	if b.Len() > MaxManifest {
		return nil, fault("bundle.manifest", errors.New("too large"))
	}
	return b.Bytes(), nil
}

// SumsText is the one right content of SHA256SUMS for a manifest with that text: lines as sha256sum writes and checks
// them, for manifest.json and every member that the archive carries but images.tar.
func SumsText(manifest []byte, m *Manifest) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s  %s\n", sumHex(manifest), ManifestName)
	for _, e := range m.Members {
		if e.Kind != Images && e.From == "" {
			fmt.Fprintf(&b, "%s  %s\n", e.SHA256, e.Path)
		}
	}
	return b.Bytes()
}

// ImagesSumText is the content of the last member in the flat layout.
func ImagesSumText(sum string) []byte { return []byte(sum + "  " + ImagesName + "\n") }

// ImagesSumText is the content of the last member for images.tar, as carried, with that sum.
func (m *Manifest) ImagesSumText(sum string) []byte {
	return []byte(sum + "  " + m.ImagesPath() + "\n")
}

func sumHex(data []byte) string { h := sha256.Sum256(data); return hex.EncodeToString(h[:]) }
