package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// A run keeps some space of the disk for its log, so that what fills the disk beside it, a bundle that is unpacked
// above all, ends with its own fault and not with the log's. The reserve is given up when the log cannot grow
// otherwise.
const (
	// ReserveName is the file in a run's directory that holds the space.
	ReserveName = "reserve"
	reserveSize = 4 << 20
)

// makeReserve takes the space. A disk that cannot give it has none, which is no fault yet.
func makeReserve(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, ReserveName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	if err = errors.Join(allocate(f, reserveSize), f.Close()); err != nil {
		dropReserve(dir)
	}
}

// dropReserve gives the space back and says whether there was any.
func dropReserve(dir string) bool { return os.Remove(filepath.Join(dir, ReserveName)) == nil }

// full says whether a disk has no space, or its user none any more.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
