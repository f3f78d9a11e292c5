package logview

import (
	"os"
	"strings"
)

// File is a log on disk, also one that grows.
type File struct{ *os.File }

// Size implements Source.
func (f File) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// Text is a log in memory.
type Text string

// ReadAt implements io.ReaderAt.
func (t Text) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(t)).ReadAt(p, off)
}

// Size implements Source.
func (t Text) Size() (int64, error) { return int64(len(t)), nil }
