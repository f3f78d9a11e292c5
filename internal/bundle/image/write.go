package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"
)

// Opener opens a blob by its digest. What it returns need not be verified: Layout.Write does that.
type Opener func(digest string) (io.ReadCloser, error)

// Layout is an archive that is fully known before its first byte is written.
type Layout struct {
	documents []document // the members before the blobs
	blobs     []Descriptor
	size      int64
}

type document struct {
	name string
	data []byte
}

// Plan lays out an archive with the images in the given order. The result depends on nothing but the images, so that
// the same images give the same bytes. Images with the same manifest become one with the names of all. One name for two
// manifests is the fault "image.name-twice".
func Plan(images []Image) (*Layout, error) {
	images, err := merge(images)
	if err != nil {
		return nil, err
	}
	idx := index{SchemaVersion: 2, MediaType: mediaOCIIndex, Manifests: []Descriptor{}}
	docker := []dockerEntry{}
	sizes := map[string]int64{}
	for _, im := range images {
		entry := dockerEntry{RepoTags: []string{}, Layers: []string{}}
		for _, n := range im.Names {
			d := im.Manifest
			p := im.Platform
			d.Platform = &p
			d.Annotations = map[string]string{AnnotationName: n, AnnotationRef: n}
			idx.Manifests = append(idx.Manifests, d)
			if !IsDigestName(n) {
				entry.RepoTags = append(entry.RepoTags, n)
			}
		}
		for _, b := range append([]Descriptor{im.Manifest, im.Config}, im.Layers...) {
			h, err := Hex(b.Digest)
			if err != nil {
				return nil, err
			}
			if old, ok := sizes[h]; ok && old != b.Size {
				return nil, fmt.Errorf("blob %s has %d bytes and %d bytes", b.Digest, old, b.Size)
			}
			sizes[h] = b.Size
		}
		entry.Config = blobPath(im.Config.Digest)
		for _, l := range im.Layers {
			entry.Layers = append(entry.Layers, blobPath(l.Digest))
		}
		docker = append(docker, entry)
	}
	l := &Layout{}
	for h, n := range sizes {
		l.blobs = append(l.blobs, Descriptor{Digest: "sha256:" + h, Size: n})
	}
	sort.Slice(l.blobs, func(a, b int) bool { return l.blobs[a].Digest < l.blobs[b].Digest })
	idxText, err := json.Marshal(idx)
	if err != nil {
		return nil, err
	}
	dockerText, err := json.Marshal(docker)
	if err != nil {
		return nil, err
	}
	l.documents = []document{{layoutName, []byte(layoutText)}, {indexName, idxText}, {dockerName, dockerText}}
	return l, l.measure()
}

// merge unites the images that have the same manifest, in the place of the first.
func merge(images []Image) ([]Image, error) {
	var out []Image
	at, owner := map[string]int{}, map[string]string{}
	for _, im := range images {
		i, ok := at[im.Manifest.Digest]
		if !ok {
			i = len(out)
			at[im.Manifest.Digest] = i
			one := im
			one.Names = nil
			out = append(out, one)
		}
		for _, n := range im.Names {
			switch old, taken := owner[n]; {
			case !taken:
				owner[n] = im.Manifest.Digest
				out[i].Names = append(out[i].Names, n)
			case old != im.Manifest.Digest:
				return nil, failed("image.name-twice", nil, "image", n, "digest", im.Manifest.Digest, "other", old)
			}
		}
	}
	return out, nil
}

func blobPath(digest string) string { return blobDir + digest[len("sha256:"):] }

// Size of the archive in bytes.
func (l *Layout) Size() int64 { return l.size }

// Blobs are the distinct blobs of the archive in its order.
func (l *Layout) Blobs() []Descriptor { return slices.Clone(l.blobs) }

func (l *Layout) measure() error {
	var n counter
	add := func(name string, size int64) error {
		// A writer of its own for each header: its length is what counts, the body is not written.
		if err := tar.NewWriter(&n).WriteHeader(header(name, size)); err != nil {
			return err
		}
		n += counter((size + 511) / 512 * 512)
		return nil
	}
	for _, d := range l.documents {
		if err := add(d.name, int64(len(d.data))); err != nil {
			return err
		}
	}
	for _, b := range l.blobs {
		if err := add(blobPath(b.Digest), b.Size); err != nil {
			return err
		}
	}
	l.size = int64(n) + 1024
	return nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// header has nothing of the builder in it. The time is always 0: a subset written on the jump host must not differ
// either.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0).UTC()}
}

// Write writes the archive, verifying every blob by its digest while it passes. A blob that is not what its digest says
// is the fault "bundle.blob-mismatch".
func (l *Layout) Write(ctx context.Context, w io.Writer, open Opener) error {
	tw := tar.NewWriter(w)
	for _, d := range l.documents {
		if err := tw.WriteHeader(header(d.name, int64(len(d.data)))); err != nil {
			return err
		}
		if _, err := io.Copy(tw, bytes.NewReader(d.data)); err != nil {
			return err
		}
	}
	buf := make([]byte, 256<<10)
	for _, b := range l.blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.writeBlob(ctx, tw, b, open, buf); err != nil {
			return err
		}
	}
	return tw.Close()
}

func (l *Layout) writeBlob(ctx context.Context, tw *tar.Writer, b Descriptor, open Opener, buf []byte) error {
	r, err := open(b.Digest)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := tw.WriteHeader(header(blobPath(b.Digest), b.Size)); err != nil {
		return err
	}
	h := newHasher()
	n, err := io.CopyBuffer(io.MultiWriter(tw, h), &ctxReader{ctx, io.LimitReader(r, b.Size)}, buf)
	if err != nil {
		return err
	}
	if n != b.Size || h.digest() != b.Digest {
		return fault("bundle.blob-mismatch", nil, "blob", b.Digest, "got", h.digest())
	}
	return nil
}

// ctxReader ends a copy when its context does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
