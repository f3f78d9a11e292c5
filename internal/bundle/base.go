package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	carriedName = "carried.tar" // images.tar of a difference, in a stage that is being made
	maxChain    = 16            // differences on differences
	maxBeside   = 256           // files that Beside lists
)

// Beside lists the bundles in the directory of path, for WithBases: whole files and first parts, by their names alone.
func Beside(path string) []string {
	whole, _ := cutPart(path)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name, n := cutPart(e.Name())
		if strings.HasSuffix(name, ".tar.gz") && n <= 1 && name != filepath.Base(whole) && len(out) < maxBeside {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out
}

// base finds the base of a difference: staged already, or among the named bundles, which are then staged, differences
// too.
func (g *stager) base(a *Archive) (*Staged, error) {
	b := a.manifest.Base
	busy := append(slices.Clone(g.busy), a.ID())
	missing := fault("bundle.base-missing", nil, "base", b.ID, "name", b.Name, "arch", b.Arch)
	unlock, err := g.lock(b.ID)
	if err != nil {
		return nil, err
	}
	s, _ := readStage(g.dir, b.ID)
	if s != nil {
		s, err = g.use(s)
	}
	unlock()
	if s != nil || err != nil {
		return s, err
	}
	if len(busy) > maxChain || slices.Contains(busy, b.ID) {
		return nil, missing
	}
	var first error
	for _, p := range g.opts.bases {
		c, err := open(g.ctx, p)
		if err != nil || c.ID() != b.ID {
			continue
		}
		// The difference names its base by sum: nobody else need vouch for it.
		sub := stager{ctx: g.ctx, dir: g.dir, progress: g.progress,
			opts: options{bases: g.opts.bases, free: g.opts.free}, busy: busy}
		s, err := sub.stage(p)
		if err == nil {
			return s, nil
		}
		if g.ctx.Err() != nil {
			return nil, g.ctx.Err()
		}
		if f := asBundleFault(first); f == nil || f.Code == "bundle.base-missing" {
			first = inFile(p, err)
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, missing
}

// carriedSink takes the members that a difference carries. Its documents are not kept: the stage gets those of the full
// bundle.
type carriedSink struct {
	rootSink
	images string // path of images.tar in the archive
	file   string // where it goes
}

func (c carriedSink) create(member string) (io.Writer, func() error, error) {
	switch member {
	case ManifestName, SumsName, ImagesSumName:
		return discard{}.create(member)
	case c.images:
		f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, nil, storeFault(err, member)
		}
		return f, func() error {
			if err := f.Close(); err != nil {
				return storeFault(err, member)
			}
			return nil
		}, nil
	}
	return c.rootSink.create(member)
}

// joining puts a full bundle's stage together from a difference and its base.
type joining struct {
	ctx  context.Context
	sink rootSink
	base *Staged
	full *Manifest
	tick func(n int64) // is told every piece that was written
}

// complete fills a stage with what the difference carries and what its base has, and returns the sum of images.tar.
func (g *stager) complete(a *Archive, base *Staged, home string, root *os.Root) (string, error) {
	j := &joining{ctx: g.ctx, sink: rootSink{root}, base: base, full: a.manifest.Full(), tick: func(int64) {}}
	progress := g.progress
	if progress != nil {
		total, done := a.size, a.size
		for _, e := range a.manifest.Members {
			if e.From != "" || e.Kind == Images {
				total += e.Size
			}
		}
		progress = func(n, _ int64) { g.progress(n, total) }
		j.tick = func(n int64) { done += n; g.progress(done, total) }
	}
	carried := filepath.Join(home, carriedName)
	r, err := pass(g.ctx, a.path, progress, carriedSink{j.sink, j.full.ImagesPath(), carried}, g.opts)
	if err != nil {
		return "", err
	}
	if err := sameText(a, r); err != nil {
		return "", err
	}
	if err := j.document(ManifestName, a.full); err != nil {
		return "", err
	}
	if err := j.document(SumsName, SumsText(a.full, j.full)); err != nil {
		return "", err
	}
	if err := j.members(a.manifest); err != nil {
		return "", err
	}
	if r.partial == nil {
		return "", nil
	}
	sum, err := j.images(r.partial, carried)
	if err != nil {
		return "", err
	}
	if err := os.Remove(carried); err != nil {
		return "", storeFault(err, ImagesName)
	}
	return sum, j.document(ImagesSumName, j.full.ImagesSumText(sum))
}

func (j *joining) document(name string, data []byte) error {
	w, done, err := j.sink.create(name)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err != nil {
		err = storeFault(err, name)
	}
	return errors.Join(err, done())
}

// members copies what the difference leaves to the base, found there by sum and size.
func (j *joining) members(m *Manifest) error {
	at := map[content]string{}
	for _, e := range j.base.manifest.Members {
		if e.Kind != Images {
			at[contentOf(e)] = e.Path
		}
	}
	for _, e := range m.Members {
		if e.From == "" {
			continue
		}
		src, ok := at[contentOf(e)]
		if !ok {
			return j.damaged(nil, e.Path)
		}
		if err := j.copy(src, e); err != nil {
			return err
		}
	}
	return nil
}

// damaged says that the base does not have what its manifest promises, or what the difference relies on.
func (j *joining) damaged(err error, member string) error {
	return fault("bundle.base-damaged", pathless(err), "base", j.base.dir, "member", member)
}

func (j *joining) copy(from string, e Member) error {
	r, err := j.base.Open(from)
	if err != nil {
		return j.damaged(err, e.Path)
	}
	defer r.Close()
	w, done, err := j.sink.create(e.Path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(&writeErrors{w: w}, sum),
		&countingReader{ctx: j.ctx, r: io.LimitReader(r, e.Size+1)})
	switch we := (writeError{}); {
	case errors.As(err, &we):
		err = storeFault(we.error, e.Path)
	case j.ctx.Err() != nil:
		err = j.ctx.Err()
	case err != nil || hex.EncodeToString(sum.Sum(nil)) != e.SHA256:
		err = j.damaged(err, e.Path)
	}
	j.tick(e.Size)
	return errors.Join(err, done())
}

// images writes the full images.tar from the carried one and the base's, and holds it against the manifest on the way.
func (j *joining) images(p *partial, carried string) (string, error) {
	own, err := os.Open(carried)
	if err != nil {
		return "", fault("bundle.read", pathless(err), "member", ImagesName)
	}
	defer own.Close()
	var others opener
	if e, ok := j.base.manifest.Member(j.base.manifest.ImagesPath()); ok {
		f, err := os.Open(filepath.Join(j.base.dir, membersDir, filepath.FromSlash(e.Path)))
		if err != nil {
			return "", j.damaged(err, e.Path)
		}
		defer f.Close()
		arch, err := image.NewArchive(j.ctx, f, e.Size)
		if err != nil {
			return "", j.blamed(err, e.Path)
		}
		others = arch.Open
	}
	e, _ := j.full.Member(j.full.ImagesPath())
	open := p.from(own, others)
	blobs, err := p.plan(j.ctx, open)
	if err != nil {
		return "", j.blamed(err, e.Path)
	}
	w, done, err := j.sink.create(e.Path)
	if err != nil {
		return "", err
	}
	sum, err := j.write(p, w, blobs, open, e)
	return sum, errors.Join(err, done())
}

// blamed says which side a fault of the images lies on: what the difference carries was verified when it was read.
func (j *joining) blamed(err error, member string) error {
	if j.ctx.Err() != nil {
		return j.ctx.Err()
	}
	f := (*event.Fault)(nil)
	if errors.As(err, &f) && f.Code != "bundle.blob-mismatch" && f.Code != "bundle.blob-missing" &&
		f.Code != "bundle.read" {
		return f
	}
	return j.damaged(err, member)
}

func (j *joining) write(p *partial, w io.Writer, blobs []image.Descriptor, open opener, e Member) (string, error) {
	room := e.Size
	for _, b := range blobs {
		if room -= b.Size; room < 0 {
			return "", imagesFault("more than the %d bytes that manifest.json says", e.Size)
		}
	}
	pr, pw := io.Pipe()
	checked := make(chan error, 1)
	go func() {
		err := checkImages(j.ctx, pr, j.full)
		pr.CloseWithError(err)
		checked <- err
	}()
	sum := sha256.New()
	out := &countingWriter{w: io.MultiWriter(&writeErrors{w: w}, sum, pw), tick: j.tick}
	werr := p.write(j.ctx, out, blobs, open)
	pw.CloseWithError(werr)
	cerr := <-checked
	if we := (writeError{}); errors.As(werr, &we) {
		return "", storeFault(we.error, e.Path)
	}
	if err := errors.Join(cerr, werr); err != nil {
		return "", j.blamed(err, e.Path)
	}
	if out.n != e.Size {
		return "", fault("bundle.member-size", nil, "member", e.Path, "got", fmt.Sprint(out.n), "want",
			fmt.Sprint(e.Size))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

type countingWriter struct {
	w    io.Writer
	n    int64
	tick func(n int64)
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.tick(int64(n))
	return n, err
}
