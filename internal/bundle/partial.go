package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// The images.tar of a difference bundle begins with the documents of the full bundle's and has, of its blobs, those
// that the base does not have, in the same order and with the same headers. With the base's blobs it becomes the full
// bundle's byte for byte.

const (
	maxImageDocument = 16 << 20
	maxImageManifest = 4 << 20
	imageBlobs       = "blobs/sha256/"
)

func imageDocuments() []string { return []string{"oci-layout", "index.json", "manifest.json"} }

// partial is the images.tar of a difference, read and verified as far as it goes.
type partial struct {
	documents [][]byte
	index     []image.Descriptor // of index.json: the platform manifest of each name
	blobs     map[string]span
}

// span is a blob's place in the carried images.tar.
type span struct{ offset, size int64 }

func imagesFault(f string, a ...any) error {
	return fault("bundle.images-damaged", fmt.Errorf(f, a...))
}

// readPartial reads a carried images.tar: each blob must be what its digest says, and index.json must name the
// manifest's images.
func readPartial(ctx context.Context, r io.Reader, m *Manifest) (*partial, error) {
	at := &countingReader{ctx: ctx, r: r}
	tr := tar.NewReader(at)
	p := &partial{blobs: map[string]span{}}
	limit := 0
	for _, im := range m.Images {
		limit += 2 + len(im.Layers)
	}
	last := ""
	for i := 0; ; i++ {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, tarFault(ctx, err)
		}
		if hdr.Typeflag != tar.TypeReg || slices.ContainsFunc(slices.Collect(maps.Keys(hdr.PAXRecords)),
			func(k string) bool { return k != "size" }) {
			return nil, imagesFault("member %q is not a plain file", hdr.Name)
		}
		if i < len(imageDocuments()) {
			if err := p.document(imageDocuments()[i], hdr, tr); err != nil {
				return nil, tarFault(ctx, err)
			}
			continue
		}
		if hdr.Name <= last {
			return nil, imagesFault("member %q stands after %q", hdr.Name, last)
		}
		if last = hdr.Name; len(p.blobs) >= limit {
			return nil, imagesFault("more than %d blobs", limit)
		}
		if err := p.blob(hdr, tr, at.n); err != nil {
			return nil, tarFault(ctx, err)
		}
	}
	if len(p.documents) < len(imageDocuments()) {
		return nil, imagesFault("%s is missing", imageDocuments()[len(p.documents)])
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(at, 1)); err != nil {
		return nil, tarFault(ctx, err)
	} else if n > 0 {
		return nil, imagesFault("something follows the end of the archive")
	}
	return p, p.checkIndex(m)
}

// tarFault keeps faults and cancellation and words the rest as damage.
func tarFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault("bundle.images-damaged", err)
	}
	return err
}

func (p *partial) document(want string, hdr *tar.Header, r io.Reader) error {
	if hdr.Name != want || hdr.Size > maxImageDocument {
		return imagesFault("%q of %d bytes where %s should be", hdr.Name, hdr.Size, want)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	p.documents = append(p.documents, data)
	if want != "index.json" {
		return nil // image.Check sees to them when the whole is put together
	}
	var x struct {
		Manifests []image.Descriptor `json:"manifests"`
	}
	if err := unmarshal(data, &x); err != nil {
		return imagesFault("index.json cannot be read: %v", err)
	}
	p.index = x.Manifests
	return nil
}

func (p *partial) blob(hdr *tar.Header, r io.Reader, offset int64) error {
	h, ok := strings.CutPrefix(hdr.Name, imageBlobs)
	if !ok || !isSum(h) {
		return imagesFault("member %q is neither a document nor a blob", hdr.Name)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	digest := "sha256:" + h
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fault("bundle.blob-mismatch", nil, "blob", digest, "got", got)
	}
	p.blobs[digest] = span{offset, hdr.Size}
	return nil
}

// checkIndex makes sure that index.json names the manifest's images and no others.
func (p *partial) checkIndex(m *Manifest) error {
	found := map[string]image.Descriptor{}
	for _, d := range p.index {
		name := d.Annotations[image.AnnotationName]
		if _, twice := found[name]; twice || name == "" || d.Platform == nil || !isDigest(d.Digest) || d.Size < 0 ||
			d.Size > maxImageManifest {
			return imagesFault("index.json has an image that cannot be: %q, %s", name, d.Digest)
		}
		found[name] = d
	}
	for _, want := range m.Images {
		d, ok := found[want.Name]
		switch {
		case !ok:
			return fault("bundle.no-image", nil, "image", want.Name)
		case d.Digest != want.Digest:
			return fault("bundle.image-digest", nil, "image", want.Name, "got", d.Digest, "want", want.Digest)
		case d.Platform.String() != want.Platform:
			return fault("bundle.image-arch", nil, "image", want.Name, "got", d.Platform.String(), "want",
				want.Platform)
		}
	}
	if len(found) != len(m.Images) {
		return imagesFault("index.json names %d images, the bundle has %d", len(found), len(m.Images))
	}
	return nil
}

// opener opens a blob; what it gives need not be verified.
type opener func(digest string) (io.ReadCloser, error)

// from opens the carried blobs in file and all others in base (nil: there are none).
func (p *partial) from(file io.ReaderAt, base opener) opener {
	return func(digest string) (io.ReadCloser, error) {
		if s, ok := p.blobs[digest]; ok {
			return io.NopCloser(io.NewSectionReader(file, s.offset, s.size)), nil
		}
		if base == nil {
			return nil, fault("bundle.blob-missing", nil, "blob", digest)
		}
		return base(digest)
	}
}

// plan lists the blobs of the full images.tar with their sizes. Every carried one must be among them.
func (p *partial) plan(ctx context.Context, open opener) ([]image.Descriptor, error) {
	sizes := map[string]int64{}
	need := func(d image.Descriptor) error {
		if !isDigest(d.Digest) || d.Size < 0 || d.Size > maxMember {
			return imagesFault("blob %q of %d bytes", d.Digest, d.Size)
		}
		if old, ok := sizes[d.Digest]; ok && old != d.Size {
			return imagesFault("blob %s has %d bytes and %d bytes", d.Digest, old, d.Size)
		}
		sizes[d.Digest] = d.Size
		return nil
	}
	for _, d := range p.index {
		if _, done := sizes[d.Digest]; done {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		raw, err := readBlob(open, d)
		if err != nil {
			return nil, err
		}
		// Which types of layers may be there is image.Check's to say, when the whole is put together.
		var doc image.Document
		if err := unmarshal(raw, &doc); err != nil {
			return nil, fault("bundle.image-manifest", err, "image", d.Annotations[image.AnnotationName])
		}
		for _, b := range append([]image.Descriptor{d, doc.Config}, doc.Layers...) {
			if err := need(b); err != nil {
				return nil, err
			}
		}
	}
	for digest, s := range p.blobs {
		if size, ok := sizes[digest]; !ok || size != s.size {
			return nil, imagesFault("blob %s belongs to no image", digest)
		}
	}
	var out []image.Descriptor
	for digest, size := range sizes {
		out = append(out, image.Descriptor{Digest: digest, Size: size})
	}
	slices.SortFunc(out, func(a, b image.Descriptor) int { return strings.Compare(a.Digest, b.Digest) })
	return out, nil
}

func readBlob(open opener, d image.Descriptor) ([]byte, error) {
	r, err := open(d.Digest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, d.Size+1))
	if err != nil {
		return nil, err
	}
	if got := "sha256:" + sumHex(raw); got != d.Digest || int64(len(raw)) != d.Size {
		return nil, fault("bundle.blob-mismatch", nil, "blob", d.Digest, "got", got)
	}
	return raw, nil
}

// write writes the full images.tar. The headers are those that image.Layout.Write gives; the blobs are verified by who
// reads what is written, with image.Check.
func (p *partial) write(ctx context.Context, w io.Writer, blobs []image.Descriptor, open opener) error {
	tw := tar.NewWriter(w)
	put := func(name string, size int64, r io.Reader) error {
		hdr := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0).UTC()}
		if err := tw.WriteHeader(hdr); err != nil {
			return err
		}
		n, err := io.Copy(tw, &countingReader{ctx: ctx, r: io.LimitReader(r, size)})
		if err == nil && n < size {
			err = imagesFault("%s has %d bytes, not %d", name, n, size)
		}
		return err
	}
	for i, name := range imageDocuments() {
		if err := put(name, int64(len(p.documents[i])), bytes.NewReader(p.documents[i])); err != nil {
			return err
		}
	}
	for _, b := range blobs {
		r, err := open(b.Digest)
		if err != nil {
			return err
		}
		if err := errors.Join(put(imageBlobs+strings.TrimPrefix(b.Digest, "sha256:"), b.Size, r),
			r.Close()); err != nil {
			return err
		}
	}
	return tw.Close()
}
