package state

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Bounds of an archive that is read. The pki of 3,000 machines has 15,000 files of 3 MB.
const (
	mostBytes = 64 << 20
	mostFiles = 100_000
)

// pack returns files as a compressed archive, the same for the same files.
func pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(files[name]))}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err = errors.Join(t.Close(), z.Close())
	return out.Bytes(), err
}

// unpack returns the files of an archive. It refuses what pack does not write: links, devices, directories, names that
// lead out of the archive or occur twice, and archives beyond the bounds.
func unpack(data []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: z, N: mostBytes}
	t, out := tar.NewReader(limited), map[string][]byte{}
	for {
		h, err := t.Next()
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("the archive has more than %d MB", mostBytes>>20)
		case errors.Is(err, io.EOF):
			return out, z.Close()
		case err != nil:
			return nil, err
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%q is not a regular file", h.Name)
		case !plain(h.Name):
			return nil, fmt.Errorf("%q is not a path in the archive", h.Name)
		case out[h.Name] != nil:
			return nil, fmt.Errorf("%q is in the archive twice", h.Name)
		case len(out) == mostFiles:
			return nil, fmt.Errorf("the archive has more than %d files", mostFiles)
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		out[h.Name] = content
	}
}
