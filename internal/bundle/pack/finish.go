package pack

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"
)

// Result tells what was written.
type Result struct {
	Size   int64  // of the file, or of all parts together, in bytes
	SHA256 string // of the file, in hex; "" without Options.Sums, and for parts, of which each has its own
	// Parts are the files in their order: one, or the parts.
	Parts []PartFile
	// MemberSums has the sha256 of each member that a Part.SumOf asked for, by its path.
	MemberSums map[string]string

	record record
}

// PartFile is a finished file. Size in bytes; SHA256 in hex, "" without Options.Sums.
type PartFile struct {
	Path   string
	Size   int64
	SHA256 string
}

// Finish writes the compressed part, whose blobs it gets from open, waits until all sinks are closed, brings everything
// to the disk and gives the bundle its name. It can be called before the sinks are done: compressing then goes on
// beside them. When one of them cannot be finished, the caller ends ctx (or that of Create). The error is the first
// thing that went wrong; nothing of the bundle is left then, and what had its name before is still there. Only an error
// after the renaming (of the directory, or of the file with the sums) leaves the new bundle.
func (w *Writer) Finish(ctx context.Context, open Opener) (*Result, error) {
	w.ending.Lock()
	defer w.ending.Unlock()
	if w.ended {
		return nil, errors.New("the bundle is finished or given up")
	}
	stop := context.AfterFunc(ctx, func() { w.fail(ctx.Err()) })
	defer stop()
	res, err := w.finish(ctx, open)
	if err != nil {
		w.fail(err)
		err = w.failure() // the first one, of which the others are only consequences
		w.cleanup()
		return nil, err
	}
	w.ended = true
	if w.opts.Sums {
		if err := w.writeSums(res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func (w *Writer) finish(ctx context.Context, open Opener) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-w.dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.deflate(gctx, open) })
	g.Go(func() error { return w.lateSums(gctx) })
	g.Go(func() error {
		select {
		case <-w.whole:
			return nil
		case <-gctx.Done():
			return gctx.Err()
		}
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := w.trailer(); err != nil {
		return nil, err
	}
	close(w.follow.final)
	w.follow.poke()
	// The rest is hashed while the disk works.
	if err := w.files.sync(ctx); err != nil {
		return nil, err
	}
	<-w.follow.ended
	w.detach()
	if err := errors.Join(w.failure(), ctx.Err()); err != nil {
		return nil, err
	}
	res, err := w.result()
	if err != nil {
		return nil, err
	}
	if err := w.files.publish(); err != nil {
		return nil, err
	}
	return res, res.record.stat(res.Parts)
}

// lateSums writes the sums of members that stand in the stored part themselves.
func (w *Writer) lateSums(ctx context.Context) error {
	frame := framer{l: w.layout}
	for i, p := range w.layout.pieces {
		if p.part.SumOf == "" {
			continue
		}
		sum, err := w.memberSum(ctx, p.part.SumOf)
		if err != nil {
			return err
		}
		if err := w.put(&frame, p.at, []byte(sum), &w.fixed); err != nil {
			return err
		}
		w.follow.ready[i].Store(true)
		w.follow.poke()
		w.tell(p.size)
	}
	return nil
}

// trailer ends the gzip member with the CRC-32 and the size of what it holds (RFC 1952, 2.3.1).
func (w *Writer) trailer() error {
	var all crcRun
	for i, p := range w.layout.pieces {
		switch {
		case w.order[i] != nil:
			all.add(w.order[i].crc, p.size)
		case p.part.SumOf != "":
			all.add(crc32.ChecksumIEEE([]byte(w.follow.sums[p.part.SumOf])), p.size)
		default:
			all.add(crc32.ChecksumIEEE(p.part.Data), p.size)
		}
	}
	all.add(w.tail.crc.crc, w.tail.crc.n)
	end := binary.LittleEndian.AppendUint32(nil, all.crc)
	end = binary.LittleEndian.AppendUint32(end, uint32(all.n))
	at := w.tail.end.Load()
	if err := w.files.write([][]byte{end}, at, &w.tail.trace); err != nil {
		return err
	}
	w.tail.end.Store(at + gzipTail)
	return nil
}

func (w *Writer) result() (*Result, error) {
	runs := append(w.fixed.runs, w.tail.trace.runs...)
	for _, s := range w.sinks {
		for _, p := range s.places {
			runs = append(runs, p.trace.runs...)
		}
	}
	res := &Result{Size: w.tail.end.Load(), MemberSums: maps.Clone(w.follow.sums)}
	pieces, err := w.files.pieces(runs, res.Size)
	if err != nil {
		return nil, err
	}
	for pos := int64(0); pos < res.Size; {
		i, _, room := w.files.where(pos)
		p := PartFile{Path: w.files.name(i), Size: min(room, res.Size-pos)}
		if w.opts.Sums {
			p.SHA256 = w.follow.state.parts[i]
		}
		res.Parts = append(res.Parts, p)
		pos += p.Size
		pieces = res.record.add(p, pieces, pos)
	}
	if w.opts.PartSize == 0 {
		res.SHA256 = res.Parts[0].SHA256
	}
	return res, nil
}

// writeSums writes the sums beside the bundle, as sha256sum -c reads them.
func (w *Writer) writeSums(res *Result) error {
	var text strings.Builder
	for _, p := range res.Parts {
		text.WriteString(p.SHA256 + "  " + filepath.Base(p.Path) + "\n")
	}
	name := w.opts.Path + sumsSuffix
	if err := renameio.WriteFile(name, []byte(text.String()), 0o644); err != nil {
		return writeFault(err, name)
	}
	return nil
}
