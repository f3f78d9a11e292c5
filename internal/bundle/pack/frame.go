package pack

import "encoding/binary"

const (
	gzipHead     = 10 // bytes of the gzip header without a name
	gzipTail     = 8  // crc32 and size
	storedBlock  = 65535
	blockHead    = 5 // bytes before the data of a stored block
	deflatePiece = 1 << 20
)

// gzipHeader has no name and no time, and 255 (unknown) as the system it was made on (RFC 1952, 2.3).
func gzipHeader() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff} }

// file is how long the file is that has the first t bytes of the tar, t being in the stored part.
func (l *Layout) file(t int64) int64 {
	return gzipHead + t + (t+storedBlock-1)/storedBlock*blockHead
}

// blockLen is the length of the stored block that begins at t.
func (l *Layout) blockLen(t int64) int { return int(min(storedBlock, l.stored-t)) }

// header writes the header of the stored block that begins at t of the tar: not the last block, type 0, length and its
// complement (RFC 1951, 3.2.4).
func (l *Layout) header(to []byte, t int64) {
	n := uint16(l.blockLen(t))
	to[0] = 0
	binary.LittleEndian.PutUint16(to[1:], n)
	binary.LittleEndian.PutUint16(to[3:], ^n)
}

// framer turns bytes of the tar into what stands for them in the file: slices of the data with the headers of blocks
// between them. Nothing is copied. It is reused for one write after the other.
type framer struct {
	l     *Layout
	vec   [][]byte
	heads []byte
}

// maxFrame bounds the data of one write: 64 blocks are 128 slices, far below IOV_MAX (1024).
const maxFrame = 64 * storedBlock

// frame gives the slices for data (at most maxFrame bytes) that stands at t of the tar, and where the first of them
// goes in the file. The header of a block is written by who writes its first byte.
func (f *framer) frame(t int64, data []byte) ([][]byte, int64) {
	if f.heads == nil {
		f.heads = make([]byte, (maxFrame/storedBlock+2)*blockHead)
	}
	f.vec = f.vec[:0]
	at, heads := f.l.file(t), f.heads
	for len(data) > 0 {
		in := t % storedBlock
		if in == 0 {
			f.l.header(heads, t)
			f.vec = append(f.vec, heads[:blockHead])
			heads = heads[blockHead:]
		}
		n := min(int64(len(data)), storedBlock-in)
		f.vec = append(f.vec, data[:n])
		data, t = data[n:], t+n
	}
	return f.vec, at
}

// unframe calls take with the bytes of the tar from t up to end that are in data, which is what the file has from
// file(t) on.
func (l *Layout) unframe(data []byte, t, end int64, take func(t int64, data []byte)) {
	for t < end {
		in := t % storedBlock
		if in == 0 {
			data = data[blockHead:]
		}
		n := min(end-t, storedBlock-in)
		take(t, data[:n])
		data, t = data[n:], t+n
	}
}
