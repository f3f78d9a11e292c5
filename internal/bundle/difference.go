package bundle

import (
	"fmt"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// ID of a bundle whose manifest.json has that text.
func ID(manifest []byte) string { return sumHex(manifest) }

// Full is the manifest of the full bundle that a difference makes together with its base; of a full bundle it is the
// manifest itself.
func (m *Manifest) Full() *Manifest {
	if m.Base == nil {
		return m
	}
	f := *m
	f.Base = nil
	f.Members = slices.Clone(m.Members)
	for i := range f.Members {
		f.Members[i].From, f.Members[i].Carried = "", 0
	}
	f.Format = f.NeededFormat()
	return &f
}

// NewDifference is the manifest of the difference bundle from base to full: what the base has by sum and size is not
// carried. base may itself be the manifest of a difference; baseID is the ID of the full bundle that it stands for.
// imagesCarried is the size of the images.tar that the difference carries (its documents and the blobs that Carry
// names), 0 without images. A base for another architecture is the fault "bundle.wrong-arch", the same bundle as base
// "bundle.no-difference".
func NewDifference(full, base *Manifest, baseID string, imagesCarried int64) (*Manifest, error) {
	if err := CheckArch(base, full.Arch); err != nil {
		return nil, err
	}
	text, err := EncodeManifest(full)
	if err != nil {
		return nil, err
	}
	if baseID == ID(text) {
		return nil, fault("bundle.no-difference", nil, "name", full.Name, "arch", full.Arch)
	}
	has := map[content]bool{}
	for _, e := range base.Members {
		has[contentOf(e)] = e.Kind != Images
	}
	d := *full
	d.Format = FormatExtended
	d.Base = &Base{ID: baseID, Name: base.Name, Arch: base.Arch, Full: ID(text)}
	d.Members = slices.Clone(full.Members)
	for i := range d.Members {
		switch e := &d.Members[i]; {
		case e.Kind == Images:
			e.Carried = imagesCarried
		case has[contentOf(*e)]:
			e.From = FromBase
		}
	}
	return &d, d.Validate()
}

type content struct {
	sum  string
	size int64
}

func contentOf(e Member) content { return content{e.SHA256, e.Size} }

// Carry lists the digests of the blobs that a difference bundle with those images must carry: all but those of which
// the base's manifest says that it has them, which are the blobs of images with the same manifest and the layers of any
// image.
func Carry(images []image.Image, base *Manifest) map[string]bool {
	has := map[string]bool{}
	for _, im := range base.Images {
		has[im.Digest] = true
		for _, l := range im.Layers {
			has[l] = true
		}
	}
	carry := map[string]bool{}
	for _, im := range images {
		if !has[im.Manifest.Digest] {
			carry[im.Manifest.Digest], carry[im.Config.Digest] = true, true
		}
		for _, l := range im.Layers {
			if !has[l.Digest] {
				carry[l.Digest] = true
			}
		}
	}
	// A configuration is in the base when an image that is there as a whole has it too.
	for _, im := range images {
		if has[im.Manifest.Digest] {
			delete(carry, im.Config.Digest)
		}
	}
	return carry
}

// validateBase checks that a difference and its base make the bundle that the difference says.
func (m *Manifest) validateBase() error {
	bad := func(f string, a ...any) error { return fault("bundle.manifest", fmt.Errorf("base: "+f, a...)) }
	b := m.Base
	switch {
	case b == nil:
		return nil
	case !isSum(b.ID) || !isSum(b.Full) || b.ID == b.Full:
		return bad("id %q, full %q", b.ID, b.Full)
	case !namePattern.MatchString(b.Name):
		return bad("name %q", b.Name)
	case b.Arch != m.Arch:
		return bad("arch %q", b.Arch)
	}
	text, err := EncodeManifest(m.Full())
	if err != nil {
		return err
	}
	if got := ID(text); got != b.Full {
		return bad("the full bundle has the id %s, not %s", got, b.Full)
	}
	return nil
}
