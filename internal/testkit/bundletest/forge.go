// Package bundletest makes, for tests, bundles that nobody should install.
package bundletest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Forge copies a bundle with another manifest, and the sums that belong to it: whoever does not ask who signed it finds
// nothing wrong with what is in it.
func Forge(from, to string, edit func(m *bundle.Manifest)) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	unzip, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(out, gzip.NoCompression)
	if err != nil {
		return err
	}
	r, w := tar.NewReader(unzip), tar.NewWriter(zip)
	if err := forge(r, w, edit); err != nil {
		return err
	}
	return errors.Join(w.Close(), zip.Close())
}

func forge(r *tar.Reader, w *tar.Writer, edit func(m *bundle.Manifest)) error {
	var sums []byte
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var body []byte
		switch h.Name {
		case bundle.ManifestName:
			text, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			m, err := bundle.ParseManifest(text)
			if err != nil {
				return err
			}
			edit(m)
			m.Format = m.NeededFormat()
			if body, err = bundle.EncodeManifest(m); err != nil {
				return fmt.Errorf("the forged manifest: %w", err)
			}
			sums = bundle.SumsText(body, m)
		case bundle.SumsName:
			body = sums
		}
		if body != nil {
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: h.Name, Size: h.Size, Mode: 0o644,
			ModTime: h.ModTime}); err != nil {
			return err
		}
		if body != nil {
			_, err = w.Write(body)
		} else {
			_, err = io.Copy(w, r)
		}
		if err != nil {
			return err
		}
	}
}
