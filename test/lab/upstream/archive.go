package upstream

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
)

// member of an archive or of an image's layer: a directory, a symbolic link, or a file whose bytes are data or those of
// source.
type member struct {
	name   string
	mode   int64
	dir    bool
	link   string            // target of a symbolic link
	source string            // path on this machine
	data   []byte            //
	xattrs map[string]string // security.capability and the like
}

// writeArchive writes a tar.gz of members in their order. Bytes depend on nothing but the members and the time.
func writeArchive(path string, members []member, at time.Time) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z := gzip.NewWriter(f)
	if err := writeTar(z, members, at); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

func writeTar(w io.Writer, members []member, at time.Time) error {
	t := tar.NewWriter(w)
	for _, m := range members {
		if err := writeMember(t, m, at.Truncate(time.Second)); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeMember(t *tar.Writer, m member, at time.Time) error {
	h := &tar.Header{Name: m.name, Mode: m.mode, ModTime: at, Typeflag: tar.TypeReg}
	for k, v := range m.xattrs {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords["SCHILY.xattr."+k] = v
	}
	switch {
	case m.dir:
		h.Typeflag, h.Mode = tar.TypeDir, 0o755
		if m.mode != 0 {
			h.Mode = m.mode
		}
		return t.WriteHeader(h)
	case m.link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, m.link, 0o777
		return t.WriteHeader(h)
	}
	var body io.Reader = bytes.NewReader(m.data)
	h.Size = int64(len(m.data))
	if m.source != "" {
		f, err := os.Open(m.source)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		body, h.Size = f, st.Size()
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, body)
	return err
}
