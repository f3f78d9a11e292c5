package build

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

func sumOf(data []byte) string { h := sha256.Sum256(data); return hex.EncodeToString(h[:]) }

// order sorts the members as the archive has them: what does not shrink first, so that its place is known before it is fetched, then
// what is compressed; each sorted by path, images.tar at the end of the first part.
func order(members []bundle.Member) {
	rank := func(m bundle.Member) int {
		switch m.Kind {
		case bundle.Deb, bundle.RPM:
			return 0
		case bundle.Images:
			return 1
		}
		return 2
	}
	sort.SliceStable(members, func(i, j int) bool {
		a, b := members[i], members[j]
		if rank(a) != rank(b) {
			return rank(a) < rank(b)
		}
		return a.Path < b.Path
	})
}

// Stored says whether a member stands in the part of the archive that is not compressed.
func stored(k bundle.Kind) bool { return k == bundle.Deb || k == bundle.RPM || k == bundle.Images }

// pack writes the bundle: to a .part file that is renamed when all is on the disk.
func (b *arch) pack(ctx context.Context) (*Bundle, error) {
	var layout *image.Layout
	if len(b.pulled) > 0 {
		var imgs []image.Image
		for _, p := range b.pulled {
			imgs = append(imgs, p.Image)
		}
		var err error
		if layout, err = image.Plan(imgs); err != nil {
			return nil, err
		}
		b.members = append(b.members, bundle.Member{Path: bundle.ImagesName, Kind: bundle.Images, Name: "images", Size: layout.Size()})
	}
	order(b.members)
	m := &bundle.Manifest{Format: bundle.FormatVersion, Name: b.spec.Name, Arch: b.name, Kubernetes: b.spec.Kubernetes, OS: b.spec.OS,
		Members: b.members, Images: b.images, Install: b.install}
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		return nil, failed(err)
	}
	final := filepath.Join(b.opts.Out, b.spec.Name+"-"+b.name+".tar.gz")
	f, err := os.OpenFile(final+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, writeFault(err, final)
	}
	p := &packer{b: b, sum: sha256.New(), layout: layout, file: final}
	err = p.write(ctx, f, m, text)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(final+".part", final)
	}
	if err != nil {
		os.Remove(final + ".part")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, writeFault(err, final)
	}
	return &Bundle{Arch: b.name, Path: final, Size: p.out, SHA256: hex.EncodeToString(p.sum.Sum(nil))}, nil
}

type packer struct {
	b      *arch
	layout *image.Layout
	sum    hash.Hash // of the finished file
	out    int64     // bytes of the finished file
	file   string

	gz    *gzipWriter
	tw    *tar.Writer
	done  int64 // bytes of members
	total int64
}

func (p *packer) Write(data []byte) (int, error) {
	p.out += int64(len(data))
	return p.sum.Write(data)
}

func (p *packer) write(ctx context.Context, f *os.File, m *bundle.Manifest, text []byte) error {
	for _, e := range m.Members {
		p.total += e.Size
	}
	buf := bufio.NewWriterSize(io.MultiWriter(f, p), 256<<10)
	p.gz = newGzipWriter(buf)
	p.tw = tar.NewWriter(p.gz)
	if err := p.small(bundle.ManifestName, text); err != nil {
		return err
	}
	if err := p.small(bundle.SumsName, bundle.SumsText(text, m)); err != nil {
		return err
	}
	images := ""
	for _, e := range m.Members {
		if !stored(e.Kind) {
			if err := p.tw.Flush(); err != nil {
				return err
			}
			if err := p.gz.Compress(); err != nil {
				return err
			}
		}
		sum, err := p.member(ctx, e)
		if err != nil {
			return err
		}
		if e.Kind == bundle.Images {
			images = sum
		}
	}
	if images != "" {
		if err := p.small(bundle.ImagesSumName, bundle.ImagesSumText(images)); err != nil {
			return err
		}
	}
	if err := p.tw.Close(); err != nil {
		return err
	}
	if err := p.gz.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

func (p *packer) header(name string, size int64, mode uint32) *tar.Header {
	if mode == 0 {
		mode = 0o644
	}
	at := p.b.opts.Epoch
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: int64(mode), ModTime: at.UTC().Truncate(time.Second)}
}

func (p *packer) small(name string, data []byte) error {
	if err := p.tw.WriteHeader(p.header(name, int64(len(data)), 0)); err != nil {
		return err
	}
	_, err := io.Copy(p.tw, bytes.NewReader(data))
	return err
}

// member copies a member from the cache, which verifies it, and returns the sum of images.tar.
func (p *packer) member(ctx context.Context, e bundle.Member) (string, error) {
	if err := p.tw.WriteHeader(p.header(e.Path, e.Size, e.Mode)); err != nil {
		return "", err
	}
	cache := p.b.client.Cache
	w := &counted{ctx: ctx, w: p.tw, p: p}
	if e.Kind == bundle.Images {
		h := sha256.New()
		err := p.layout.Write(ctx, io.MultiWriter(w, h), func(digest string) (io.ReadCloser, error) {
			hx, err := image.Hex(digest)
			if err != nil {
				return nil, err
			}
			return cache.Open(fetch.Blob{SHA256: hx, Size: p.blobSize(digest)})
		})
		return hex.EncodeToString(h.Sum(nil)), err
	}
	r, err := cache.Open(fetch.Blob{SHA256: e.SHA256, Size: e.Size})
	if err != nil {
		return "", err
	}
	defer r.Close()
	_, err = io.CopyBuffer(w, onlyReader{r}, make([]byte, 256<<10))
	return "", err
}

// onlyReader hides other methods, so that the copy goes through our buffer.
type onlyReader struct{ io.Reader }

func (p *packer) blobSize(digest string) int64 {
	for _, b := range p.layout.Blobs() {
		if b.Digest == digest {
			return b.Size
		}
	}
	return -1
}

// counted tells progress and ends when the context does.
type counted struct {
	ctx context.Context
	w   io.Writer
	p   *packer
}

func (c *counted) Write(data []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(data)
	c.p.done += int64(n)
	c.p.b.report(Event{Kind: Packing, Arch: c.p.b.name, What: filepath.Base(c.p.file), Done: c.p.done, Total: c.p.total})
	return n, err
}
