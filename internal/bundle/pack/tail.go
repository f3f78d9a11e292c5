package pack

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"sync/atomic"

	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"
)

// Opener opens a blob; what it gives must have been verified, or say so at its end by an error. It may wait until the
// blob is there.
type Opener func(ctx context.Context, sha256 string) (io.ReadCloser, error)

// maxWorkers bounds the memory: 3 MB each. Six deflate as fast as one goroutine reads and verifies.
const maxWorkers = 6

// tailState is what is known of the compressed part.
type tailState struct {
	end   atomic.Int64 // of what is written of the file, from its stored part on
	crc   crcRun
	trace trace
}

func (t *tailState) init(l *Layout) { t.end.Store(l.StoredSize()) }

// chunk is a piece of the tail on its way: read, deflated by itself, written.
type chunk struct {
	in   []byte
	out  bytes.Buffer
	last bool
	crc  uint32
	done chan error
}

// deflate writes the compressed part: pieces of 1 MiB, each deflated for itself at level 1 and ended on a byte
// boundary, side by side; they are read and written in their order.
func (w *Writer) deflate(ctx context.Context, open Opener) error {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, int(w.layout.rest/deflatePiece)+1)
	free := make(chan *chunk, workers+1)
	for range workers + 1 {
		free <- &chunk{done: make(chan error, 1)}
	}
	work, order := make(chan *chunk, workers+1), make(chan *chunk, workers+1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(work)
		defer close(order)
		src := &tailReader{ctx: ctx, w: w, parts: w.layout.tail, open: open}
		defer src.close()
		return src.chunks(free, work, order)
	})
	for range workers {
		g.Go(func() error {
			// Level 1, as the format says; a writer is reset for each piece and knows nothing of the one before.
			fw, err := flate.NewWriter(nil, flate.BestSpeed)
			if err != nil {
				return err
			}
			for c := range work {
				c.done <- c.deflate(fw)
			}
			return nil
		})
	}
	g.Go(func() error {
		for c := range order {
			err := <-c.done // a worker never waits, so this comes
			if err == nil {
				err = w.append(c)
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			free <- c
		}
		return nil
	})
	return g.Wait()
}

func (c *chunk) deflate(fw *flate.Writer) error {
	c.crc = crc32.ChecksumIEEE(c.in)
	c.out.Reset()
	fw.Reset(&c.out)
	if _, err := fw.Write(c.in); err != nil {
		return err
	}
	if c.last {
		return fw.Close()
	}
	return fw.Flush()
}

// append writes a piece behind the ones before.
func (w *Writer) append(c *chunk) error {
	t := &w.tail
	at := t.end.Load()
	if err := w.files.write([][]byte{c.out.Bytes()}, at, &t.trace); err != nil {
		return err
	}
	t.crc.add(c.crc, int64(len(c.in)))
	t.end.Store(at + int64(c.out.Len()))
	w.follow.poke()
	w.tell(int64(len(c.in)))
	return nil
}

// tailReader reads the parts of the tail one after the other.
type tailReader struct {
	ctx   context.Context
	w     *Writer
	parts []Part
	open  Opener

	data []byte        // what is left of a literal
	blob io.ReadCloser // the open blob, nil if none is
	of   Blob
	left int64
}

// chunks cuts the tail into pieces; the last one is shorter than the others and may be empty.
func (r *tailReader) chunks(free, work, order chan *chunk) error {
	for {
		var c *chunk
		select {
		case c = <-free:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
		if c.in == nil {
			n := int(min(deflatePiece, r.w.layout.rest))
			c.in = make([]byte, n)
			c.out.Grow(n + n/1024 + 1024) // it never has to grow: what does not shrink is stored
		}
		n, err := r.fill(c.in[:cap(c.in)])
		if err != nil {
			return err
		}
		c.in, c.last = c.in[:n], n < deflatePiece
		work <- c // there is room for all
		order <- c
		if c.last {
			return nil
		}
	}
}

// fill reads until p is full or the tail ends.
func (r *tailReader) fill(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if err := r.ctx.Err(); err != nil {
			return n, err
		}
		switch {
		case len(r.data) > 0:
			k := copy(p[n:], r.data)
			r.data, n = r.data[k:], n+k
		case r.blob != nil:
			k, err := r.read(p[n:])
			if n += k; err != nil {
				return n, err
			}
		case len(r.parts) > 0:
			part := r.parts[0]
			r.parts = r.parts[1:]
			if err := r.begin(part); err != nil {
				return n, err
			}
		default:
			return n, nil
		}
	}
	return n, nil
}

func (r *tailReader) begin(p Part) error {
	switch {
	case p.SumOf != "":
		sum, err := r.w.memberSum(r.ctx, p.SumOf)
		r.data = []byte(sum)
		return err
	case p.SHA256 != "":
		blob, err := r.open(r.ctx, p.SHA256)
		r.blob, r.of, r.left = blob, Blob{p.SHA256, p.Size}, p.Size
		return err
	}
	r.data = p.Data
	return nil
}

// read reads from the open blob and closes it at its end, after a look whether it really ends there: that is where a
// reader that verifies tells what it found.
func (r *tailReader) read(p []byte) (int, error) {
	probe := [1]byte{}
	end := r.left == 0
	if end {
		p = probe[:]
	} else {
		p = p[:min(int64(len(p)), r.left)]
	}
	n, err := r.blob.Read(p)
	if end && n > 0 {
		return 0, oversizeFault(r.of.SHA256, r.of.Size)
	}
	r.left -= int64(n)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if r.left > 0 {
		return n, shortFault(r.of.SHA256, r.of.Size-r.left, r.of.Size)
	}
	r.close()
	return n, nil
}

func (r *tailReader) close() {
	if r.blob != nil {
		_ = r.blob.Close() // only read
		r.blob = nil
	}
}

// memberSum waits for the sum of a stored member.
func (w *Writer) memberSum(ctx context.Context, path string) (string, error) {
	select {
	case <-w.follow.known:
		return w.follow.sums[path], nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
