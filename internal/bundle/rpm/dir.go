package rpm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ReadDir describes the rpm files at the root of a file system, sorted by name, for AddPackages: a directory without
// metadata. Source packages, other files and directories below are passed over; links are not followed. Nothing is
// verified (see Verify). Name is the directory's, for the fault "rpm.directory"; the other one is "rpm.file".
func ReadDir(ctx context.Context, fsys fs.FS, name string) ([]*Package, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err == nil && len(entries) > maxPackages {
		err = fmt.Errorf("more than %d files", maxPackages)
	}
	if err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err // the path is only the dot
		}
		return nil, event.NewFault(event.ClassFailed, "rpm.directory", err, "dir", name)
	}
	var list []*Package
	for _, e := range entries {
		n := e.Name()
		if !e.Type().IsRegular() || !strings.HasSuffix(n, ".rpm") || strings.HasSuffix(n, ".src.rpm") ||
			strings.HasSuffix(n, ".nosrc.rpm") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := readOne(fsys, n)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func readOne(fsys fs.FS, name string) (*Package, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "rpm.file", err, "file", name)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "rpm.file", err, "file", name)
	}
	return ReadPackage(f, name, info.ModTime().Unix())
}
