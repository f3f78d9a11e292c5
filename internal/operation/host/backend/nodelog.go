package backend

import (
	"io"
	"os"
	"strings"
)

// NodeLog is the output of a node. Size may read from a disk, so it is called in commands.
type NodeLog interface {
	io.ReaderAt
	Size() (int64, error)
}

// LogFile is a log on disk, also one that grows.
type LogFile struct{ *os.File }

// Size implements NodeLog.
func (f LogFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// LogText is a log in memory.
type LogText string

// ReadAt implements io.ReaderAt.
func (t LogText) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(t)).ReadAt(p, off)
}

// Size implements NodeLog.
func (t LogText) Size() (int64, error) { return int64(len(t)), nil }
