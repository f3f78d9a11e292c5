package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"
)

const recordFormat = 1

// record is what is remembered of a finished bundle.
type record struct {
	Format int          `json:"format"`
	Piece  int64        `json:"piece"` // bytes that have one CRC
	Files  []recordFile `json:"files"`
}

type recordFile struct {
	Name   string   `json:"name"` // without the directory
	Size   int64    `json:"size"`
	MTime  int64    `json:"mtime_ns"`
	Inode  uint64   `json:"inode"`
	CRC32C []uint32 `json:"crc32c"` // of each piece
}

// add takes the pieces before position end as those of the next file and gives the rest.
func (r *record) add(p PartFile, pieces []run, end int64) []run {
	file := recordFile{Name: filepath.Base(p.Path), Size: p.Size}
	for len(pieces) > 0 && pieces[0].pos < end {
		file.CRC32C = append(file.CRC32C, pieces[0].crc)
		pieces = pieces[1:]
	}
	r.Format, r.Piece, r.Files = recordFormat, recordPiece, append(r.Files, file)
	return pieces
}

// stat adds what the file system says of the finished files.
func (r *record) stat(parts []PartFile) error {
	for i, p := range parts {
		st, err := os.Stat(p.Path)
		if err != nil {
			return writeFault(err, p.Path)
		}
		r.Files[i].MTime, r.Files[i].Inode = st.ModTime().UnixNano(), inode(st)
	}
	return nil
}

func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// Record gives a small JSON text (some 11 bytes for 16 MiB of the bundle) by which Same can tell later whether the
// files are still what was written. Nothing is read for it.
func (r *Result) Record() ([]byte, error) { return json.Marshal(r.record) }

// Same says whether the files in dir are still those of the record: names, sizes, times, inodes, and a CRC-32C of each
// 16 MiB, for which they are read with several cores. It finds accidents: rot, a copy that was cut off, another
// program's hand. It is no protection against an attacker, who can make any bytes have any CRC; signatures and sha256
// sums are. An error is one of reading, of ctx, or of the record itself; a file that is missing is not.
func Same(ctx context.Context, dir string, text []byte) (bool, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return false, fmt.Errorf("record of a bundle: %w", err)
	}
	if r.Format != recordFormat || r.Piece != recordPiece || len(r.Files) == 0 {
		return false, nil // of another version
	}
	for _, f := range r.Files {
		if f.Name != filepath.Base(f.Name) || f.Size < 0 || int64(len(f.CRC32C)) != (f.Size+recordPiece-1)/recordPiece {
			return false, errors.New("record of a bundle: damaged")
		}
	}
	files := make([]*os.File, 0, len(r.Files))
	defer func() {
		for _, f := range files {
			_ = f.Close() // only read
		}
	}()
	for _, want := range r.Files {
		f, err := os.OpenFile(filepath.Join(dir, want.Name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		files = append(files, f)
		st, err := f.Stat()
		if err != nil {
			return false, err
		}
		if !st.Mode().IsRegular() || st.Size() != want.Size || st.ModTime().UnixNano() != want.MTime ||
			inode(st) != want.Inode {
			return false, nil
		}
	}
	return r.compare(ctx, files)
}

// errDiffers ends the reading early.
var errDiffers = errors.New("the file was changed")

// compare reads the files in pieces, several at once.
func (r *record) compare(ctx context.Context, files []*os.File) (bool, error) {
	type job struct{ file, piece int }
	var jobs []job
	for i, f := range r.Files {
		for k := range f.CRC32C {
			jobs = append(jobs, job{i, k})
		}
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), maxWorkers, len(jobs)) {
		g.Go(func() error {
			buf := make([]byte, 256<<10)
			for {
				i := int(next.Add(1) - 1)
				if i >= len(jobs) {
					return nil
				}
				j := jobs[i]
				got, err := pieceCRC(ctx, files[j.file], int64(j.piece)*recordPiece, buf)
				if err != nil {
					return err
				}
				if got != r.Files[j.file].CRC32C[j.piece] {
					return errDiffers
				}
			}
		})
	}
	err := g.Wait()
	if errors.Is(err, errDiffers) {
		return false, nil
	}
	return err == nil, err
}

func pieceCRC(ctx context.Context, f *os.File, at int64, buf []byte) (uint32, error) {
	crc, table := uint32(0), castagnoli()
	for end := at + recordPiece; at < end; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.ReadAt(buf, at)
		crc = crc32.Update(crc, table, buf[:n])
		at += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	return crc, nil
}
