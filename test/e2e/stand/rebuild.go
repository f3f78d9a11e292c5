package stand

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// rebuilt is what is put behind the last byte of a program: it runs as before, and is another build of the same
// version.
const rebuilt = "another build\n"

// Rebuild makes a bundle with other bytes of some programs of the stand's bundle, in the same version, and gives its
// path.
func (s *Stand) Rebuild(ctx context.Context, programs ...string) (string, error) {
	s.Say("another build of %v", programs)
	a, err := bundle.Open(s.Bundle)
	if err != nil {
		return "", err
	}
	m, done := a.Manifest(), errors.New("it was found")
	for i, e := range m.Members {
		if e.Kind != bundle.Binary || !slices.Contains(programs, e.Name) {
			continue
		}
		h := sha256.New()
		err := eachMember(ctx, s.Bundle, func(head *tar.Header, r io.Reader) error {
			if head.Name != e.Path {
				return nil
			}
			_, err := io.Copy(h, io.MultiReader(r, bytes.NewReader([]byte(rebuilt))))
			return errors.Join(err, done)
		})
		if !errors.Is(err, done) {
			return "", fmt.Errorf("%s: %w", e.Path, err)
		}
		m.Members[i].Size, m.Members[i].SHA256 = e.Size+int64(len(rebuilt)), hex.EncodeToString(h.Sum(nil))
	}
	path := filepath.Join(s.Dir, "rebuilt-"+filepath.Base(s.Bundle))
	return path, writeRebuilt(ctx, s.Bundle, path, m, programs)
}

// eachMember calls f with each member of a bundle until it fails.
func eachMember(ctx context.Context, path string, f func(*tar.Header, io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f(head, t)
		}
		if err != nil {
			return err
		}
	}
}

// writeRebuilt copies a bundle, with another manifest and with other bytes of the programs. It is stored, not
// compressed.
func writeRebuilt(ctx context.Context, from, to string, m *bundle.Manifest, programs []string) error {
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	buffer := bufio.NewWriterSize(out, 1<<20)
	z, err := gzip.NewWriterLevel(buffer, gzip.NoCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = eachMember(ctx, from, func(head *tar.Header, r io.Reader) error {
		switch e, ok := m.Member(head.Name); {
		case head.Name == bundle.ManifestName:
			r, head.Size = bytes.NewReader(text), int64(len(text))
		case head.Name == bundle.SumsName:
			sums := bundle.SumsText(text, m)
			r, head.Size = bytes.NewReader(sums), int64(len(sums))
		case ok && e.Kind == bundle.Binary && slices.Contains(programs, e.Name):
			r, head.Size = io.MultiReader(r, bytes.NewReader([]byte(rebuilt))), e.Size
		}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		_, err := io.Copy(t, r)
		return err
	})
	return errors.Join(err, t.Close(), z.Close(), buffer.Flush(), out.Close())
}
