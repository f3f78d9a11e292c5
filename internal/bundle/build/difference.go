package build

import (
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/diff"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/pack"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// openBase reads the head of the bundle that the new one is a difference to; nil if it is none.
func (b *builder) openBase(arch string) (*bundle.Archive, error) {
	if b.Base == "" {
		return nil, nil
	}
	file := strings.ReplaceAll(b.Base, "{arch}", arch)
	a, err := bundle.Open(file)
	if err == nil {
		err = bundle.CheckArch(a.Manifest(), arch)
	}
	if f := event.AsFault(err); err != nil && f.Code == "bundle.open" {
		return nil, event.NewFault(event.ClassUsage, "build.base", f.Err, "file", file, "hole", "{arch}")
	}
	return a, err
}

// difference turns the plan into that of a difference to a base, if there is one.
func (p *plan) difference() error {
	a, err := p.openBase(p.arch)
	if a == nil || err != nil {
		return err
	}
	p.base = a.Manifest()
	id := a.ID()
	size := int64(0)
	if len(p.images) > 0 {
		parts, n, err := p.imageArchive()
		if err != nil || len(parts) == 0 {
			return err
		}
		size = n
	}
	p.manifest, err = bundle.NewDifference(p.manifest, p.base, id, size)
	if err != nil {
		return err
	}
	p.file = strings.TrimSuffix(p.file, ".tar.gz") + "-from-" + id[:8] + ".tar.gz"
	return nil
}

// imageArchive is the content of images.tar and its size: all of it, or of a difference only what its base has not.
func (p *plan) imageArchive() ([]pack.Part, int64, error) {
	layout, err := image.Plan(p.images)
	if err != nil {
		return nil, 0, err
	}
	carried := map[string]bool{}
	if p.base != nil {
		carried = bundle.Carry(p.images, p.base)
	}
	var members []pack.Member
	for _, t := range layout.Texts() {
		members = append(members, pack.Member{Path: t.Name, Parts: []pack.Part{{Data: t.Data}}})
	}
	for _, d := range layout.Blobs() {
		if h, err := image.Hex(d.Digest); err != nil {
			return nil, 0, err
		} else if p.base == nil || carried[d.Digest] {
			members = append(members, pack.Member{Path: image.BlobPath(d.Digest),
				Parts: []pack.Part{{SHA256: h, Size: d.Size}}})
		}
	}
	return pack.Archive(members, time.Unix(0, 0).UTC())
}

// moved compares what two locks pin, over the architectures of a build.
func moved(old, next *lock.Lock, arches []string) map[string]*diff.Difference {
	out := map[string]*diff.Difference{}
	for _, arch := range arches {
		d := diff.Sides(side(old.Set(arch)), side(next.Set(arch)), Versions())
		if !d.Empty() {
			out[arch] = d
		}
	}
	return out
}

// side lists what a lock pins.
func side(s *lock.Set) diff.Side {
	var out diff.Side
	add := func(kind diff.Kind, name, version, sum string, size int64, blobs ...diff.Blob) {
		out.Things = append(out.Things, diff.Thing{Kind: kind, Name: name, Version: version, Sum: sum, Size: size,
			Blobs: blobs})
	}
	if s.Packages != nil {
		for _, p := range s.Packages.Packages {
			kind := diff.Deb
			if strings.HasSuffix(p.URL, ".rpm") {
				kind = diff.RPM
			}
			add(kind, p.Name, p.Version, p.SHA256, p.Size)
		}
	}
	for _, f := range s.Files {
		add(diff.Binary, f.Name, f.Version, f.SHA256, f.Size)
	}
	for _, a := range s.Addons {
		for _, f := range a.Files {
			add(diff.Addon, f.Path, "", f.SHA256, f.Size)
		}
	}
	for _, im := range s.Images {
		blobs := []diff.Blob{{Digest: im.Manifest.Digest, Size: im.Manifest.Size},
			{Digest: im.Config.Digest, Size: im.Config.Size}}
		for _, l := range im.Layers {
			blobs = append(blobs, diff.Blob{Digest: l.Digest, Size: l.Size})
		}
		name, version := diff.SplitImage(im.Name)
		add(diff.Image, name, version, im.Manifest.Digest, 0, blobs...)
	}
	return out
}
