package build

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// gzipWriter writes one gzip member whose bytes depend on nothing but the data: a stored part (what would not shrink: packages,
// image layers) in blocks of exactly 65535 bytes, then a compressed part in pieces of 1 MiB, each deflated by itself at level 1 and
// ended on a byte boundary. So the place of every byte of the stored part is known before it is fetched and the pieces of the rest can
// be deflated side by side: a concurrent writer gives the same file.
type gzipWriter struct {
	w        io.Writer
	buf      []byte
	compress bool
	fw       *flate.Writer
	crc      uint32
	n        uint32
	begun    bool
}

const (
	storedBlock = 65535
	piece       = 1 << 20
)

func newGzipWriter(w io.Writer) *gzipWriter {
	return &gzipWriter{w: w, buf: make([]byte, 0, piece)}
}

// Write implements io.Writer.
func (g *gzipWriter) Write(p []byte) (int, error) {
	g.crc = crc32.Update(g.crc, crc32.IEEETable, p)
	g.n += uint32(len(p))
	for rest := p; len(rest) > 0; {
		limit := storedBlock
		if g.compress {
			limit = piece
		}
		k := min(limit-len(g.buf), len(rest))
		g.buf = append(g.buf, rest[:k]...)
		rest = rest[k:]
		if len(g.buf) == limit {
			if err := g.block(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// Compress ends the stored part.
func (g *gzipWriter) Compress() error {
	if g.compress {
		return nil
	}
	if err := g.block(); err != nil {
		return err
	}
	g.compress = true
	return nil
}

func (g *gzipWriter) start() error {
	if g.begun {
		return nil
	}
	g.begun = true
	_, err := g.w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	return err
}

// block writes what is in the buffer, not as the last block.
func (g *gzipWriter) block() error {
	if err := g.start(); err != nil || len(g.buf) == 0 {
		return err
	}
	defer func() { g.buf = g.buf[:0] }()
	if !g.compress {
		head := [5]byte{}
		binary.LittleEndian.PutUint16(head[1:], uint16(len(g.buf)))
		binary.LittleEndian.PutUint16(head[3:], ^uint16(len(g.buf)))
		if _, err := g.w.Write(head[:]); err != nil {
			return err
		}
		_, err := g.w.Write(g.buf)
		return err
	}
	if err := g.deflate(); err != nil {
		return err
	}
	return g.fw.Flush()
}

func (g *gzipWriter) deflate() error {
	if g.fw == nil {
		fw, err := flate.NewWriter(g.w, 1)
		if err != nil {
			return err
		}
		g.fw = fw
	} else {
		g.fw.Reset(g.w)
	}
	_, err := g.fw.Write(g.buf)
	return err
}

// Close writes the last piece and the trailer; it does not close the writer below.
func (g *gzipWriter) Close() error {
	if err := g.Compress(); err != nil {
		return err
	}
	if err := g.deflate(); err != nil {
		return err
	}
	if err := g.fw.Close(); err != nil {
		return err
	}
	var tail [8]byte
	binary.LittleEndian.PutUint32(tail[:4], g.crc)
	binary.LittleEndian.PutUint32(tail[4:], g.n)
	_, err := g.w.Write(tail[:])
	return err
}
