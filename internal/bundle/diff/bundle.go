package diff

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// SizeOf tells the size of a layer by its digest; false when it is not known. A manifest has only the sizes of whole
// images, a lock and images.tar have those of their layers.
type SizeOf func(digest string) (int64, bool)

// Compare compares two bundles by their manifests; b is the newer one. size (nil: no sizes are known) makes the numbers
// of bytes exact.
func Compare(a, b *bundle.Manifest, rules Versions, size SizeOf) *Difference {
	return Sides(Manifest(a, size), Manifest(b, size), rules)
}

// Manifest gives what a bundle's manifest describes. Where something came from is not part of it: the same content from
// another mirror is no difference, and neither is a place in the archive that only follows from its layout. Of a
// difference bundle it gives the whole that it makes with its base.
func Manifest(m *bundle.Manifest, size SizeOf) Side {
	s := Side{Arch: m.Arch, Properties: []Property{
		{"name", m.Name}, {"kubernetes", m.Kubernetes}, {"layout", string(m.Layout)},
		{"os.family", m.OS.Family}, {"os.id", m.OS.ID}, {"os.release", m.OS.Release}, {"os.codename", m.OS.Codename},
	}}
	if m.Base != nil {
		s.Properties = append(s.Properties, Property{"base", m.Base.ID})
	}
	for _, e := range m.Members {
		if e.Kind != bundle.Images {
			s.Things = append(s.Things, member(m, e))
		}
	}
	for _, im := range m.Images {
		name, version := SplitImage(im.Name)
		t := Thing{Kind: Image, Name: name, Version: version, Sum: im.Digest, Origin: im.Index, Size: im.Size,
			More: roles(im.Roles)}
		for _, l := range im.Layers {
			b := Blob{Digest: l, Size: -1}
			if size != nil {
				if n, ok := size(l); ok {
					b.Size = n
				}
			}
			t.Blobs = append(t.Blobs, b)
		}
		s.Things = append(s.Things, t)
	}
	for _, p := range m.Install {
		s.Things = append(s.Things, Thing{Kind: Install, Name: p.Name, More: roles(p.Roles)})
	}
	return s
}

func member(m *bundle.Manifest, e bundle.Member) Thing {
	t := Thing{Kind: Kind(e.Kind), Name: e.Name, Version: e.Version, Sum: e.SHA256, Size: e.Size, More: roles(e.Roles)}
	switch e.Kind {
	case bundle.Metadata:
		t.Name = unsummed(m.Rel(e))
	case bundle.SBOM:
		t.Kind, t.Name = Metadata, e.Path
	case bundle.ExtraDir: // each of its files is a member
		t.Name = m.Rel(e)
	case bundle.Addon:
		t.More = append(t.More, Property{"file", m.Rel(e)})
	}
	if target := m.Target(e); target != "" {
		t.More = append(t.More, Property{"target", target}, Property{"mode", fmt.Sprintf("%04o", e.Mode)})
	}
	if t.Name == "" {
		t.Name = m.Rel(e)
	}
	return t
}

// unsummed drops the sum that repodata has before its files' names: it says no more than the content's own.
func unsummed(p string) string {
	dir, file := path.Split(p)
	sum, rest, ok := strings.Cut(file, "-")
	if ok && len(sum) >= 32 && strings.Trim(sum, "0123456789abcdef") == "" {
		file = rest
	}
	return dir + file
}

func roles(list []bundle.Role) []Property {
	if len(list) == 0 {
		return nil
	}
	var words []string
	for _, r := range list {
		words = append(words, string(r))
	}
	slices.Sort(words)
	return []Property{{"roles", strings.Join(words, ",")}}
}

// SplitImage cuts an image's name into its repository and what follows: a tag (1.2), a digest (@sha256:…), or both
// (1.2@sha256:…).
func SplitImage(name string) (repository, version string) {
	name, digest, pinned := strings.Cut(name, "@")
	repository = name
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') { // else it is a port
		repository, version = name[:i], name[i+1:]
	}
	if pinned {
		version += "@" + digest
	}
	return repository, version
}
