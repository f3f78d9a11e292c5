package importarchive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/mholt/archives"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sevenzip"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What an archive may unpack to at most.
const (
	maxTotal   = 256 << 30
	maxRatio   = 50 // as bundles: packages and layers are compressed already
	ratioSlack = 64 << 20
)

// offline refuses all connections: everything comes from the archive.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("an archive is adopted without a network")
}

// member of an archive that was unpacked.
type member struct {
	name string // clean path in the archive
	file string // where it was unpacked
	size int64
	exec bool
}

// unpacking is an archive on its way to a directory.
type unpacking struct {
	ctx     context.Context
	file    string
	size    int64
	root    *os.Root
	dir     string
	limit   int64
	total   int64
	entries int
	seen    map[string]string // folded path → path
	dirs    map[string]bool   // folded paths that are directories
	members []member
	fold    cases.Caser
}

// unpack writes the regular files of an archive of any format below dir and gives its sha256. It refuses what no
// archive of packages needs: paths that lead out of it, links, devices, a path twice, and what unpacks to far more than
// its size.
func unpack(ctx context.Context, file, dir string, progress func(done, total int64)) (*unpacking, string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, "", bad("adopt.open", err, "file", file)
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, "", bad("adopt.open", err, "file", file)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", writeFault(err, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", writeFault(err, dir)
	}
	defer root.Close()
	u := &unpacking{ctx: ctx, file: file, size: st.Size(), root: root, dir: dir, seen: map[string]string{},
		dirs: map[string]bool{}, limit: min(maxTotal, st.Size()*maxRatio+ratioSlack), fold: cases.Fold()}
	in := &watched{ctx: ctx, r: f, size: st.Size(), progress: progress, hash: sha256.New()}
	err = u.extract(in, f)
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if f := (*event.Fault)(nil); err != nil && ctx.Err() == nil && !errors.As(err, &f) {
		err = bad("adopt.damaged", err, "file", file)
	}
	return u, hex.EncodeToString(in.hash.Sum(nil)), err
}

// watched reads the archive's file, hashes it and reports how far it is. It hides that the file can be read at random.
type watched struct {
	ctx        context.Context
	r          io.Reader
	done, size int64
	progress   func(done, total int64)
	hash       hash.Hash
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.hash.Write(p[:n])
	w.done += int64(n)
	if w.progress != nil {
		w.progress(w.done, w.size)
	}
	return n, err
}

// extract unpacks the stream by the format that its first bytes and the file's name show.
func (u *unpacking) extract(in io.Reader, f io.ReaderAt) (err error) {
	defer func() {
		if x := recover(); x != nil { // what reads zip and 7z trusts some numbers in them
			err = fmt.Errorf("%v", x)
		}
	}()
	format, stream, err := archives.Identify(u.ctx, filepath.Base(u.file), in)
	if errors.Is(err, archives.NoMatch) {
		return bad("adopt.format", nil, "file", u.file)
	}
	if err != nil {
		return err
	}
	each := func(_ context.Context, info archives.FileInfo) error { return u.take(info) }
	switch format := format.(type) {
	case archives.Zip, archives.SevenZip: // their lists of members are at the end
		if _, err := io.Copy(io.Discard, stream); err != nil {
			return err
		}
		if _, is := format.(archives.SevenZip); is {
			if err := sevenzip.Check(f, u.size); err != nil {
				return err
			}
		}
		return format.(archives.Extractor).Extract(u.ctx, io.NewSectionReader(f, 0, u.size), each)
	case archives.CompressedArchive:
		if _, tar := format.Extraction.(archives.Tar); !tar || format.Compression == nil {
			break
		}
		plain, err := format.Compression.OpenReader(stream)
		if err != nil {
			return err
		}
		defer plain.Close()
		return u.tar(plain, each)
	case archives.Tar:
		return u.plainTar(stream, each)
	}
	return bad("adopt.format", nil, "file", u.file)
}

// tar unpacks a plain tar and reads the stream to its end, where a compressed one has its checksum.
func (u *unpacking) tar(in io.Reader, each archives.FileHandler) error {
	if err := (archives.Tar{}).Extract(u.ctx, in, each); err != nil {
		return err
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(in, ratioSlack+1))
	if err == nil && rest > ratioSlack {
		err = errors.New("data after its end")
	}
	return err
}

// plainTar unpacks a tar that is not compressed. It has no checksum: one that was cut between two members is known by
// the blocks of zeros that are not at its end.
func (u *unpacking) plainTar(in io.Reader, each archives.FileHandler) error {
	at := &counted{r: in}
	var end int64 // of the last member, without what fills its last block
	err := u.tar(at, func(ctx context.Context, info archives.FileInfo) error {
		err := each(ctx, info)
		end = at.n
		return err
	})
	if err == nil && at.n-end < tarBlock {
		err = io.ErrUnexpectedEOF
	}
	return err
}

const tarBlock = 512

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// take unpacks a member.
func (u *unpacking) take(info archives.FileInfo) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	name := bundle.MeantPath(info.NameInArchive)
	if info.IsDir() && (name == "" || name == ".") || bundle.OfMacOS(name) {
		return nil
	}
	if bundle.CheckPath(name) != nil {
		return bad("adopt.path", nil, "file", u.file, "member", info.NameInArchive)
	}
	if kind := typeOf(info); kind != "" && !info.IsDir() {
		return bad("adopt.type", nil, "file", u.file, "member", name, "type", kind)
	}
	if u.entries++; u.entries > 2*bundle.MaxMembers || len(u.seen) >= bundle.MaxMembers {
		return bad("adopt.damaged", fmt.Errorf("more than %d members", bundle.MaxMembers), "file", u.file)
	}
	if err := u.place(name, info.IsDir()); err != nil || info.IsDir() {
		return err
	}
	return u.write(name, info)
}

// typeOf names what is no regular file.
func typeOf(info archives.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case info.LinkTarget != "":
		return "hard link"
	case mode&fs.ModeDevice != 0:
		return "device"
	case !mode.IsRegular():
		return "special file"
	}
	return ""
}

// place refuses a path that is there already, or that is the same file on some systems, or a directory's.
func (u *unpacking) place(name string, dir bool) error {
	key := norm.NFC.String(u.fold.String(norm.NFC.String(name)))
	twice := func(other string) error {
		return bad("adopt.duplicate", nil, "file", u.file, "member", name, "other", other)
	}
	if other, there := u.seen[key]; there && !(dir && u.dirs[key]) {
		return twice(other)
	}
	for at := path.Dir(key); at != "."; at = path.Dir(at) {
		if other, there := u.seen[at]; there && !u.dirs[at] {
			return twice(other)
		}
		if u.dirs[at] {
			break
		}
		u.dirs[at], u.seen[at] = true, at
	}
	u.seen[key] = name
	if dir {
		u.dirs[key] = true
	}
	return nil
}

// write writes a member to its place: packages, which are read as one directory, next to each other in pkg.
func (u *unpacking) write(name string, info archives.FileInfo) error {
	to := placeOf(name)
	if err := u.root.MkdirAll(path.Dir(to), 0o700); err != nil {
		return writeFault(err, name)
	}
	r, err := info.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	out, err := u.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return bad("adopt.duplicate", nil, "file", u.file, "member", name, "other", path.Base(to))
	}
	if err != nil {
		return writeFault(err, name)
	}
	n, err := io.Copy(marked{out, name}, &limited{u: u, r: r})
	if err == nil && info.Size() >= 0 && n != info.Size() {
		err = io.ErrUnexpectedEOF
	}
	m := member{name: name, file: filepath.Join(u.dir, filepath.FromSlash(to)), size: n,
		exec: info.Mode().Perm()&0o100 != 0}
	if e := out.Close(); err == nil && e != nil {
		err = writeFault(e, name)
	}
	if err == nil && m.exec {
		if e := u.root.Chmod(to, 0o700); e != nil {
			err = writeFault(e, name)
		}
	}
	u.members = append(u.members, m)
	return err
}

// placeOf is the path of a member below the temporary directory.
func placeOf(name string) string {
	if d := path.Dir(name); (d == "." || d == "pkg") && isPackage(name) {
		return path.Join("pkg", path.Base(name))
	}
	return path.Join("in", name)
}

// lift moves the content of an archive of one directory to where it would be if only the content had been packed.
func (u *unpacking) lift() error {
	var names []string
	for _, m := range u.members {
		names = append(names, m.name)
	}
	top := bundle.TopDir(names)
	if top == "" {
		return nil
	}
	packed := filepath.Join(u.dir, "packed")
	if err := os.Rename(filepath.Join(u.dir, "in"), packed); err != nil {
		return writeFault(err, packed)
	}
	for i, m := range u.members {
		m.name = strings.TrimPrefix(m.name, top+"/")
		m.file = filepath.Join(u.dir, filepath.FromSlash(placeOf(m.name)))
		if _, err := os.Lstat(m.file); err == nil {
			return bad("adopt.duplicate", nil, "file", u.file, "member", names[i], "other", path.Base(m.file))
		}
		err := os.MkdirAll(filepath.Dir(m.file), 0o700)
		if err == nil {
			err = os.Rename(filepath.Join(packed, filepath.FromSlash(names[i])), m.file)
		}
		if err != nil {
			return writeFault(err, m.name)
		}
		u.members[i] = m
	}
	return os.RemoveAll(packed)
}

// marked tells what cannot be written from what cannot be read.
type marked struct {
	w    io.Writer
	name string
}

func (m marked) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	if err != nil {
		err = writeFault(err, m.name)
	}
	return n, err
}

// limited reads a member within the bounds of the archive.
type limited struct {
	u *unpacking
	r io.Reader
}

func (l *limited) Read(p []byte) (int, error) {
	if err := l.u.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.r.Read(p)
	if l.u.total += int64(n); l.u.total > l.u.limit {
		return 0, bad("bundle.ratio", nil, "file", l.u.file, "size", mib(l.u.size), "unpacked", mib(l.u.total), "ratio",
			strconv.Itoa(maxRatio))
	}
	return n, err
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

func isPackage(name string) bool {
	return strings.HasSuffix(name, ".deb") || strings.HasSuffix(name, ".rpm")
}

// room makes sure that what was unpacked fits on the disk twice more: for the builder's cache, and as the bundle.
func (w *Work) room(u *unpacking) error {
	free := w.Free
	if free == nil {
		free = freeSpace
	}
	if n, err := free(u.dir); err == nil && n < 2*u.total { // else a full disk shows when it is written
		return event.NewFault(event.ClassFailed, "adopt.no-space", nil, "file", u.file, "dir", w.Out, "need",
			mib(2*u.total), "free", mib(n))
	}
	return nil
}

func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec // a disk has fewer bytes than that
}
