package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"
)

// Floor is what no builder can do without.
type Floor string

// The floors, each with what the one before does.
const (
	FloorFetch Floor = "fetch"
	FloorHash  Floor = "hash"  // and sha256
	FloorWrite Floor = "write" // and write all into one file
	FloorSync  Floor = "sync"  // and bring that to the disk
	FloorTwice Floor = "twice" // as write, with a copy of each blob in a file of its own, as a cache has it
	// as twice, with the two more sums that a bundle has (of images.tar and of the file), and all of that on the disk
	FloorBundle Floor = "bundle"
	FloorRead   Floor = "read" // as write, but from files on this machine
	FloorPack   Floor = "pack" // compress the programs at level 1, on all cores; nothing is fetched or written
	connections       = 16
	buffer            = 256 << 10 // bytes
	packPiece         = 1 << 20
)

// RunFloor does it, in this process, for a set of an architecture.
func RunFloor(ctx context.Context, f Floor, w *Workload, server, arch, out string, set Set) error {
	if f == FloorPack {
		return packAll(ctx, w, arch)
	}
	items := w.Items(arch, set)
	places := map[string]int64{}
	at := int64(0)
	for _, i := range items {
		places[i.SHA256] = at
		at += i.Size
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(b.Size, a.Size) })
	run := &floorRun{Floor: f, w: w, server: server, out: out,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}}
	if f != FloorFetch && f != FloorHash {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(out, "all"))
		if err != nil {
			return err
		}
		defer file.Close()
		run.file = file
	}
	g, ctx := errgroup.WithContext(ctx)
	next := make(chan Item, len(items))
	for _, i := range items {
		next <- i
	}
	close(next)
	for range connections {
		g.Go(func() error {
			buf := make([]byte, buffer)
			for i := range next {
				if err := run.one(ctx, i, places[i.SHA256], buf); err != nil {
					return fmt.Errorf("%s: %w", i.Path, err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || f != FloorSync && f != FloorBundle {
		return err
	}
	return run.file.Sync()
}

type floorRun struct {
	Floor
	w           *Workload
	server, out string
	http        *http.Client
	file        *os.File
}

func (r *floorRun) open(ctx context.Context, i Item) (io.ReadCloser, error) {
	if r.Floor == FloorRead {
		return os.Open(r.w.local(i))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server+i.Path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, errors.New(resp.Status)
	}
	return resp.Body, nil
}

func (r *floorRun) one(ctx context.Context, i Item, at int64, buf []byte) error {
	body, err := r.open(ctx, i)
	if err != nil {
		return err
	}
	defer body.Close()
	var copied *os.File
	if r.Floor == FloorTwice || r.Floor == FloorBundle {
		if copied, err = os.Create(filepath.Join(r.out, i.SHA256)); err != nil {
			return err
		}
		defer copied.Close()
	}
	h, further := sha256.New(), [2]hash.Hash{sha256.New(), sha256.New()}
	for n := int64(0); ; {
		k, err := io.ReadFull(body, buf)
		if k > 0 && r.Floor != FloorFetch {
			h.Write(buf[:k])
		}
		if r.Floor == FloorBundle {
			for _, x := range further {
				x.Write(buf[:k])
			}
		}
		if k > 0 && r.file != nil {
			if _, err := r.file.WriteAt(buf[:k], at+n); err != nil {
				return err
			}
		}
		if k > 0 && copied != nil {
			if _, err := copied.Write(buf[:k]); err != nil {
				return err
			}
		}
		n += int64(k)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if r.Floor != FloorFetch && hex.EncodeToString(h.Sum(nil)) != i.SHA256 || n != i.Size {
				return errors.New("other bytes came than were asked for")
			}
			return nil
		case err != nil:
			return err
		}
	}
}

// local is where the workload has a blob.
func (w *Workload) local(i Item) string {
	if name := filepath.Join(w.blobs(), i.SHA256); i.Path[:4] == "/v2/" {
		return name
	}
	return w.file(i.Path[len("/files/"):])
}

// packAll compresses the programs in pieces on all cores.
func packAll(ctx context.Context, w *Workload, arch string) error {
	type job struct {
		file *os.File
		at   int64
	}
	var files []*os.File
	for _, p := range w.Programs[arch] {
		f, err := os.Open(w.file(p.Path))
		if err != nil {
			return err
		}
		defer f.Close()
		files = append(files, f)
	}
	work := make(chan job)
	g, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			z, err := flate.NewWriter(io.Discard, flate.BestSpeed)
			if err != nil {
				return err
			}
			buf := make([]byte, packPiece)
			for j := range work {
				n, err := j.file.ReadAt(buf, j.at)
				if err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				z.Reset(io.Discard)
				if _, err := z.Write(buf[:n]); err != nil {
					return err
				}
				if err := z.Flush(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(work)
		for i, p := range w.Programs[arch] {
			for at := int64(0); at < p.Size; at += packPiece {
				select {
				case work <- job{files[i], at}:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return nil
	})
	return g.Wait()
}
