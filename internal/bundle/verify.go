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
	"slices"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Report of a verified bundle.
type Report struct {
	Manifest  *Manifest
	ID        string // as Archive.ID
	Members   int    // that are carried, with the three that are not payload
	Bytes     int64  // unpacked
	ImagesSum string // sha256 of images.tar as carried, "" without images
	Base      *Base  // what a difference needs beside itself, else nil
}

// Verify reads every byte of a bundle and holds it against its manifest. progress (nil: none) is told the bytes of the
// file that were read and its size. Of a difference all that it carries is checked; Report.Base says what it needs. The
// faults are of class bundle and name file and member: "bundle.truncated", "bundle.sum-mismatch", "bundle.unsafe-path",
// "bundle.member-type", "bundle.duplicate", "bundle.missing", "bundle.unexpected", "bundle.order",
// "bundle.trailing-data", of parts also "bundle.part-sum", "bundle.part-size", "bundle.part-truncated",
// "bundle.part-damaged", and those of Open, of the options and of package image.
func Verify(ctx context.Context, path string, progress func(done, total int64), opts ...Option) (*Report, error) {
	r, err := pass(ctx, path, progress, discard{}, gather(opts))
	if err != nil {
		return nil, inFile(path, err)
	}
	return r.report, nil
}

// sink takes the members of a pass; done is called when the member is complete and its sum is right.
type sink interface {
	create(member string) (w io.Writer, done func() error, err error)
}

type discard struct{}

func (discard) create(string) (io.Writer, func() error, error) {
	return io.Discard, func() error { return nil }, nil
}

// reading is the state of one pass over a bundle.
type reading struct {
	*stream
	sink     sink
	opts     options
	manifest *Manifest
	text     []byte
	full     []byte // manifest.json of the full bundle
	sums     []byte
	seen     map[string]bool
	report   *Report
	partial  *partial // the images.tar of a difference
	dataEnd  int64    // offset in the tar of the end of the last member's data
}

// pass reads a bundle once from end to end, verifying all and giving the members to out.
func pass(ctx context.Context, path string, progress func(done, total int64), out sink, opts options) (*reading,
	error) {
	s, err := newStream(ctx, path, progress)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &reading{stream: s, sink: out, opts: opts, seen: map[string]bool{}, report: &Report{}}
	if err := r.whole(); err != nil {
		return nil, s.src.blame(err)
	}
	return r, nil
}

func (r *reading) whole() error {
	if err := r.head(); err != nil {
		return err
	}
	for i := range r.manifest.Members {
		if m := &r.manifest.Members[i]; m.From == "" {
			if err := r.payload(m); err != nil {
				return err
			}
		}
	}
	if r.report.ImagesSum != "" {
		text := r.manifest.ImagesSumText(r.report.ImagesSum)
		if err := r.exact(ImagesSumName, text); err != nil {
			return err
		}
		if err := r.write(ImagesSumName, text); err != nil {
			return err
		}
	}
	return r.end()
}

// head reads what everything else is held against. Nothing is placed before it was admitted.
func (r *reading) head() (err error) {
	if r.manifest, r.text, err = r.stream.manifest(); err != nil {
		return err
	}
	r.account(ManifestName, int64(len(r.text)))
	if r.full, err = fullText(r.manifest, r.text); err != nil {
		return err
	}
	r.report.Manifest, r.report.ID, r.report.Base = r.manifest, ID(r.full), r.manifest.Base
	r.sums = SumsText(r.text, r.manifest)
	if err := r.exact(SumsName, r.sums); err != nil {
		return err
	}
	if err := r.opts.admit(r.manifest, r.sums); err != nil {
		return err
	}
	return errors.Join(r.write(ManifestName, r.text), r.write(SumsName, r.sums))
}

func (r *reading) account(name string, size int64) {
	r.seen[name] = true
	r.report.Members++
	r.report.Bytes += size
	r.dataEnd = r.plain.n
}

// expect goes to the next member, which must be want.
func (r *reading) expect(want string) (*tar.Header, error) {
	hdr, err := r.next()
	if err != nil {
		return nil, err
	}
	switch {
	case hdr == nil:
		return nil, fault("bundle.missing", nil, "member", want)
	case hdr.Name == want:
		return hdr, nil
	case r.seen[hdr.Name]:
		return nil, fault("bundle.duplicate", nil, "member", hdr.Name, "other", hdr.Name)
	}
	known := slices.Contains([]string{ManifestName, SumsName, ImagesSumName}, hdr.Name)
	if _, ok := r.manifest.Member(hdr.Name); !ok && !known {
		return nil, fault("bundle.unexpected", nil, "member", hdr.Name)
	}
	return nil, fault("bundle.order", nil, "member", hdr.Name, "want", want)
}

// exact reads a member whose bytes are known beforehand.
func (r *reading) exact(name string, want []byte) error {
	hdr, err := r.expect(name)
	if err != nil {
		return err
	}
	got, err := r.document(hdr, int64(len(want)))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fault("bundle.sum-mismatch", nil, "member", name, "got", sumHex(got), "want", sumHex(want))
	}
	r.account(name, hdr.Size)
	return nil
}

func (r *reading) write(name string, data []byte) error {
	w, done, err := r.sink.create(name)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err != nil {
		err = storeFault(err, name)
	}
	return errors.Join(err, done())
}

const maxAddon = 64 << 20 // bytes of an addon

func (r *reading) payload(m *Member) error {
	hdr, err := r.expect(m.Path)
	if err != nil {
		return err
	}
	want := m.Size
	if m.Carried > 0 {
		want = m.Carried
	}
	if hdr.Size != want {
		return fault("bundle.member-size", nil, "member", m.Path, "got", fmt.Sprint(hdr.Size), "want", fmt.Sprint(want))
	}
	w, done, err := r.sink.create(m.Path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	out := io.MultiWriter(&writeErrors{w: w}, sum)
	var addon bytes.Buffer
	seen := r.opts.addon != nil && m.Kind == Addon && m.Size <= maxAddon
	if seen {
		out = io.MultiWriter(out, &addon)
	}
	src := &memberReader{r: io.TeeReader(r.tr, out)}
	switch {
	case m.Kind == Images && m.Carried > 0:
		r.partial, err = readPartial(r.ctx, src, r.manifest)
	case m.Kind == Images:
		err = checkImages(r.ctx, src, r.manifest)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, src)
	}
	if err != nil {
		return errors.Join(r.memberFault(err, src, m.Path), done())
	}
	if err := done(); err != nil {
		return err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if m.Kind == Images {
		r.report.ImagesSum = got
	} else if got != m.SHA256 {
		return fault("bundle.sum-mismatch", nil, "member", m.Path, "got", got, "want", m.SHA256)
	}
	if seen {
		r.opts.addon(m, addon.Bytes())
	}
	r.account(m.Path, hdr.Size)
	return nil
}

// memberReader remembers the archive's own read error, so that it is not taken for a fault of what reads it.
type memberReader struct {
	r   io.Reader
	err error
}

func (m *memberReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

// writeErrors marks errors of the sink.
type writeErrors struct{ w io.Writer }

type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

func (w *writeErrors) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		err = writeError{err}
	}
	return n, err
}

func (r *reading) memberFault(err error, src *memberReader, member string) error {
	if src.err != nil {
		err = src.err
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if we := (writeError{}); errors.As(err, &we) {
		return storeFault(we.error, member)
	}
	if f := asBundleFault(err); f != nil {
		if f.Args == nil {
			f.Args = map[string]string{}
		}
		f.Args["member"] = member
		return f
	}
	return r.readFault(err, member)
}

// storeFault names why a member could not be written to disk.
func storeFault(err error, member string) error {
	code := "bundle.write"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = "bundle.no-space"
	}
	return fault(code, pathless(err), "member", member)
}

func asBundleFault(err error) *event.Fault {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return f
	}
	return nil
}

// checkImages verifies images.tar and that it holds the manifest's images and no others.
func checkImages(ctx context.Context, src io.Reader, m *Manifest) error {
	got, err := image.Check(ctx, src)
	if err != nil {
		return err
	}
	found := map[string]image.Image{}
	for _, im := range got {
		for _, n := range im.Names {
			found[n] = im
		}
	}
	for _, want := range m.Images {
		im, ok := found[want.Name]
		if !ok {
			return fault("bundle.no-image", nil, "image", want.Name)
		}
		if im.Manifest.Digest != want.Digest {
			return fault("bundle.image-digest", nil, "image", want.Name, "got", im.Manifest.Digest, "want", want.Digest)
		}
		if im.Platform.String() != want.Platform {
			return fault("bundle.image-arch", nil, "image", want.Name, "got", im.Platform.String(), "want",
				want.Platform)
		}
		var layers []string
		for _, l := range im.Layers {
			layers = append(layers, l.Digest)
		}
		if !slices.Equal(layers, want.Layers) {
			return fault("bundle.images-damaged", fmt.Errorf("%s has other layers than manifest.json says", want.Name))
		}
		delete(found, want.Name)
	}
	for n := range found {
		return fault("bundle.images-damaged", fmt.Errorf("%s is not in manifest.json", n))
	}
	return nil
}

// end makes sure that the tar and the gzip member end here and that nothing follows either.
func (r *reading) end() error {
	hdr, err := r.next()
	if err != nil {
		return err
	}
	if hdr != nil {
		if r.seen[hdr.Name] {
			return fault("bundle.duplicate", nil, "member", hdr.Name, "other", hdr.Name)
		}
		return fault("bundle.unexpected", nil, "member", hdr.Name)
	}
	if r.plain.n != (r.dataEnd+511)/512*512+1024 {
		return fault("bundle.truncated", nil, "member", "", "at", fmt.Sprint(r.raw.n))
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r.plain, 1)); err != nil {
		return r.readFault(err, "") // the gzip trailer is checked here
	} else if n > 0 {
		return fault("bundle.trailing-data", nil)
	}
	if _, err := r.buf.ReadByte(); err == nil {
		if p := r.src.partAt(r.raw.n - int64(r.buf.Buffered()) - 1); r.src.split && p != "" {
			return fault("bundle.part-extra", nil, "part", p)
		}
		return fault("bundle.trailing-data", nil)
	} else if !errors.Is(err, io.EOF) {
		return r.readFault(err, "")
	}
	if r.src.beyond != "" {
		return fault("bundle.part-extra", nil, "part", r.src.beyond)
	}
	return nil
}
