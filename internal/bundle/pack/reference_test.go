package pack

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
)

// sequential is the format as docs/bundle-format.md tells it, in the plainest way: one writer from the beginning to the
// end.
type sequential struct {
	out, buf bytes.Buffer
	tar      *tar.Writer
	deflate  bool
	crc      uint32
	n        int
}

func (s *sequential) Write(p []byte) (int, error) {
	s.crc, s.n = crc32.Update(s.crc, crc32.IEEETable, p), s.n+len(p)
	s.buf.Write(p)
	for !s.deflate && s.buf.Len() >= 65535 {
		s.block(65535)
	}
	for s.deflate && s.buf.Len() >= 1<<20 {
		s.piece(1<<20, false)
	}
	return len(p), nil
}

func (s *sequential) block(n int) {
	if n > 0 {
		s.out.WriteByte(0)
		_ = binary.Write(&s.out, binary.LittleEndian, []uint16{uint16(n), ^uint16(n)})
		s.out.Write(s.buf.Next(n))
	}
}

func (s *sequential) piece(n int, last bool) {
	fw, _ := flate.NewWriter(&s.out, 1)
	_, _ = fw.Write(s.buf.Next(n))
	if last {
		_ = fw.Close()
	} else {
		_ = fw.Flush()
	}
}

// reference gives the whole file, and the sums of the members.
func reference(t testing.TB, members []Member, epoch time.Time, blobs map[string][]byte) ([]byte, map[string]string) {
	t.Helper()
	s := &sequential{}
	s.out.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	s.tar = tar.NewWriter(s)
	sums := map[string]string{}
	for _, m := range members {
		if !m.Stored && !s.deflate {
			if err := s.tar.Flush(); err != nil {
				t.Fatal(err)
			}
			s.block(s.buf.Len())
			s.deflate = true
		}
		var content []byte
		for _, p := range m.Parts {
			switch {
			case p.SumOf != "":
				content = append(content, sums[p.SumOf]...)
			case p.SHA256 != "":
				content = append(content, blobs[p.SHA256]...)
			default:
				content = append(content, p.Data...)
			}
		}
		mode := int64(m.Mode)
		if mode == 0 {
			mode = 0o644
		}
		if epoch.IsZero() {
			epoch = time.Unix(0, 0)
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: m.Path, Size: int64(len(content)), Mode: mode,
			ModTime: epoch.UTC()}
		if err := s.tar.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := s.tar.Write(content); err != nil {
			t.Fatal(err)
		}
		sums[m.Path] = hexOf(content)
	}
	if err := s.tar.Close(); err != nil {
		t.Fatal(err)
	}
	if !s.deflate {
		s.block(s.buf.Len())
	}
	s.piece(s.buf.Len(), true)
	_ = binary.Write(&s.out, binary.LittleEndian, []uint32{s.crc, uint32(s.n)})
	return s.out.Bytes(), sums
}

func hexOf(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// store holds blobs in memory.
type store map[string][]byte

func (s store) put(b []byte) Part {
	sum := hexOf(b)
	s[sum] = b
	return Part{SHA256: sum, Size: int64(len(b))}
}

func (s store) open(_ context.Context, sum string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s[sum])), nil
}

// noise does not shrink; prose does.
func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

func prose(r *rand.Rand, n int) []byte {
	words := []string{"the ", "bundle ", "has ", "everything ", "that ", "a ", "cluster ", "needs\n",
		"\x00\x00\x00\x7fELF"}
	b := make([]byte, 0, n+10)
	for len(b) < n {
		b = append(b, words[r.IntN(len(words))]...)
	}
	return b[:n]
}

// awkward are sizes at which something begins or ends: nothing, blocks of tar, of deflate, and pieces of the tail.
func awkward(r *rand.Rand) int {
	sizes := []int{0, 1, 63, 511, 512, 513, 4096, 65534 - 512, 65535 - 512, 65536 - 512, 65534, 65535, 65536,
		2*65535 - 1,
		1<<20 - 513, 1<<20 - 1, 1 << 20, 1<<20 + 1}
	if r.IntN(3) == 0 {
		return r.IntN(200_000)
	}
	return sizes[r.IntN(len(sizes))]
}

// contents gives the files of dir whose names match, by name.
func contents(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = b
	}
	return out
}
