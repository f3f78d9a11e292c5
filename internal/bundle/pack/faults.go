package pack

import (
	"errors"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The faults of this package. All are of class failed, but pack.busy, which is of class locked:
//
//	pack.no-space  the disk has no room for the bundle, told before anything is fetched: file, dir, needed, free
//	pack.disk-full the disk became full while the bundle was written: file, dir
//	pack.too-large the file system takes no file of that size (FAT: 4 GiB): file
//	pack.parts     the size of the parts is so small that there would be too many: file, limit
//	pack.busy      another build writes this bundle: file
//	pack.write     anything else that went wrong with the file: file
//	pack.short     the content of a blob ended early: blob, got, want
//	pack.oversize  a blob has more content than its size says: blob, want

func writeFault(err error, file string) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return event.NewFault(event.ClassFailed, "pack.disk-full", err, "file", file, "dir", filepath.Dir(file))
	case errors.Is(err, syscall.EFBIG):
		return event.NewFault(event.ClassFailed, "pack.too-large", err, "file", file)
	}
	return event.NewFault(event.ClassFailed, "pack.write", err, "file", file)
}

func spaceFault(file string, needed, free int64) error {
	return event.NewFault(event.ClassFailed, "pack.no-space", syscall.ENOSPC, "file", file, "dir", filepath.Dir(file),
		"needed", megabytes(needed), "free", megabytes(free))
}

func shortFault(blob string, got, want int64) error {
	return event.NewFault(event.ClassFailed, "pack.short", nil, "blob", blob, "got", number(got), "want", number(want))
}

func oversizeFault(blob string, want int64) error {
	return event.NewFault(event.ClassFailed, "pack.oversize", nil, "blob", blob, "want", number(want))
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func megabytes(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB" }
