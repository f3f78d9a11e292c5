package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func (c *Cache) partialPath(sum string) string { return filepath.Join(c.dir, partialDir, sum) }

// partial opens and locks the partial file of a sum. While another build has it, waiting is called now and then with
// the bytes that the other has got so far. nil without an error means: look into the cache again.
func (c *Cache) partial(ctx context.Context, s Source, waiting func(done int64)) (*incoming, error) {
	name := c.partialPath(s.SHA256)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, diskFault(err, c.dir)
	}
	err = waitLock(ctx, f, exclusive, func() {
		if st, err := f.Stat(); err == nil {
			waiting(st.Size())
		}
	})
	if err != nil {
		f.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, diskFault(err, c.dir)
	}
	w := &incoming{c: c, f: f, h: sha256.New()}
	here, e1 := f.Stat()
	there, e2 := os.Lstat(name)
	if e1 != nil || e2 != nil || !os.SameFile(here, there) {
		w.leave() // it was renamed or removed before we got the lock
		return nil, nil
	}
	if _, ok := c.Find(s.SHA256, s.Size); ok {
		w.discard() // finished before we opened it: what we locked is a new file of our own
		return nil, nil
	}
	return w, nil
}

// load hashes what an earlier run has left, and hands it on. A file longer than limit is forgotten.
func (w *incoming) load(ctx context.Context, buf []byte, limit int64, each func([]byte) error) error {
	st, err := w.f.Stat()
	if err != nil {
		return localError{err}
	}
	if st.Size() > limit {
		return w.reset()
	}
	for w.n < st.Size() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := w.f.ReadAt(buf[:min(int64(len(buf)), st.Size()-w.n)], w.n)
		w.h.Write(buf[:n])
		w.n += int64(n)
		if err2 := each(buf[:n]); err2 != nil {
			return err2
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return localError{err}
		}
		if n == 0 {
			break
		}
	}
	return nil
}

// origin is where a partial file came from, kept beside it as JSON so that another run can ask for the rest of the very
// same file. It only saves a useless answer: what decides in the end is the sum.
type origin struct {
	URL      string `json:"url"`                // the sha256 of the URL that was asked, which may have secrets in it
	ETag     string `json:"etag,omitempty"`     // a strong one
	Modified string `json:"modified,omitempty"` // Last-Modified, when it is fit for If-Range
	Total    int64  `json:"total"`              // bytes, -1 unknown
}

const (
	maxOrigin    = 8 << 10 // bytes
	maxValidator = 1 << 10
	minOrigin    = 1 << 20 // a smaller file is not worth a second one beside it
)

func hashURL(u string) string {
	h := sha256.Sum256([]byte(u))
	return hex.EncodeToString(h[:])
}

// parseOrigin reads it; ok is false for anything that this program would not have written.
func parseOrigin(data []byte) (o origin, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil || len(data) > maxOrigin {
		return origin{}, false
	}
	if !validSum(o.URL) || o.Total < -1 || o.ETag != "" && !strongETag(o.ETag) || o.Modified != "" &&
		!httpDate(o.Modified) {
		return origin{}, false
	}
	return o, true
}

func (c *Cache) readOrigin(sum string) (origin, bool) {
	f, err := os.OpenFile(c.partialPath(sum)+".json", os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return origin{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOrigin+1))
	if err != nil {
		return origin{}, false
	}
	return parseOrigin(data)
}

// writeOrigin replaces it whole.
func (c *Cache) writeOrigin(sum string, o origin) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	w, err := c.create()
	if err != nil {
		return err
	}
	defer w.discard()
	if _, err := w.Write(append(data, '\n')); err != nil {
		return diskFault(err, c.dir)
	}
	if err := os.Rename(w.f.Name(), c.partialPath(sum)+".json"); err != nil {
		return diskFault(err, c.dir)
	}
	w.leave()
	return nil
}

func (c *Cache) removeOrigin(sum string) error {
	err := os.Remove(c.partialPath(sum) + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// strongETag says whether it may stand in If-Range (RFC 9110, 8.8.3 and 13.1.5).
func strongETag(s string) bool {
	if len(s) < 2 || len(s) > maxValidator || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	return !strings.ContainsFunc(s[1:len(s)-1], func(r rune) bool { return r <= 0x20 || r == '"' || r == 0x7f })
}
