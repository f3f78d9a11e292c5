package bench

import (
	"archive/tar"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// bytes; larger than what deflate looks back, so that a piece dealt out twice does not compress better
const pieceSize = 128 << 10

// pieces are what programs and layers are made of: the toolchain's own programs, which compress as programs do.
type pieces [][]byte

// toolchain cuts the programs of the Go toolchain into pieces. The same toolchain gives the same pieces.
func toolchain() (pieces, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	root := strings.TrimSpace(string(out))
	var files []string
	for _, pattern := range []string{"bin/*", "pkg/tool/*/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	sort.Strings(files)
	var all pieces
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for len(data) >= pieceSize {
			all = append(all, data[:pieceSize:pieceSize])
			data = data[pieceSize:]
		}
	}
	if len(all) < 64 {
		return nil, errors.New("the Go toolchain in " + root + " has too few programs to make a workload of")
	}
	return all, nil
}

// Blob is a file of the workload, by what it holds.
type Blob struct {
	SHA256 string
	Size   int64
}

// Digest is the name that registries give it.
func (b Blob) Digest() string { return "sha256:" + b.SHA256 }

// blobWriter writes a file that is named after its sum once it is whole.
type blobWriter struct {
	dir string
	f   *os.File
	h   hash.Hash
	n   int64
}

func newBlob(dir string) (*blobWriter, error) {
	f, err := os.CreateTemp(dir, "new-*")
	return &blobWriter{dir: dir, f: f, h: sha256.New()}, err
}

func (b *blobWriter) Write(p []byte) (int, error) {
	b.h.Write(p)
	b.n += int64(len(p))
	return b.f.Write(p)
}

// done gives the file its name: that of its sum, or the one given.
func (b *blobWriter) done(name string) (Blob, error) {
	out := Blob{hex.EncodeToString(b.h.Sum(nil)), b.n}
	if name == "" {
		name = filepath.Join(b.dir, out.SHA256)
	}
	err := b.f.Chmod(0o644)
	if err := errors.Join(err, b.f.Close()); err != nil {
		return out, err
	}
	return out, os.Rename(b.f.Name(), name)
}

func (b *blobWriter) drop() {
	b.f.Close()
	os.Remove(b.f.Name()) // gone already if it was finished
}

// layer writes a gzip-compressed layer of about size bytes and gives it and the sha256 of the tar in it.
func (p pieces) layer(dir string, size int64, rng *rand.Rand) (layer Blob, diffID string, err error) {
	out, err := newBlob(dir)
	if err != nil {
		return Blob{}, "", err
	}
	defer out.drop()
	plain := sha256.New()
	z, err := gzip.NewWriterLevel(out, 6)
	if err != nil {
		return Blob{}, "", err
	}
	tw := tar.NewWriter(io.MultiWriter(plain, z))
	for i := 0; i == 0 || out.n < size; i++ {
		n := 1 + rng.IntN(int(min(8, size/pieceSize+1)))
		h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("usr/lib/part-%04d", i), Mode: 0o755,
			Size: int64(n) * pieceSize, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return Blob{}, "", err
		}
		for range n {
			if _, err := tw.Write(p[rng.IntN(len(p))]); err != nil {
				return Blob{}, "", err
			}
		}
	}
	if err := errors.Join(tw.Close(), z.Close()); err != nil {
		return Blob{}, "", err
	}
	layer, err = out.done("")
	return layer, "sha256:" + hex.EncodeToString(plain.Sum(nil)), err
}

// program writes an ELF file of size bytes for an architecture.
func (p pieces) program(name, arch string, size int64, rng *rand.Rand) (Blob, error) {
	out, err := newBlob(filepath.Dir(name))
	if err != nil {
		return Blob{}, err
	}
	defer out.drop()
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64}
	copy(h.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	if err := binary.Write(out, binary.LittleEndian, h); err != nil {
		return Blob{}, err
	}
	for out.n < size {
		piece := p[rng.IntN(len(p))]
		if _, err := out.Write(piece[:min(int64(len(piece)), size-out.n)]); err != nil {
			return Blob{}, err
		}
	}
	return out.done(name)
}
