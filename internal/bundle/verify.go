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
	"github.com/eggo-k8s/eggo/internal/event"
)

// Report of a verified bundle.
type Report struct {
	Manifest  *Manifest
	ID        string // sha256 of manifest.json
	Members   int    // with the three that are not payload
	Bytes     int64  // unpacked
	ImagesSum string // sha256 of images.tar, "" without images
}

// Verify reads every byte of a bundle and holds it against its manifest. progress (nil: none) is told the bytes of the file that were
// read and its size. The faults are of class bundle and name file and member: "bundle.truncated", "bundle.sum-mismatch",
// "bundle.unsafe-path", "bundle.member-type", "bundle.duplicate", "bundle.missing", "bundle.unexpected", "bundle.order",
// "bundle.trailing-data", and those of Open and of package image.
func Verify(ctx context.Context, path string, progress func(done, total int64)) (*Report, error) {
	r, err := pass(ctx, path, progress, discard{})
	return r, inFile(path, err)
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
	manifest *Manifest
	text     []byte
	seen     map[string]bool
	report   *Report
	dataEnd  int64 // offset in the tar of the end of the last member's data
}

// pass reads a bundle once from end to end, verifying all and giving the members to out.
func pass(ctx context.Context, path string, progress func(done, total int64), out sink) (*Report, error) {
	s, err := newStream(ctx, path, progress)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &reading{stream: s, sink: out, seen: map[string]bool{}, report: &Report{}}
	if err := r.head(); err != nil {
		return nil, err
	}
	for i := range r.manifest.Members {
		if err := r.payload(&r.manifest.Members[i]); err != nil {
			return nil, err
		}
	}
	if r.report.ImagesSum != "" {
		if err := r.exact(ImagesSumName, ImagesSumText(r.report.ImagesSum)); err != nil {
			return nil, err
		}
	}
	return r.report, r.end()
}

func (r *reading) head() error {
	hdr, err := r.next()
	if err != nil {
		return err
	}
	if hdr == nil || hdr.Name != ManifestName {
		return r.unknownLayout(hdr)
	}
	if r.text, err = r.document(hdr, MaxManifest); err != nil {
		return err
	}
	if r.manifest, err = ParseManifest(r.text); err != nil {
		return err
	}
	r.report.Manifest, r.report.ID = r.manifest, sumHex(r.text)
	r.account(hdr)
	if err := r.write(ManifestName, r.text); err != nil {
		return err
	}
	return r.exact(SumsName, SumsText(r.text, r.manifest))
}

func (r *reading) account(hdr *tar.Header) {
	r.seen[hdr.Name] = true
	r.report.Members++
	r.report.Bytes += hdr.Size
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
	r.account(hdr)
	return r.write(name, got)
}

func (r *reading) write(name string, data []byte) error {
	w, done, err := r.sink.create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, done())
}

func (r *reading) payload(m *Member) error {
	hdr, err := r.expect(m.Path)
	if err != nil {
		return err
	}
	if hdr.Size != m.Size {
		return fault("bundle.member-size", nil, "member", m.Path, "got", fmt.Sprint(hdr.Size), "want", fmt.Sprint(m.Size))
	}
	w, done, err := r.sink.create(m.Path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	src := &memberReader{r: io.TeeReader(r.tr, io.MultiWriter(&writeErrors{w: w}, sum))}
	if m.Kind == Images {
		err = r.images(src)
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
	r.account(hdr)
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

// images verifies images.tar and that it holds the manifest's images and no others.
func (r *reading) images(src io.Reader) error {
	got, err := image.Check(r.ctx, src)
	if err != nil {
		return err
	}
	found := map[string]image.Image{}
	for _, im := range got {
		for _, n := range im.Names {
			found[n] = im
		}
	}
	for _, want := range r.manifest.Images {
		im, ok := found[want.Name]
		if !ok {
			return fault("bundle.no-image", nil, "image", want.Name)
		}
		if im.Manifest.Digest != want.Digest {
			return fault("bundle.image-digest", nil, "image", want.Name, "got", im.Manifest.Digest, "want", want.Digest)
		}
		if im.Platform.String() != want.Platform {
			return fault("bundle.image-arch", nil, "image", want.Name, "got", im.Platform.String(), "want", want.Platform)
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
	if _, err := r.buf.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return r.readFault(err, "")
		}
		return fault("bundle.trailing-data", nil)
	}
	return nil
}
