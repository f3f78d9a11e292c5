package image

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Resolve finds an image by the name that pods give it, checks it like one from a registry, and remembers where its
// layers lie. A source that gives no full name to its only image has it under any. Docker archives keep no manifest:
// one is made from the layers as they are, always the same, and Own says that its digest is not the registry's; their
// layers are read and held against the configuration here, those of other sources when they are read by digest.
//
// Faults beside those of Assemble and Choose, all of class failed: "image.source" (damaged), "image.source-none" with
// what there is, "image.source-twice", "image.source-digest" (a docker archive has no digest to pin).
func (s *Source) Resolve(ctx context.Context, name string, want Want) (*Resolved, error) {
	ref, err := ParseName(name)
	if err != nil {
		return nil, nameFault(name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *Resolved
	var problem error
	for _, e := range s.match(ref) {
		r, err := s.resolveEntry(ctx, name, e, want)
		switch {
		case err != nil:
			// Of several platforms under one name only the wanted one counts; the first problem is told if there is
			// none.
			problem = firstError(problem, s.fault(ctx, err))
		case found != nil && found.Manifest.Digest != r.Manifest.Digest:
			return nil, failed("image.source-twice", nil, "image", name, "file", s.path, "digest",
				found.Manifest.Digest, "other", r.Manifest.Digest)
		default:
			found = r
		}
	}
	switch {
	case found != nil:
		return found, s.keep(ctx, found)
	case problem != nil:
		return nil, problem
	}
	var has []string
	for _, e := range s.entries {
		has = append(has, e.names...)
	}
	if len(has) > 20 {
		has = append(has[:20], "…")
	}
	return nil, failed("image.source-none", nil, "image", name, "file", s.path, "has", strings.Join(has, ", "))
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// match gives the entries that a name may mean, by the first rule that finds any: its digest, its full name, a bare
// tag, being the only one.
func (s *Source) match(ref Ref) []entry {
	full := []string{ref.String()}
	if ref.Tag != "" {
		full = append(full, ref.Repository()+":"+ref.Tag)
	}
	rules := []func(e entry) bool{
		func(e entry) bool { return ref.Digest != "" && e.desc.Digest == ref.Digest },
		func(e entry) bool {
			return slices.ContainsFunc(full, func(n string) bool { return slices.Contains(e.names, n) })
		},
		func(e entry) bool { return ref.Tag != "" && len(e.names) == 0 && slices.Contains(e.tags, ref.Tag) },
		func(e entry) bool { return len(s.entries) == 1 && len(e.names) == 0 },
	}
	for _, rule := range rules {
		var out []entry
		for _, e := range s.entries {
			if rule(e) {
				out = append(out, e)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// keep remembers where the layers are.
func (s *Source) keep(ctx context.Context, r *Resolved) error {
	for _, l := range r.Layers {
		p, err := s.place(l.Digest)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = failed("image.source-layer", nil, "image", r.Name, "file", s.path, "blob", l.Digest)
			}
			return s.fault(ctx, err)
		}
		if p.Size != l.Size {
			return s.fault(ctx, fmt.Errorf("layer %s of %s has %d bytes and should have %d", l.Digest, r.Name, p.Size,
				l.Size))
		}
		s.blobs[l.Digest] = p
	}
	return nil
}

func (s *Source) resolveEntry(ctx context.Context, name string, e entry, want Want) (*Resolved, error) {
	if e.docker != nil {
		return s.fromDocker(ctx, name, e.docker, want)
	}
	raw, err := s.bytesOf(name, e.desc)
	if err != nil {
		return nil, err
	}
	mediaType, isIndex, err := Kind(name, raw, e.desc.MediaType)
	if err != nil {
		return nil, err
	}
	p := Parts{ManifestType: mediaType, ManifestRaw: raw}
	if isIndex {
		child, err := Choose(name, raw, want, s.platformOf(name))
		if err != nil {
			return nil, err
		}
		p.Index, p.IndexRaw = e.desc.Digest, raw
		if p.ManifestRaw, err = s.bytesOf(name, child); errors.Is(err, fs.ErrNotExist) {
			// docker save writes the whole index and only the platforms that it has.
			var has []string
			there, err := s.indexPlatforms(name, raw)
			for _, p := range there {
				has = append(has, p.full())
			}
			return nil, errors.Join(err, noPlatform(name, want, has...))
		} else if err != nil {
			return nil, err
		}
		if p.ManifestType, _, err = Kind(name, p.ManifestRaw, child.MediaType); err != nil {
			return nil, err
		}
	}
	doc, err := ReadManifest(name, p.ManifestRaw, want.Runtime)
	if err != nil {
		return nil, err
	}
	if p.ConfigRaw, err = s.bytesOf(name, doc.Config); err != nil {
		return nil, err
	}
	return Assemble(name, p, want)
}

// layer is what a layer file of a docker archive is.
type layer struct {
	desc Descriptor
	diff string // digest of the plain tar
}

func (s *Source) dockerConfig(name string, d *dockerEntry) ([]byte, config, error) {
	file, err := within("", d.Config)
	if err != nil {
		return nil, config{}, err
	}
	p, err := s.store.find(file)
	if err != nil {
		return nil, config{}, err
	}
	raw, err := p.read(d.Config, MaxConfig)
	if err != nil {
		return nil, config{}, err
	}
	// Everyone names it by its digest.
	h := strings.TrimSuffix(path.Base(file), ".json")
	if _, err := Hex("sha256:" + h); err == nil && sumOf(raw) != "sha256:"+h {
		return nil, config{}, failed("image.blob-wrong", nil, "image", name, "blob", "sha256:"+h, "got", sumOf(raw))
	}
	c, err := parseConfig(name, raw)
	return raw, c, err
}

// fromDocker makes the manifest that a docker archive lacks: schema 2, its layers as they are.
func (s *Source) fromDocker(ctx context.Context, name string, d *dockerEntry, want Want) (*Resolved, error) {
	raw, c, err := s.dockerConfig(name, d)
	if err != nil {
		return nil, err
	}
	// Before gigabytes are read.
	if !want.accepts(c.platform()) {
		return nil, noPlatform(name, want, c.platform().full())
	}
	if ref, err := ParseName(name); err != nil || ref.Digest != "" {
		return nil, failed("image.source-digest", err, "image", name, "file", s.path)
	}
	if len(d.Layers) != len(c.RootFS.DiffIDs) {
		return nil, fmt.Errorf("%s has %d layers, and %d in its configuration", name, len(d.Layers),
			len(c.RootFS.DiffIDs))
	}
	doc := Document{SchemaVersion: 2, MediaType: mediaDockerManifest, Layers: []Descriptor{},
		Config: Descriptor{MediaType: mediaDockerConfig, Digest: sumOf(raw), Size: int64(len(raw))}}
	places := map[string]span{}
	for i, file := range d.Layers {
		l, p, err := s.dockerLayer(ctx, file)
		if err != nil {
			return nil, err
		}
		if l.diff != c.RootFS.DiffIDs[i] {
			return nil, failed("image.blob-wrong", nil, "image", name, "blob", c.RootFS.DiffIDs[i], "got", l.diff)
		}
		doc.Layers = append(doc.Layers, l.desc)
		places[l.desc.Digest] = p
	}
	manifest, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	r, err := Assemble(name, Parts{ManifestType: mediaDockerManifest, ManifestRaw: manifest, ConfigRaw: raw}, want)
	if err != nil {
		return nil, err
	}
	for digest, p := range places {
		s.blobs[digest] = p
	}
	r.Own, r.Names = true, r.Ref.Names("", "")
	r.Warnings = append(r.Warnings, event.M("image.warn.own-digest", "image", name, "file", s.path, "digest",
		r.Manifest.Digest))
	return r, nil
}

// dockerLayer hashes a layer file, plain or gzipped, once.
func (s *Source) dockerLayer(ctx context.Context, file string) (layer, span, error) {
	name, err := within("", file)
	if err != nil {
		return layer{}, span{}, err
	}
	p, err := s.store.find(name)
	if err != nil {
		return layer{}, p, err
	}
	if l, ok := s.hashed[p]; ok {
		return l, p, nil
	}
	r, err := p.open()
	if err != nil {
		return layer{}, p, err
	}
	defer r.Close()
	l, err := hashLayer(ctx, r, p.Size)
	if err != nil {
		return layer{}, p, fmt.Errorf("%s: %w", file, err)
	}
	s.hashed[p] = l
	return l, p, nil
}

func hashLayer(ctx context.Context, r io.Reader, size int64) (layer, error) {
	whole := newHasher()
	r = io.TeeReader(&ctxReader{ctx, r}, whole)
	var magic [4]byte
	n, err := io.ReadFull(r, magic[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return layer{}, err
	}
	head := io.MultiReader(bytes.NewReader(magic[:n]), r)
	l := layer{desc: Descriptor{MediaType: mediaDockerLayer, Size: size}}
	buf := make([]byte, 256<<10)
	switch {
	case n == 4 && magic[0] == 0x1f && magic[1] == 0x8b:
		l.desc.MediaType += ".gzip"
		zr, err := gzip.NewReader(head)
		if err != nil {
			return l, err
		}
		diff := newHasher()
		limit := unpacked(size)
		got, err := io.CopyBuffer(diff, io.LimitReader(zr, limit+1), buf)
		if err != nil {
			return l, err
		}
		if got > limit {
			return l, fmt.Errorf("it unpacks to more than %d bytes", limit)
		}
		l.diff = diff.digest()
	case n == 4 && bytes.Equal(magic[:], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return l, errors.New("a docker archive with a layer compressed by zstd")
	}
	if _, err := io.CopyBuffer(io.Discard, head, buf); err != nil {
		return l, err
	}
	l.desc.Digest = whole.digest()
	if l.diff == "" {
		l.diff = l.desc.Digest
	}
	return l, nil
}
