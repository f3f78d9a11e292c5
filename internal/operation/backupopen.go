package operation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// opened is a backup that was decrypted, with a snapshot that is right.
type opened struct {
	dir      string
	manifest *backup.Manifest
	snapshot *phases.SnapshotFile
	config   *config.Cluster // nil if this program does not take it
	size     int64
}

func (o *opened) path(name string) string { return filepath.Join(o.dir, name) }

// open decrypts a backup into a directory of the store, and gives what removes it.
func open(
	ctx context.Context, file string, k request.BackupKey, d Deps, progress func(done, total int64),
) (o *opened, remove func(), err error) {
	key, err := keyOf(ctx, k, d.Asker)
	if err != nil {
		return nil, nil, err
	}
	dir, all, err := ownDir(d.Store.Where())
	if err != nil {
		return nil, nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	defer func() {
		if err != nil {
			all()
		}
	}()
	o = &opened{dir: filepath.Join(dir, "files")}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return nil, nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	if o.manifest, err = backup.Extract(ctx, file, o.dir, key, progress); err != nil {
		return nil, nil, err
	}
	if o.snapshot, err = phases.ReadSnapshot(ctx, o.path(backup.Snapshot)); err != nil {
		return nil, nil, err
	}
	ca, err := os.ReadFile(o.path("pki/ca.crt"))
	text, err2 := os.ReadFile(o.path(backup.Config))
	info, err3 := os.Stat(file)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	o.config, _ = config.Load(text, o.path(backup.Config))
	o.size = info.Size()
	if o.snapshot.Foreign(ca) || o.config != nil && o.config.Name != o.manifest.Cluster ||
		o.snapshot.Revision != o.manifest.Revision {
		return nil, nil, event.NewFault(event.ClassPreflight, "backup.damaged", errMixed, "path", file)
	}
	return o, all, nil
}

// errMixed: a backup has parts of several clusters.
var errMixed = errors.New("its snapshot, CA and deploy.yaml are not of one cluster")

// openedPrefix begins the names of directories with what a backup had.
const openedPrefix = ".backup-"

// ownDir makes a directory of this process alone in the store, in the file system of what its content becomes, and
// gives what removes it. It is locked while the process lives. Those of processes that were killed, with keys in them,
// go first.
func ownDir(root string) (dir string, remove func(), err error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, err
	}
	var lock *os.File
	if err := exclusively(root, func() error {
		sweepLocked(root)
		if dir, err = os.MkdirTemp(root, openedPrefix); err != nil { // 0700
			return err
		}
		lock, err = locked(dir, syscall.LOCK_NB)
		return err
	}); err != nil {
		return "", nil, err
	}
	return dir, func() {
		_ = os.RemoveAll(dir) // else the next one does it
		lock.Close()
	}, nil
}

// sweep removes what processes have left that were killed while they had a backup open.
func sweep(root string) {
	_ = exclusively(root, func() error { sweepLocked(root); return nil }) // else the next one does it
}

func sweepLocked(root string) {
	left, _ := filepath.Glob(filepath.Join(root, openedPrefix+"*"))
	for _, dir := range left {
		if lock, err := locked(dir, syscall.LOCK_NB); err == nil {
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// exclusively does something with the lock of a directory, which nobody holds for long.
func exclusively(dir string, do func() error) error {
	lock, err := locked(dir, 0)
	if err != nil {
		return err
	}
	defer lock.Close()
	return do()
}

func locked(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
