// Package pack writes a bundle in place: every place in the file follows from the sizes of its members, so that blobs
// can be written where they belong in the order in which they arrive, many at once, and the compressed rest is deflated
// beside them. The file has the same bytes as if tar and gzip had been written from the beginning to the end.
// docs/bundle-format.md, "Compression", has the format; it stands on RFC 1952 (gzip), RFC 1951 (deflate, stored blocks)
// and POSIX ustar.
//
// The package knows neither specs nor networks. A build goes:
//
//	layout, err := pack.Plan(members, epoch)
//	w, err := pack.Create(ctx, layout, pack.Options{Path: "NAME.tar.gz"})
//	defer w.Abort()
//	… for each blob of layout.Stored(), any number at once: write it to w.Sink(blob), then Close the sink …
//	result, err := w.Finish(ctx, open) // at any time; waits for the sinks
package pack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"
)

// Member of an archive.
type Member struct {
	Path string
	Mode uint32 // permissions; 0 means 0644
	// Stored members stand in the part of the file that is not compressed. All of them come before the others.
	Stored bool
	Parts  []Part // the content in its order
}

// Size of the member's content in bytes.
func (m Member) Size() int64 {
	n := int64(0)
	for _, p := range m.Parts {
		n += p.length()
	}
	return n
}

// Part of a member's content, one of three things: Data itself, the blob whose sha256 is SHA256 and whose size is Size
// bytes, or the sha256 of another member as 64 hexadecimal digits, which is known when that one is written: SumOf names
// it, by its path. That member must be a stored one and stand before.
type Part struct {
	Data   []byte
	SHA256 string
	Size   int64
	SumOf  string
}

// Blob is content by its sha256 (lower-case hex), with its size in bytes.
type Blob struct {
	SHA256 string
	Size   int64
}

const hexSum = 64 // digits of a sha256

func (p Part) length() int64 {
	switch {
	case p.SumOf != "":
		return hexSum
	case p.SHA256 != "":
		return p.Size
	}
	return int64(len(p.Data))
}

// Archive lays out a tar of the members as the content of another member, with the headers, the padding and the end of
// the archive, and gives its size in bytes. Stored has no meaning in it.
func Archive(members []Member, epoch time.Time) ([]Part, int64, error) {
	b := &builder{epoch: epoch}
	for _, m := range members {
		if err := b.member(m); err != nil {
			return nil, 0, err
		}
	}
	b.end()
	return b.parts, b.size, nil
}

// Layout is a bundle whose places are all known before its first byte is written. It is not changed by writing.
type Layout struct {
	pieces []piece // of the stored part, without gaps
	stored int64   // bytes of tar in the stored part
	spans  []span  // stored members whose sum is asked for
	blobs  []Blob
	tail   []Part // what is deflated
	rest   int64  // bytes of tar in the tail
	more   []Blob
}

// piece of the stored part: a literal, a blob or a sum, at a position in the tar.
type piece struct {
	at, size int64
	part     Part
}

type span struct {
	path     string
	from, to int64 // in the tar
}

// Plan lays out a bundle. A zero epoch means 1970. Its errors are the caller's mistakes: a path twice, a stored member
// after a compressed one, one blob with two sizes.
func Plan(members []Member, epoch time.Time) (*Layout, error) {
	l := &Layout{}
	b, spans, paths, asked := &builder{epoch: epoch}, map[string]span{}, map[string]bool{}, map[string]bool{}
	deflated, head := false, []Part(nil)
	for _, m := range members {
		if m.Stored && deflated {
			return nil, fmt.Errorf("%s is stored and stands after a compressed member", m.Path)
		}
		if paths[m.Path] {
			return nil, fmt.Errorf("%s is there twice", m.Path)
		}
		if !m.Stored && !deflated {
			deflated = true
			head, l.stored = b.take()
		}
		for _, p := range m.Parts {
			if _, ok := spans[p.SumOf]; p.SumOf != "" && !ok {
				return nil, fmt.Errorf("%s has the sum of %s, which is no stored member before it", m.Path, p.SumOf)
			}
			asked[p.SumOf] = p.SumOf != ""
		}
		if err := b.member(m); err != nil {
			return nil, err
		}
		paths[m.Path] = true
		if m.Stored {
			pad := -m.Size() & 511
			spans[m.Path] = span{m.Path, b.size - pad - m.Size(), b.size - pad}
		}
	}
	b.end()
	if deflated {
		l.tail, l.rest = b.take()
	} else {
		head, l.stored = b.take()
	}
	for _, m := range members {
		if asked[m.Path] {
			l.spans = append(l.spans, spans[m.Path])
		}
	}
	return l, l.place(head)
}

// place gives the parts of the head their positions and lists the blobs.
func (l *Layout) place(head []Part) error {
	sizes := map[string]int64{}
	list := func(to []Blob, seen map[string]bool, p Part) ([]Blob, error) {
		if p.SHA256 == "" || p.SumOf != "" {
			return to, nil
		}
		if n, ok := sizes[p.SHA256]; ok && n != p.Size {
			return nil, fmt.Errorf("blob %s has %d bytes and %d bytes", p.SHA256, n, p.Size)
		}
		sizes[p.SHA256] = p.Size
		if !seen[p.SHA256] {
			seen[p.SHA256] = true
			to = append(to, Blob{p.SHA256, p.Size})
		}
		return to, nil
	}
	at, err := int64(0), error(nil)
	stored, tail := map[string]bool{}, map[string]bool{}
	for _, p := range head {
		if l.blobs, err = list(l.blobs, stored, p); err != nil {
			return err
		}
		l.pieces = append(l.pieces, piece{at, p.length(), p})
		at += p.length()
	}
	for _, p := range l.tail {
		if l.more, err = list(l.more, tail, p); err != nil {
			return err
		}
	}
	return nil
}

// Stored lists the distinct blobs of the stored part in the order of their first places: what has to be written to
// sinks.
func (l *Layout) Stored() []Blob { return append([]Blob(nil), l.blobs...) }

// Deflated lists the distinct blobs of the compressed part in its order: what Finish opens.
func (l *Layout) Deflated() []Blob { return append([]Blob(nil), l.more...) }

// StoredSize is the exact size in bytes of the file's part before the compressed one.
func (l *Layout) StoredSize() int64 { return l.file(l.stored) }

// Estimate is about the size of the whole file: the part that is compressed is taken for half of what it was, which
// programs and text do not reach.
func (l *Layout) Estimate() int64 { return l.StoredSize() + l.rest/2 + 64 }

// Total is the size of the uncompressed archive, which Options.Progress counts in.
func (l *Layout) Total() int64 { return l.stored + l.rest }

// builder makes the parts of a tar.
type builder struct {
	epoch time.Time
	parts []Part
	size  int64
	own   bool // the last part's data is no slice of the caller's
}

func (b *builder) take() ([]Part, int64) {
	parts, size := b.parts, b.size
	b.parts, b.size = nil, 0
	return parts, size
}

// add joins small literals that follow each other, so that each is written at once.
func (b *builder) add(p Part) {
	n := p.length()
	if n == 0 && p.SHA256 == "" {
		return
	}
	b.size += n
	if last := len(b.parts) - 1; p.SHA256 == "" && p.SumOf == "" && last >= 0 {
		if q := &b.parts[last]; q.SHA256 == "" && q.SumOf == "" && len(q.Data)+len(p.Data) <= 64<<10 {
			if !b.own {
				q.Data = q.Data[:len(q.Data):len(q.Data)]
			}
			q.Data, b.own = append(q.Data, p.Data...), true
			return
		}
	}
	b.parts, b.own = append(b.parts, p), false
}

func (b *builder) member(m Member) error {
	if m.Path == "" || strings.HasSuffix(m.Path, "/") || path.IsAbs(m.Path) {
		return fmt.Errorf("%q is no path of a file in an archive", m.Path)
	}
	for _, p := range m.Parts {
		if p.Size < 0 {
			return fmt.Errorf("%s: a part has %d bytes", m.Path, p.Size)
		}
	}
	mode, at := m.Mode, b.epoch
	if mode == 0 {
		mode = 0o644
	}
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: m.Path, Size: m.Size(), Mode: int64(mode),
		ModTime: at.UTC().Truncate(time.Second)}
	var head bytes.Buffer
	// A writer of its own for each header: it writes that at once and nothing else.
	if err := tar.NewWriter(&head).WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", m.Path, err)
	}
	b.add(Part{Data: head.Bytes()})
	for _, p := range m.Parts {
		b.add(p)
	}
	b.add(Part{Data: make([]byte, -m.Size()&511)})
	return nil
}

// end adds the two empty blocks that end an archive.
func (b *builder) end() { b.add(Part{Data: make([]byte, 1024)}) }
