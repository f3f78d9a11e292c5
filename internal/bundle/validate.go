package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/event"
)

// What a reader accepts at most. A manifest within these bounds decides all further ones: nothing is read beyond the sizes it names.
const (
	MaxManifest = 16 << 20 // bytes of manifest.json
	MaxMembers  = 20000
	maxMember   = 64 << 30  // bytes of one member
	maxTotal    = 256 << 30 // bytes of all members
)

func fault(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassBundle, code, err, kv...)
}

// ParseManifest reads manifest.json and checks everything in it that a reader relies on: format, names, paths, sums and sizes. The
// faults are of class bundle: "bundle.format", "bundle.manifest", "bundle.unsafe-path".
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
	if head.Format > FormatVersion {
		return nil, fault("bundle.format", nil, "format", fmt.Sprint(head.Format), "known", fmt.Sprint(FormatVersion))
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&m); err != nil {
		return nil, fault("bundle.manifest", err)
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return &m, nil
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)

// Validate checks what ParseManifest promises; the builder calls it too before it writes.
func (m *Manifest) Validate() error {
	bad := func(f string, a ...any) error { return fault("bundle.manifest", fmt.Errorf(f, a...)) }
	switch {
	case m.Format != FormatVersion:
		return bad("format %d", m.Format)
	case !namePattern.MatchString(m.Name):
		return bad("name %q", m.Name)
	case m.Arch != "amd64" && m.Arch != "arm64":
		return bad("arch %q", m.Arch)
	case len(m.Members) > MaxMembers:
		return bad("%d members", len(m.Members))
	}
	seen := map[string]string{} // lower case → path
	for _, n := range []string{ManifestName, SumsName, ImagesSumName} {
		seen[strings.ToLower(n)] = n
	}
	var total int64
	hasImages := false
	for _, e := range m.Members {
		if err := CheckPath(e.Path); err != nil {
			return err
		}
		low := strings.ToLower(e.Path)
		if old, ok := seen[low]; ok {
			return fault("bundle.duplicate", nil, "member", e.Path, "other", old)
		}
		seen[low] = e.Path
		if err := e.validate(); err != nil {
			return err
		}
		if total += e.Size; total > maxTotal {
			return bad("more than %d bytes", int64(maxTotal))
		}
		hasImages = hasImages || e.Kind == Images
	}
	for low, p := range seen {
		for dir := path.Dir(low); dir != "."; dir = path.Dir(dir) {
			if other, ok := seen[dir]; ok {
				return fault("bundle.duplicate", nil, "member", p, "other", other)
			}
		}
	}
	return m.validateImages(hasImages)
}

func (e Member) validate() error {
	bad := func(f string, a ...any) error {
		return fault("bundle.manifest", fmt.Errorf("member %q: "+f, append([]any{e.Path}, a...)...))
	}
	if !slices.Contains([]Kind{Deb, RPM, Metadata, Binary, Addon, Images}, e.Kind) {
		return bad("kind %q", e.Kind)
	}
	if (e.Kind == Images) != (e.Path == ImagesName) {
		return bad("kind %q", e.Kind)
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
	if e.Kind == Binary && (!path.IsAbs(e.Dst) || path.Clean(e.Dst) != e.Dst || !plain(e.Dst)) {
		return bad("dst %q", e.Dst)
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

// CheckPath says whether a member may have this path: relative, clean, slash-separated, no link to anywhere else, nothing that a
// shell, a terminal or another operating system would take for something else. The fault is "bundle.unsafe-path".
func CheckPath(p string) error {
	bad := func() error { return fault("bundle.unsafe-path", nil, "member", p) }
	if p == "" || len(p) > 1024 || path.IsAbs(p) || path.Clean(p) != p || p == "." || !plain(p) || strings.ContainsAny(p, `\:*?"<>|`) {
		return bad()
	}
	for _, s := range strings.Split(p, "/") {
		if s == ".." || len(s) > 255 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") {
			return bad()
		}
	}
	return nil
}

// plain says that s is UTF-8 without control, format or unassigned characters.
func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func isDigest(s string) bool {
	h, ok := strings.CutPrefix(s, "sha256:")
	return ok && isSum(h)
}

// CheckArch says whether the bundle is for machines of that architecture; the fault is "bundle.wrong-arch".
func CheckArch(m *Manifest, arch string) error {
	if m.Arch != arch {
		return fault("bundle.wrong-arch", nil, "bundle", m.Name, "got", m.Arch, "want", arch)
	}
	return nil
}

// Needs lists the members that a node with these roles needs, and those that every node needs for its package manager to choose from
// (dependencies and metadata, when any package is installed for one of the roles). images.tar is among them when an image is needed.
func (m *Manifest) Needs(roles ...Role) []Member {
	packages := false
	for _, p := range m.Install {
		packages = packages || sharesRole(p.Roles, roles)
	}
	images := len(m.ImagesFor(roles...)) > 0
	var out []Member
	for _, e := range m.Members {
		switch e.Kind {
		case Deb, RPM, Metadata:
			if packages && (len(e.Roles) == 0 || sharesRole(e.Roles, roles)) {
				out = append(out, e)
			}
		case Images:
			if images {
				out = append(out, e)
			}
		default:
			if sharesRole(e.Roles, roles) {
				out = append(out, e)
			}
		}
	}
	return out
}

// ImagesFor lists the images that a node with these roles needs.
func (m *Manifest) ImagesFor(roles ...Role) []Image {
	var out []Image
	for _, im := range m.Images {
		if sharesRole(im.Roles, roles) {
			out = append(out, im)
		}
	}
	return out
}

func sharesRole(a, b []Role) bool {
	return slices.ContainsFunc(a, func(r Role) bool { return slices.Contains(b, r) })
}

// Member returns the member with that path.
func (m *Manifest) Member(p string) (Member, bool) {
	for _, e := range m.Members {
		if e.Path == p {
			return e, true
		}
	}
	return Member{}, false
}

// EncodeManifest gives manifest.json's bytes: indented, so that a person can read it, and the same for the same manifest.
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

// SumsText is the one right content of SHA256SUMS for a manifest with that text: lines as sha256sum writes and checks them, for
// manifest.json and every member but images.tar.
func SumsText(manifest []byte, m *Manifest) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s  %s\n", sumHex(manifest), ManifestName)
	for _, e := range m.Members {
		if e.Kind != Images {
			fmt.Fprintf(&b, "%s  %s\n", e.SHA256, e.Path)
		}
	}
	return b.Bytes()
}

// ImagesSumText is the content of the last member.
func ImagesSumText(sum string) []byte { return []byte(sum + "  " + ImagesName + "\n") }

func sumHex(data []byte) string { h := sha256.Sum256(data); return hex.EncodeToString(h[:]) }
