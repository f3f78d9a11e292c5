package rpm

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

const (
	maxWindow   = 128 << 20 // bytes of a zstd window
	maxCpioName = 4096
	cpioHeader  = 110
	cpioRegular = 0o100000
	cpioType    = 0o170000
)

// Payload gives each the regular files of an rpm by their absolute paths, with at most limit bytes in all. What each
// does not read is skipped. Nothing is verified.
func Payload(r io.Reader, limit int64, each func(name string, r io.Reader) error) error {
	in := bufio.NewReader(r)
	if _, err := ReadHeader(in); err != nil {
		return err
	}
	plain, done, err := unpacked(in)
	if err != nil {
		return err
	}
	defer done()
	c := &cpio{r: bufio.NewReader(io.LimitReader(plain, limit))}
	for {
		name, mode, size, err := c.next()
		if err != nil {
			return fmt.Errorf("payload: %w", err)
		}
		if name == "TRAILER!!!" {
			return nil
		}
		body := io.LimitReader(c.r, size)
		if mode&cpioType == cpioRegular && size > 0 { // of files that are one, only the last has the bytes
			if err := each(path.Join("/", name), body); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return fmt.Errorf("payload: %w", err)
		}
		if err := c.pad(size); err != nil {
			return fmt.Errorf("payload: %w", err)
		}
	}
}

// unpacked reads what comes after the header, by its first bytes.
func unpacked(in *bufio.Reader) (plain io.Reader, done func(), err error) {
	head, _ := in.Peek(6) // shorter ones are of no known form
	done = func() {}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		plain, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte("BZh")):
		plain = bzip2.NewReader(in)
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		plain, err = xz.NewReader(in)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var z *zstd.Decoder
		z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			plain, done = z, z.Close
		}
	case bytes.HasPrefix(head, []byte{0x5d, 0, 0}):
		plain, err = lzma.NewReader(in)
	case bytes.HasPrefix(head, []byte("07070")):
		plain = in
	default:
		err = errors.New("a payload of an unknown compression")
	}
	return plain, done, err
}

// cpio reads an archive in the format newc.
type cpio struct{ r *bufio.Reader }

// next reads the header and the name of an entry.
func (c *cpio) next() (name string, mode, size int64, err error) {
	h := make([]byte, cpioHeader)
	if _, err := io.ReadFull(c.r, h); err != nil {
		return "", 0, 0, short(err)
	}
	if m := string(h[:6]); m != "070701" && m != "070702" {
		return "", 0, 0, errors.New("not a cpio archive")
	}
	field := func(i int) int64 {
		n, e := strconv.ParseInt(string(h[6+8*i:14+8*i]), 16, 64)
		if e != nil {
			err = e
		}
		return n
	}
	mode, size = field(1), field(6)
	n := field(11)
	if err == nil && (n < 1 || n > maxCpioName) {
		err = fmt.Errorf("a name of %d bytes", n)
	}
	if err != nil {
		return "", 0, 0, err
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(c.r, text); err != nil {
		return "", 0, 0, short(err)
	}
	return string(bytes.TrimRight(text, "\x00")), mode, size, c.pad(cpioHeader + n)
}

// pad skips to a multiple of four.
func (c *cpio) pad(n int64) error {
	_, err := c.r.Discard(int((4 - n%4) % 4))
	return err
}
