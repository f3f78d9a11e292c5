package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

type hasher struct{ hash.Hash }

func newHasher() hasher             { return hasher{sha256.New()} }
func (h hasher) digest() string     { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }
func sumOf(data []byte) string      { h := sha256.Sum256(data); return "sha256:" + hex.EncodeToString(h[:]) }
func tarFault(err error) error      { return fault("bundle.images-damaged", err) }
func badf(f string, a ...any) error { return tarFault(fmt.Errorf(f, a...)) }

// contents is what a pass over the archive gathered.
type contents struct {
	index     []Descriptor
	docker    []dockerEntry
	manifests map[string][]byte // digest → raw, for those that index names
	blobs     map[string]place
}

type place struct{ offset, size int64 }

// Check reads a whole archive from r in one pass with little memory and returns its images. Every blob must have its
// digest, every blob that a manifest names must be there and no other, index.json and docker's manifest.json must name
// the same images; nothing may follow the end. The faults are of class bundle.
func Check(ctx context.Context, r io.Reader) ([]Image, error) {
	c, err := walk(ctx, r, true)
	if err != nil {
		return nil, err
	}
	return c.images()
}

// offsetReader counts what was read, to know where a blob lies.
type offsetReader struct {
	r io.Reader
	n int64
}

func (o *offsetReader) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	o.n += int64(n)
	return n, err
}

// walk goes through the members. With verify every byte is hashed; without, r should be a Seeker so that blobs are
// passed over.
func walk(ctx context.Context, r io.Reader, verify bool) (*contents, error) {
	c := &contents{manifests: map[string][]byte{}, blobs: map[string]place{}}
	or := &offsetReader{r: &ctxReader{ctx, r}}
	seeker, _ := r.(io.Seeker)
	var src io.Reader = or
	if !verify && seeker != nil {
		src = r
	}
	tr := tar.NewReader(src)
	position := func() (int64, error) {
		if !verify && seeker != nil {
			return seeker.Seek(0, io.SeekCurrent)
		}
		return or.n, nil
	}
	for i, last := 0, ""; ; i++ {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, readFault(ctx, err)
		}
		if hdr.Typeflag != tar.TypeReg || len(hdr.PAXRecords) > 0 && sparse(hdr) {
			return nil, badf("member %q is not a regular file", hdr.Name)
		}
		if i < 3 {
			if err := c.document(i, hdr, tr); err != nil {
				return nil, readFault(ctx, err)
			}
			continue
		}
		if hdr.Name <= last && last != "" {
			return nil, badf("member %q stands after %q", hdr.Name, last)
		}
		last = hdr.Name
		pos, err := position()
		if err != nil {
			return nil, err
		}
		if err := c.blob(hdr, tr, pos, verify); err != nil {
			return nil, readFault(ctx, err)
		}
	}
	if c.docker == nil {
		return nil, badf("index.json or manifest.json is missing")
	}
	if verify {
		if n, err := io.Copy(io.Discard, io.LimitReader(or, 1)); n > 0 {
			return nil, badf("something follows the end of the archive")
		} else if err != nil {
			return nil, readFault(ctx, err)
		}
	}
	return c, nil
}

func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse") {
			return true
		}
	}
	return false
}

// readFault keeps faults and cancellation and words the rest as damage.
func readFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tarFault(err)
	}
	return err
}

func (c *contents) document(i int, hdr *tar.Header, r io.Reader) error {
	want := []string{layoutName, indexName, dockerName}[i]
	if hdr.Name != want {
		return badf("member %d is %q, not %q", i+1, hdr.Name, want)
	}
	if hdr.Size > maxDocuments {
		return badf("%s has %d bytes", hdr.Name, hdr.Size)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	switch hdr.Name {
	case layoutName:
		if !bytes.Equal(bytes.TrimSpace(data), []byte(layoutText)) {
			return badf("oci-layout says %.40q", data)
		}
	case indexName:
		var x index
		if err := json.Unmarshal(data, &x); err != nil || x.SchemaVersion != 2 {
			return badf("index.json cannot be read: %v", err)
		}
		c.index = x.Manifests
	case dockerName:
		if err := json.Unmarshal(data, &c.docker); err != nil || c.docker == nil {
			return badf("manifest.json cannot be read: %v", err)
		}
	}
	return nil
}

func (c *contents) blob(hdr *tar.Header, r io.Reader, pos int64, verify bool) error {
	h, ok := strings.CutPrefix(hdr.Name, blobDir)
	digest := "sha256:" + h
	if _, err := Hex(digest); !ok || err != nil {
		return badf("member %q is neither a document nor a blob", hdr.Name)
	}
	c.blobs[digest] = place{pos, hdr.Size}
	isManifest := slices.ContainsFunc(c.index, func(d Descriptor) bool { return d.Digest == digest })
	if isManifest {
		if hdr.Size > maxManifest {
			return badf("the manifest %s has %d bytes", digest, hdr.Size)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if sumOf(data) != digest {
			return fault("bundle.blob-mismatch", nil, "blob", digest, "got", sumOf(data))
		}
		c.manifests[digest] = data
		return nil
	}
	if !verify {
		return nil
	}
	sum := newHasher()
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if sum.digest() != digest {
		return fault("bundle.blob-mismatch", nil, "blob", digest, "got", sum.digest())
	}
	return nil
}

// images holds the index, docker's manifest.json, the manifests and the blobs against each other.
func (c *contents) images() ([]Image, error) {
	var out []Image
	names := map[string]bool{}
	for _, d := range c.index {
		name := d.Annotations[AnnotationName]
		if name == "" || d.Platform == nil {
			return nil, badf("index.json has an image without a name or platform: %s", d.Digest)
		}
		if names[name] {
			return nil, badf("index.json names %s twice", name)
		}
		names[name] = true
		// The names of one image stand together.
		if n := len(out); n > 0 && out[n-1].Manifest.Digest == d.Digest && c.groups(n-1, name) {
			out[n-1].Names = append(out[n-1].Names, name)
			continue
		}
		raw, ok := c.manifests[d.Digest]
		if !ok || int64(len(raw)) != d.Size {
			return nil, badf("the manifest %s of %s is missing or has another size", d.Digest, name)
		}
		doc, err := readable(name, raw)
		if err != nil {
			return nil, err
		}
		im := Image{Names: []string{name}, Platform: *d.Platform, Config: bare(doc.Config),
			Manifest: Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}}
		for _, l := range doc.Layers {
			im.Layers = append(im.Layers, bare(l))
		}
		out = append(out, im)
	}
	return out, c.cross(out)
}

// groups says whether name is another name of image number n: docker's manifest.json has it in that entry, or it pins a
// digest, which manifest.json cannot say.
func (c *contents) groups(n int, name string) bool {
	return IsDigestName(name) || n < len(c.docker) && slices.Contains(c.docker[n].RepoTags, name)
}

// readable accepts what some runtime can load; which one of them is to was asked when the archive was written.
func readable(name string, raw []byte) (Document, error) {
	d, err := parseManifest(name, raw)
	if err != nil {
		return d, err
	}
	for _, l := range d.Layers {
		if !loadable(l.MediaType) && !zstdLayer(l.MediaType) {
			return d, fault("bundle.image-media-type", nil, "image", name, "type", l.MediaType)
		}
	}
	return d, nil
}

func bare(d Descriptor) Descriptor {
	return Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
}

// cross checks that no blob is missing or extra and that planning these images would write the same docker
// manifest.json.
func (c *contents) cross(images []Image) error {
	needed := map[string]bool{}
	for _, im := range images {
		for _, b := range append([]Descriptor{im.Manifest, im.Config}, im.Layers...) {
			p, ok := c.blobs[b.Digest]
			if !ok {
				return fault("bundle.blob-missing", nil, "blob", b.Digest, "image", im.Names[0])
			}
			if p.size != b.Size {
				return badf("blob %s of %s has %d bytes, its manifest says %d", b.Digest, im.Names[0], p.size, b.Size)
			}
			needed[b.Digest] = true
		}
	}
	for d := range c.blobs {
		if !needed[d] {
			return badf("blob %s belongs to no image", d)
		}
	}
	if len(c.docker) != len(images) {
		return badf("manifest.json has %d images, index.json %d", len(c.docker), len(images))
	}
	for i, im := range images {
		e := c.docker[i]
		var tags, layers []string
		for _, n := range im.Names {
			if !IsDigestName(n) {
				tags = append(tags, n)
			}
		}
		for _, l := range im.Layers {
			layers = append(layers, blobPath(l.Digest))
		}
		if e.Config != blobPath(im.Config.Digest) || !slices.Equal(e.Layers, layers) ||
			!slices.Equal(e.RepoTags, tags) {
			return badf("manifest.json and index.json disagree on %s", im.Names[0])
		}
	}
	return nil
}

// Archive is an images.tar on disk whose blobs can be read at random.
type Archive struct {
	ra     io.ReaderAt
	images []Image
	blobs  map[string]place
}

// NewArchive reads the headers and documents of an archive of size bytes, not its layers: those are verified when they
// are written to a subset.
func NewArchive(ctx context.Context, ra io.ReaderAt, size int64) (*Archive, error) {
	c, err := walk(ctx, io.NewSectionReader(ra, 0, size), false)
	if err != nil {
		return nil, err
	}
	images, err := c.images()
	if err != nil {
		return nil, err
	}
	return &Archive{ra: ra, images: images, blobs: c.blobs}, nil
}

// Images of the archive in its order.
func (a *Archive) Images() []Image { return a.images }

// Subset plans an archive with only the named images, in this archive's order. A name that is not there is the fault
// "bundle.no-image".
func (a *Archive) Subset(names []string) (*Layout, error) {
	var pick []Image
	found := map[string]bool{}
	for _, im := range a.images {
		var keep []string
		for _, n := range im.Names {
			if slices.Contains(names, n) {
				found[n] = true
				keep = append(keep, n)
			}
		}
		if len(keep) > 0 {
			// An image is taken with all its names: they cost nothing.
			pick = append(pick, im)
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fault("bundle.no-image", nil, "image", n)
		}
	}
	return Plan(pick)
}

// Open opens a blob of the archive.
func (a *Archive) Open(digest string) (io.ReadCloser, error) {
	r, err := a.Section(digest)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(r), nil
}

// Section is a blob of the archive, unverified, for reading at random.
func (a *Archive) Section(digest string) (*io.SectionReader, error) {
	p, ok := a.blobs[digest]
	if !ok {
		return nil, fault("bundle.blob-missing", nil, "blob", digest)
	}
	return io.NewSectionReader(a.ra, p.offset, p.size), nil
}
