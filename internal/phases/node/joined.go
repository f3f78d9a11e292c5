package node

import (
	"errors"
	"io"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// joined reads files one after the other, as one file of their sizes' sum. One that is shorter than it says is an
// error.
type joined struct {
	ups  []shell.Upload
	size int64
	at   int64
	file io.ReadSeekCloser // that is being read; nil before it is opened
	left int64             // of it
	next int               // the file after it
}

func join(ups []shell.Upload) *joined {
	j := &joined{ups: ups}
	for _, u := range ups {
		j.size += u.Size
	}
	return j
}

func (j *joined) Read(p []byte) (int, error) {
	for j.left == 0 {
		if j.next == len(j.ups) {
			return 0, io.EOF
		}
		if err := j.open(j.next, 0); err != nil {
			return 0, err
		}
	}
	n, err := j.file.Read(p[:min(int64(len(p)), j.left)])
	j.at += int64(n)
	j.left -= int64(n)
	if errors.Is(err, io.EOF) {
		if err = nil; j.left > 0 && n == 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// open goes to a place in a file.
func (j *joined) open(i int, at int64) error {
	if err := j.Close(); err != nil {
		return err
	}
	file, err := j.ups[i].Open()
	if err != nil {
		return err
	}
	j.file, j.next, j.left = file, i+1, j.ups[i].Size-at
	if at > 0 {
		_, err = file.Seek(at, io.SeekStart)
	}
	return err
}

// Seek goes to a place from the beginning or from where it is.
func (j *joined) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += j.at
	case io.SeekEnd:
		offset += j.size
	}
	if offset < 0 || offset > j.size {
		return 0, errors.New("out of the files")
	}
	j.at, j.left, j.next = offset, 0, 0
	for i, u := range j.ups {
		if offset < u.Size {
			return j.at, j.open(i, offset)
		}
		offset -= u.Size
		j.next = i + 1
	}
	return j.at, j.Close()
}

// Close closes the file that is being read.
func (j *joined) Close() error {
	if j.file == nil {
		return nil
	}
	file := j.file
	j.file = nil
	return file.Close()
}
