package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	tempSuffix = ".part"
	sumsSuffix = ".sha256"
	maxParts   = 999
	syncSlice  = 16 << 20
)

// files is the bundle on the disk, one file or parts of one size, under temporary names. A position is one in all parts
// put together. Everything can be called from several goroutines.
type files struct {
	final string
	part  int64 // size of a part, 0 for one file
	lock  *os.File

	mu     sync.RWMutex // held for reading while a descriptor is used, for writing when they are closed
	closed bool
	making sync.Mutex // of temp
	temp   []*os.File

	written  atomic.Int64
	flushing atomic.Bool
}

// openFiles takes the lock and removes what a build left that was killed. The lock is on NAME.part, which is the bundle
// itself or, beside parts, empty; the kernel frees it when the process ends.
func openFiles(final string, part int64) (*files, error) {
	if st, err := os.Lstat(final); err == nil && st.IsDir() {
		return nil, writeFault(unix.EISDIR, final)
	}
	lock, err := lockFile(final + tempSuffix)
	if err != nil {
		if _, ok := errors.AsType[*event.Fault](err); !ok {
			err = writeFault(err, final)
		}
		return nil, err
	}
	f := &files{final: final, part: part, lock: lock}
	if part == 0 {
		f.temp = []*os.File{lock}
	}
	err = lock.Truncate(0)
	if err == nil {
		err = f.removeParts(tempSuffix, 0)
	}
	if err != nil {
		f.abort()
		return nil, writeFault(err, final)
	}
	return f, nil
}

func lockFile(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			err = event.NewFault(event.ClassLocked, "pack.busy", nil, "file", strings.TrimSuffix(path, tempSuffix))
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
			err = nil // a file system without locks
		}
		mine, serr := file.Stat()
		if err == nil {
			err = serr
		}
		if err == nil && !mine.Mode().IsRegular() {
			err = errors.New("not a regular file")
		}
		if err == nil {
			// The build that held the lock may have renamed or removed the file after we opened it: then it is not ours
			// to write to.
			named, nerr := os.Lstat(path)
			if nerr == nil && os.SameFile(mine, named) {
				return file, nil
			}
		}
		_ = file.Close()
		if err != nil {
			return nil, err
		}
	}
}

// name of part i (from 0) when it is finished.
func (f *files) name(i int) string {
	if f.part == 0 {
		return f.final
	}
	return fmt.Sprintf("%s.%03d", f.final, i+1)
}

// removeParts removes the parts NAME.NNN from number from on, with suffix after the number.
func (f *files) removeParts(suffix string, from int) error {
	dir, base := filepath.Split(f.final)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), base+".")
		digits, end := strings.CutSuffix(digits, suffix)
		n, err := strconv.Atoi(digits)
		if !ok || !end || err != nil || n < from || len(digits) != 3 || e.IsDir() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// where says in which part a position is, where in that part, and how many bytes there are to its end.
func (f *files) where(pos int64) (i int, at, room int64) {
	if f.part == 0 {
		return 0, pos, 1<<62 - pos
	}
	at = pos % f.part
	return int(pos / f.part), at, f.part - at
}

// descriptor of part i, which is made if it is not there. The caller holds mu.
func (f *files) descriptor(i int) (int, error) {
	if f.closed {
		return -1, os.ErrClosed
	}
	f.making.Lock()
	defer f.making.Unlock()
	for len(f.temp) <= i {
		if len(f.temp) == maxParts {
			return -1, event.NewFault(event.ClassFailed, "pack.parts", nil, "file", f.final, "limit", number(maxParts))
		}
		file, err := os.OpenFile(f.name(len(f.temp))+tempSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return -1, err
		}
		f.temp = append(f.temp, file)
	}
	return int(f.temp[i].Fd()), nil
}

// reserve takes the room for the first size bytes, where the file system can do that, after a look whether estimate
// bytes are free.
func (f *files) reserve(size, estimate int64) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var st unix.Statfs_t
	free := int64(-1)
	if err := unix.Statfs(filepath.Dir(f.final), &st); err == nil && st.Blocks > 0 {
		free = int64(st.Bavail) * int64(st.Bsize)
		if free < estimate {
			return spaceFault(f.final, estimate, free)
		}
	}
	for pos := int64(0); pos < size; {
		i, _, room := f.where(pos)
		fd, err := f.descriptor(i)
		if err != nil {
			return writeFault(err, f.final)
		}
		n := min(room, size-pos)
		err = takeRoom(fd, n)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
			return spaceFault(f.final, estimate, max(free, 0))
		case errors.Is(err, unix.EFBIG):
			return writeFault(err, f.final)
		}
		pos += n // other errors: the file system reserves nothing, and a write will tell
	}
	return nil
}

// write puts the slices one after the other at pos and notes their CRC in t. vec may be changed.
func (f *files) write(vec [][]byte, pos int64, t *trace) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for len(vec) > 0 {
		i, at, room := f.where(pos)
		fd, err := f.descriptor(i)
		if err != nil {
			return writeFault(err, f.final)
		}
		now, rest := cut(vec, room)
		begin := pos
		for _, b := range now {
			t.add(f, pos, b)
			pos += int64(len(b))
		}
		if err := pwritev(fd, now, at); err != nil {
			return writeFault(err, f.final)
		}
		f.wrote(pos - begin)
		vec = rest
	}
	return nil
}

// cut divides the slices after n bytes.
func cut(vec [][]byte, n int64) (head, tail [][]byte) {
	for i, b := range vec {
		if int64(len(b)) > n {
			if n == 0 {
				return vec[:i], vec[i:]
			}
			tail = append([][]byte{b[n:]}, vec[i+1:]...)
			vec[i] = b[:n]
			return vec[:i+1], tail
		}
		n -= int64(len(b))
	}
	return vec, nil
}

func pwritev(fd int, vec [][]byte, at int64) error {
	for len(vec) > 0 {
		n, err := unix.Pwritev(fd, vec, at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("pwritev", err)
		}
		if n <= 0 {
			return io.ErrShortWrite
		}
		at += int64(n)
		_, vec = cut(vec, int64(n))
	}
	return nil
}

// read fills p with what stands at pos.
func (f *files) read(p []byte, pos int64) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for len(p) > 0 {
		i, at, room := f.where(pos)
		fd, err := f.descriptor(i)
		if err != nil {
			return writeFault(err, f.final)
		}
		n, err := unix.Pread(fd, p[:min(int64(len(p)), room)], at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return writeFault(os.NewSyscallError("pread", err), f.final)
		}
		p, pos = p[n:], pos+int64(n)
	}
	return nil
}

// flush starts the writing of what is dirty, without waiting for its end, so that the disk works from the beginning on;
// what cannot be done here is left to sync. The lock is taken for each slice, since a slow disk makes even the start of
// writing wait.
func (f *files) flush() {
	for i := 0; ; i++ {
		for at, end := int64(0), int64(1); at < end; at += syncSlice {
			f.mu.RLock()
			f.making.Lock()
			temp := f.temp
			f.making.Unlock()
			if f.closed || i >= len(temp) {
				f.mu.RUnlock()
				return
			}
			if st, err := temp[i].Stat(); err == nil {
				end = st.Size()
			}
			startWriting(int(temp[i].Fd()), at, syncSlice)
			f.mu.RUnlock()
		}
	}
}

// wrote counts what is written, and begins a flush for each 32 MiB, one at a time.
func (f *files) wrote(n int64) {
	const each = 32 << 20
	if all := f.written.Add(n); all/each != (all-n)/each && f.flushing.CompareAndSwap(false, true) {
		go func() {
			defer f.flushing.Store(false)
			f.flush()
		}()
	}
}

// sync brings everything to the disk, in slices, so that it can be cancelled between them.
func (f *files) sync(ctx context.Context) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, file := range f.temp {
		if f.closed {
			return os.ErrClosed
		}
		st, err := file.Stat()
		if err != nil {
			return writeFault(err, f.final)
		}
		for at := int64(0); at < st.Size(); at += syncSlice {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := waitWritten(int(file.Fd()), at, syncSlice)
			for _, unable := range []error{unix.EINVAL, unix.ENOSYS, unix.ESPIPE, unix.EOPNOTSUPP, unix.EPERM} {
				if errors.Is(err, unable) {
					err = nil
				}
			}
			if err != nil {
				return writeFault(err, f.final) // what went wrong is told once, here or by Sync
			}
		}
		if err := file.Sync(); err != nil {
			return writeFault(err, f.final)
		}
	}
	return nil
}

// abort removes everything that has a temporary name and gives the lock back. It is done once.
func (f *files) abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	for _, file := range f.temp {
		_ = os.Remove(file.Name())
		_ = file.Close()
	}
	if f.part != 0 {
		f.unlock()
	}
}

// unlock removes the empty lock file of parts while the lock is still held, as lockFile expects it.
func (f *files) unlock() {
	_ = os.Remove(f.lock.Name())
	_ = f.lock.Close()
}

// publish gives everything its final name, in an order in which a set is never taken for whole that is not: the sums go
// first, since they do not fit what is coming; the first part comes last, when no part of an earlier bundle is left.
func (f *files) publish() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	if err := os.Remove(f.final + sumsSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return writeFault(err, f.final)
	}
	if err := f.rename(); err != nil {
		return writeFault(err, f.final)
	}
	f.closed = true
	for _, file := range f.temp {
		_ = file.Close() // it is synced
	}
	if f.part != 0 {
		f.unlock()
	}
	return syncDir(f.final)
}

func (f *files) rename() error {
	if f.part != 0 {
		if err := os.Remove(f.name(0)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := f.removeParts("", len(f.temp)+1); err != nil {
			return err
		}
		if err := syncDir(f.final); err != nil {
			return err
		}
	}
	for i := len(f.temp) - 1; i >= 0; i-- {
		if i == 0 && f.part != 0 {
			if err := syncDir(f.final); err != nil {
				return err
			}
		}
		if err := os.Rename(f.temp[i].Name(), f.name(i)); err != nil {
			return err
		}
	}
	return nil
}

// syncDir brings a file's name to the disk.
func syncDir(file string) error {
	d, err := os.Open(filepath.Dir(file))
	if err != nil {
		return writeFault(err, file)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return writeFault(err, file)
	}
	return nil
}
