package pack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// endless is content without end: one buffer over and over, so that the memory measured is that of the writer.
type endless struct {
	data []byte
	at   int
	left int64
}

func (e *endless) next(n int) []byte {
	if e.at == len(e.data) {
		e.at = 0
	}
	n = int(min(int64(n), int64(len(e.data)-e.at), e.left))
	b := e.data[e.at : e.at+n]
	e.at, e.left = e.at+n, e.left-int64(n)
	return b
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	return copy(p, e.next(len(p))), nil
}

// BenchmarkPack writes a bundle of 16 layers, from 16 goroutines, and of programs, beside the plain writing of a file
// of the same size. EGGO_BENCH_MB is the size of the layers (default 96; 382 is that of a real bundle); the programs
// are 64 % of it. Each line has the processor's seconds and the peak of memory so far.
func BenchmarkPack(b *testing.B) {
	layers := int64(96)
	if n, err := strconv.ParseInt(os.Getenv("EGGO_BENCH_MB"), 10, 32); err == nil {
		layers = n
	}
	layers *= 1e6
	random := noise(rand.New(rand.NewPCG(1, 1)), 4<<20)
	elf, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		b.Fatal(err)
	}
	elf = elf[:min(len(elf), 8<<20)]
	var inner, programs []Member
	sizes := map[string]int64{}
	for i := range int64(16) {
		name := "layer" + strconv.FormatInt(i, 10)
		sizes[name] = layers * (i*i + 8) / (1240 + 128) // the largest is 17 % of all
		inner = append(inner, Member{Path: name, Parts: []Part{{SHA256: name, Size: sizes[name]}}})
	}
	for i := range int64(4) {
		name := "program" + strconv.FormatInt(i, 10)
		sizes[name] = layers * 64 / 400
		programs = append(programs, Member{Path: name, Parts: []Part{{SHA256: name, Size: sizes[name]}}})
	}
	parts, _, err := Archive(inner, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	images := Member{Path: "images.tar", Stored: true, Parts: parts}
	sum := Member{Path: "images.tar.sha256", Parts: []Part{{SumOf: "images.tar"}}}
	whole := append(append([]Member{images}, programs...), sum)
	open := func(_ context.Context, name string) (io.ReadCloser, error) {
		return io.NopCloser(&endless{data: elf, left: sizes[name]}), nil
	}
	for _, c := range []struct {
		name    string
		members []Member
		opts    Options
	}{
		{"stored", []Member{images}, Options{}}, // no sum of images.tar either
		{"images", []Member{images, sum}, Options{}},
		{"whole", whole, Options{}},
		{"sums", whole, Options{Sums: true}},
		{"parts", whole, Options{Sums: true, PartSize: 64 << 20}},
	} {
		l, err := Plan(c.members, time.Time{})
		if err != nil {
			b.Fatal(err)
		}
		size := int64(0)
		c.opts.Path = filepath.Join(b.TempDir(), "b.tar.gz")
		for name, limit := range map[string]int{"pack": 16, "pack-in-order": 2} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				measure(b, l.Total(), func() error {
					res, err := scatter(b.Context(), l, c.opts, random, open, limit)
					if err == nil {
						size = res.Size
					}
					return err
				})
			})
		}
		for name, sync := range map[string]bool{"floor": false, "floor-synced": true} {
			if c.opts.Sums {
				continue
			}
			b.Run(c.name+"/"+name, func(b *testing.B) {
				measure(b, l.Total(), func() error {
					return plain(filepath.Join(b.TempDir(), "f"), &endless{data: random, left: max(size, 1)}, sync)
				})
			})
		}
	}
	l, _ := Plan(whole, time.Time{})
	dir := b.TempDir()
	res, err := scatter(b.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz")}, random, open, 16)
	if err != nil {
		b.Fatal(err)
	}
	text, _ := res.Record()
	b.Run("same", func(b *testing.B) {
		measure(b, res.Size, func() error {
			if same, err := Same(b.Context(), dir, text); !same {
				b.Error(err)
			}
			return nil
		})
	})
}

// heap is what the heap holds after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func measure(b *testing.B, size int64, run func() error) {
	b.SetBytes(size)
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(after.Maxrss)/1024, "peak-MiB")
}

func scatter(ctx context.Context, l *Layout, o Options, data []byte, open Opener, limit int) (*Result, error) {
	w, err := Create(ctx, l, o)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	g, ctx := errgroup.WithContext(ctx)
	var res *Result
	g.Go(func() error {
		var err error
		res, err = w.Finish(ctx, open)
		return err
	})
	var sinks errgroup.Group
	sinks.SetLimit(limit)
	for i, blob := range l.Stored() {
		s, _ := w.Sink(blob.SHA256)
		sinks.Go(func() error {
			for src := (&endless{data: data, at: i * 100_000, left: blob.Size}); src.left > 0; {
				if _, err := s.Write(src.next(256 << 10)); err != nil {
					return err
				}
			}
			return s.Close()
		})
	}
	return res, errors.Join(sinks.Wait(), g.Wait())
}

func plain(path string, src *endless, sync bool) error {
	_ = os.Remove(path)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for src.left > 0 {
		if _, err := f.Write(src.next(256 << 10)); err != nil {
			return err
		}
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// TestMemoryIsBounded: a bundle of 200 MB, two thirds of it compressed, lets the heap grow by what the package says.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	text := bytes.Repeat([]byte("everything that a cluster needs\n"), 1000)
	l, err := Plan([]Member{
		{Path: "a", Stored: true, Parts: []Part{{SHA256: "a", Size: 70 << 20}}},
		{Path: "b", Parts: []Part{{SHA256: "b", Size: 130 << 20}}},
	}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	peak, n := uint64(0), 0
	open := func(context.Context, string) (io.ReadCloser, error) {
		return io.NopCloser(&endless{data: text, left: 130 << 20}), nil
	}
	_, err = scatter(t.Context(), l, Options{Path: filepath.Join(t.TempDir(), "b.tar.gz"), Sums: true,
		Progress: func(int64, int64) {
			if n++; n%16 == 0 {
				peak = max(peak, heap())
			}
		}}, text, open, 16)
	if err != nil {
		t.Fatal(err)
	}
	if grown := int64(peak) - int64(before); grown > 25<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}
