package deb

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Payload gives each the regular files of a .deb by their absolute paths, with at most limit bytes in all. What each
// does not read is skipped. Nothing is verified.
func Payload(r io.Reader, limit int64, each func(name string, r io.Reader) error) error {
	in := bufio.NewReader(r)
	magic := make([]byte, 8)
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != "!<arch>\n" {
		return errors.New("not an ar archive")
	}
	for {
		name, size, err := arHeader(in)
		if err != nil {
			return err
		}
		body := io.LimitReader(in, size+size&1)
		if ext, ok := strings.CutPrefix(name, "data.tar"); ok {
			return payloadTar(body, ext, limit, each)
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
	}
}

func payloadTar(r io.Reader, ext string, limit int64, each func(name string, r io.Reader) error) error {
	var err error
	plain := r
	switch ext {
	case "":
	case ".gz":
		plain, err = gzip.NewReader(r)
	case ".bz2":
		plain = bzip2.NewReader(r)
	case ".xz":
		plain, err = xz.NewReader(r) // takes as much memory as is unpacked, whatever the header says
	case ".zst":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			defer z.Close()
			plain = z
		}
	default:
		err = fmt.Errorf("data.tar%.10s: unknown compression", ext)
	}
	if err != nil {
		return err
	}
	t := tar.NewReader(io.LimitReader(plain, limit))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("data.tar: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := each(path.Join("/", h.Name), t); err != nil {
			return err
		}
	}
}

const maxWindow = 128 << 20 // bytes of a zstd window of a payload
