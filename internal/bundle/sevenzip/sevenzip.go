// Package sevenzip reads the list of members of a 7z archive as far as its counts, which the library that extracts
// members trusts: it makes room for as many as an archive says, and an archive of a hundred bytes can say that there
// are millions. It imports nothing of ours.
package sevenzip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// What an archive of programs stays far below.
const (
	maxHeader     = 32 << 20  // bytes of the list of members, packed and unpacked
	maxMembers    = 256 << 10 // and streams, and folders
	maxCoders     = 32        // of a folder, and what goes into them and comes out
	maxDictionary = 256 << 20 // bytes that a coder keeps
)

// ids of 7zFormat.txt.
const (
	idEnd = iota
	idHeader
	_
	_
	idStreams
	idFiles
	idPack
	idUnpack
	idSubStreams
	idSize
	idCRC
	idFolder
	idUnpackSize
	idNumStreams
	idEncoded = 0x17
)

const signature = "7z\xbc\xaf\x27\x1c"

// Check refuses an archive that says more of itself than it can have.
func Check(r io.ReaderAt, size int64) error {
	start := make([]byte, 32)
	if _, err := r.ReadAt(start, 0); err != nil || string(start[:6]) != signature {
		return errors.New("it does not begin as a 7z archive does")
	}
	header, err := part(r, size, binary.LittleEndian.Uint64(start[12:]), binary.LittleEndian.Uint64(start[20:]))
	if err != nil {
		return err
	}
	in := &reader{Reader: bytes.NewReader(header)}
	switch id := in.byte(); {
	case in.err == nil && id == idEncoded:
		s := in.streams()
		if in.err == nil {
			if header, in.err = s.header(r, size); in.err == nil {
				in = &reader{Reader: bytes.NewReader(header)}
				in.need(idHeader)
			}
		}
	case id != idHeader:
		in.fail(errors.New("its list of members begins otherwise than one does"))
	}
	in.members()
	return in.err
}

// part reads what lies in the archive behind its first 32 bytes.
func part(r io.ReaderAt, size int64, offset, n uint64) ([]byte, error) {
	rest := uint64(max(size-32, 0))
	switch {
	case n > maxHeader:
		return nil, fmt.Errorf("its list of members has %d bytes, more than %d", n, maxHeader)
	case offset > rest || n > rest-offset:
		return nil, errors.New("its list of members is not in it")
	}
	b := make([]byte, n)
	_, err := io.ReadFull(io.NewSectionReader(r, 32+int64(offset), int64(n)), b)
	return b, err
}

// streams are the folders of a list: how their content was made of what is packed.
type streams struct {
	offset  uint64 // of what is packed
	packed  []uint64
	folders []folder
}

type folder struct {
	coders  []coder
	packed  uint64
	unpacks []uint64
	sum     bool // its checksum is given
}

type coder struct {
	method     string
	properties []byte
	in, out    uint64
}

// header unpacks the list of members, which is the only folder of these.
func (s streams) header(r io.ReaderAt, size int64) ([]byte, error) {
	if len(s.folders) != 1 || len(s.packed) != 1 || len(s.folders[0].coders) != 1 || len(s.folders[0].unpacks) != 1 {
		return nil, errors.New("its list of members is packed in more ways than one")
	}
	packed, err := part(r, size, s.offset, s.packed[0])
	if err != nil {
		return nil, err
	}
	c, n := s.folders[0].coders[0], s.folders[0].unpacks[0]
	if n > maxHeader {
		return nil, fmt.Errorf("its list of members has %d bytes, more than %d", n, maxHeader)
	}
	var in io.Reader = bytes.NewReader(packed)
	switch c.method {
	case "\x00":
	case lzma1:
		head := binary.LittleEndian.AppendUint64(bytes.Clone(c.properties), n)
		in, err = lzma.NewReader(io.MultiReader(bytes.NewReader(head), in))
	case lzma2:
		in, err = lzma.Reader2Config{DictCap: max(int(c.dictionary()), lzma.MinDictCap)}.NewReader2(in)
	default:
		return nil, fmt.Errorf("its list of members is packed by the unknown method %x", c.method)
	}
	if err != nil {
		return nil, err
	}
	out := make([]byte, n)
	_, err = io.ReadFull(in, out)
	return out, err
}

// The methods that are looked into.
const (
	lzma1 = "\x03\x01\x01"
	lzma2 = "\x21"
	aes   = "\x06\xf1\x07\x01"
)

// dictionary is how much the coder keeps of what it has unpacked, in bytes.
func (c coder) dictionary() uint64 {
	switch p := c.properties; {
	case c.method == lzma1 && len(p) == 5:
		return uint64(binary.LittleEndian.Uint32(p[1:]))
	case c.method == lzma2 && len(p) == 1 && p[0] <= 40:
		return (2 | uint64(p[0]&1)) << (p[0]/2 + 11)
	case c.method == lzma1 || c.method == lzma2:
		return maxDictionary + 1
	}
	return 0
}

// reader reads a list of members. Once it has failed all it reads is zero.
type reader struct {
	*bytes.Reader
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	b, err := r.ReadByte()
	if err != nil {
		r.fail(io.ErrUnexpectedEOF)
	}
	return b
}

func (r *reader) skip(n uint64) {
	if n > uint64(r.Len()) {
		r.fail(io.ErrUnexpectedEOF)
		return
	}
	_, err := r.Seek(int64(n), io.SeekCurrent)
	if err != nil {
		r.fail(err)
	}
}

func (r *reader) need(id byte) {
	if got := r.byte(); r.err == nil && got != id {
		r.fail(fmt.Errorf("in its list of members %#x stands for %#x", got, id))
	}
}

// number reads one of one to nine bytes; the first says in its leading ones how many follow.
func (r *reader) number() uint64 {
	first := r.byte()
	n := bits.LeadingZeros8(^first)
	var v uint64
	if n < 7 {
		v = uint64(first&(1<<(8-n)-1)) << (8 * n)
	}
	for i := range n {
		v |= uint64(r.byte()) << (8 * i)
	}
	if r.err != nil {
		return 0
	}
	return v
}

// count is the number of something that takes a byte at least of the rest of the list.
func (r *reader) count(what string) uint64 {
	n := r.number()
	if most := min(maxMembers, uint64(r.Len())); n > most {
		r.fail(fmt.Errorf("it says that it has %d %s, where there is room for %d", n, what, most))
		return 0
	}
	return n
}

func (r *reader) few(what string) uint64 {
	n := r.number()
	if n > maxCoders {
		r.fail(fmt.Errorf("it says that it has %d %s, more than %d", n, what, maxCoders))
		return 0
	}
	return n
}

func (r *reader) numbers(n uint64) []uint64 {
	var out []uint64
	for range n {
		out = append(out, r.number())
		if r.err != nil {
			return nil
		}
	}
	return out
}

// members reads the list as far as the number of its members; all that comes after is as many times that.
func (r *reader) members() {
	id := r.byte()
	if id == idStreams {
		r.streams()
		id = r.byte()
	}
	if id == idFiles {
		r.count("members")
		return
	}
	if r.err == nil && id != idEnd {
		r.fail(fmt.Errorf("in its list of members %#x stands for the members", id))
	}
}

func (r *reader) streams() (s streams) {
	id := r.byte()
	if id == idPack {
		s.offset = r.number()
		n := r.count("packed streams")
		if id = r.byte(); id == idSize {
			s.packed = r.numbers(n)
			id = r.byte()
		}
		if id == idCRC {
			r.sums(n)
			id = r.byte()
		}
		r.end(id)
		id = r.byte()
	}
	if id == idUnpack {
		s.folders = r.unpack()
		id = r.byte()
	}
	if id == idSubStreams {
		r.subStreams(s.folders)
		id = r.byte()
	}
	r.end(id)
	return s
}

func (r *reader) end(id byte) {
	if r.err == nil && id != idEnd {
		r.fail(fmt.Errorf("in its list of members %#x stands for an end", id))
	}
}

// sums are of n things, or of those that a bit each says; given says of which. n is bounded by what is left to read.
func (r *reader) sums(n uint64) (given []bool) {
	if r.byte() != 0 {
		r.skip(4 * n)
		if r.err == nil {
			given = slices.Repeat([]bool{true}, int(n))
		}
		return given
	}
	set := uint64(0)
	for left := n; left > 0 && r.err == nil; left -= min(left, 8) {
		b := r.byte()
		set += uint64(bits.OnesCount8(b >> (8 - min(left, 8))))
		for i := range min(left, 8) {
			given = append(given, b>>(7-i)&1 != 0)
		}
	}
	r.skip(4 * set)
	return given
}

func (r *reader) unpack() (out []folder) {
	r.need(idFolder)
	n := r.count("folders")
	if r.byte() != 0 {
		r.fail(errors.New("its folders are described elsewhere"))
	}
	for range n {
		if r.err != nil {
			return nil
		}
		out = append(out, r.folder())
	}
	r.need(idUnpackSize)
	for i := range out {
		outs := uint64(0)
		for _, c := range out[i].coders {
			outs += c.out
		}
		out[i].unpacks = r.numbers(outs)
	}
	id := r.byte()
	if id == idCRC {
		for i, given := range r.sums(n) {
			out[i].sum = given
		}
		id = r.byte()
	}
	r.end(id)
	return out
}

func (r *reader) folder() (f folder) {
	ins, outs := uint64(0), uint64(0)
	for range r.few("coders") {
		c := r.coder()
		if r.err != nil {
			return f
		}
		ins, outs = ins+c.in, outs+c.out
		f.coders = append(f.coders, c)
	}
	if outs == 0 || ins < outs-1 {
		r.fail(errors.New("the coders of a folder do not fit together"))
		return f
	}
	for range 2 * (outs - 1) {
		r.number()
	}
	if f.packed = ins - (outs - 1); f.packed != 1 {
		r.numbers(f.packed)
	}
	return f
}

func (r *reader) coder() (c coder) {
	kind := r.byte()
	method := make([]byte, kind&0xf)
	for i := range method {
		method[i] = r.byte()
	}
	c.method, c.in, c.out = string(method), 1, 1
	if kind&0x10 != 0 {
		c.in, c.out = r.few("streams into a coder"), r.few("streams out of a coder")
	}
	if kind&0x20 != 0 {
		c.properties = make([]byte, r.count("properties of a coder"))
		for i := range c.properties {
			c.properties[i] = r.byte()
		}
	}
	switch {
	case c.method == aes:
		r.fail(errors.New("it is encrypted"))
	case c.dictionary() > maxDictionary:
		r.fail(fmt.Errorf("a dictionary of its has more than %d bytes", maxDictionary))
	}
	return c
}

// subStreams are the members of folders. By 7zFormat.txt the checksum of a folder with one member is that of the
// member, which is not given again. The library expects it again: it would read the rest otherwise than we do, so an
// archive that has both kinds is refused. 7-Zip gives either kind alone.
func (r *reader) subStreams(folders []folder) {
	id := r.byte()
	all, sizes, known := uint64(len(folders)), uint64(0), false
	for _, f := range folders {
		known = known || f.sum && id != idNumStreams
	}
	if id == idNumStreams {
		all = 0
		for _, f := range folders {
			n := r.number()
			if n > maxMembers || all+n > maxMembers {
				r.fail(fmt.Errorf("it says that it has %d members in a folder, more than %d", n, maxMembers))
				return
			}
			all, sizes, known = all+n, sizes+max(n, 1)-1, known || f.sum && n == 1
		}
		id = r.byte()
	}
	if id == idSize {
		r.numbers(sizes)
		id = r.byte()
	}
	if id == idCRC {
		if known {
			r.fail(errors.New("it gives checksums of some members with their folders, of others by themselves, which " +
				"cannot be read; pack it again"))
			return
		}
		r.sums(all)
		id = r.byte()
	}
	r.end(id)
}
