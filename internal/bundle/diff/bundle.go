package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// SizeOf tells the size of a layer by its digest; false when it is not known. A manifest has only the sizes of whole images, a lock and
// images.tar have those of their layers.
type SizeOf func(digest string) (int64, bool)

// Compare compares two bundles by their manifests; b is the newer one. size (nil: no sizes are known) makes the numbers of bytes exact.
func Compare(a, b *bundle.Manifest, rules Versions, size SizeOf) *Difference {
	return Sides(Manifest(a, size), Manifest(b, size), rules)
}

// Manifest gives what a bundle's manifest describes. Where something came from is not part of it: the same content from another mirror is
// no difference.
func Manifest(m *bundle.Manifest, size SizeOf) Side {
	s := Side{Arch: m.Arch, Properties: []Property{
		{"name", m.Name}, {"kubernetes", m.Kubernetes},
		{"os.family", m.OS.Family}, {"os.id", m.OS.ID}, {"os.release", m.OS.Release}, {"os.codename", m.OS.Codename},
	}}
	for _, e := range m.Members {
		if e.Kind == bundle.Images {
			continue
		}
		t := Thing{Kind: Kind(e.Kind), Name: e.Name, Version: e.Version, Sum: e.SHA256, Size: e.Size, More: roles(e.Roles)}
		if e.Kind == bundle.Metadata || e.Name == "" {
			t.Name = e.Path
		}
		if e.Kind == bundle.Binary {
			t.More = append(t.More, Property{"path", e.Path}, Property{"dst", e.Dst}, Property{"mode", fmt.Sprintf("%04o", e.Mode)})
		}
		if e.Kind == bundle.Addon {
			t.More = append(t.More, Property{"path", e.Path})
		}
		s.Things = append(s.Things, t)
	}
	for _, im := range m.Images {
		name, version := SplitImage(im.Name)
		t := Thing{Kind: Image, Name: name, Version: version, Sum: im.Digest, Origin: im.Index, Size: im.Size, More: roles(im.Roles)}
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

// SplitImage cuts an image's name into its repository and what follows: a tag (1.2), a digest (@sha256:…), or both (1.2@sha256:…).
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
