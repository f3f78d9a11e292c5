package deb

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
)

// archive returns the Packages file that EGGO_PACKAGES names (unpacked), or a made-up one with as many packages and
// relationships as Debian's.
func archive(b *testing.B) []byte {
	if p := os.Getenv("EGGO_PACKAGES"); p != "" {
		data, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	const n = 62000
	r := rand.New(rand.NewPCG(1, 1))
	var t bytes.Buffer
	for i := range n {
		fmt.Fprintf(&t,
			"Package: library-%05d\nVersion: %d.%d-%d+deb12u1\nArchitecture: amd64\nPriority: optional\nDepends: ", i,
			r.IntN(9), r.IntN(99), r.IntN(9))
		for range 8 {
			fmt.Fprintf(&t, "library-%05d (>= 0), ", r.IntN(i+1))
		}
		fmt.Fprintf(&t,
			"library-00000\nDescription: a library\n%sFilename: pool/main/l/library-%05d.deb\nSize: 1\nSHA256: "+
				"%064x\n\n",
			strings.Repeat(" Text that says what it is good for, and for whom, in some words.\n", 4), i, r.Uint64())
	}
	return t.Bytes()
}

// BenchmarkIndex reads an archive and resolves a root; live-MB is what the index holds, peak-MB what the heap took at
// most while it read.
func BenchmarkIndex(b *testing.B) {
	data := archive(b)
	root := []string{"library-61999"}
	if os.Getenv("EGGO_PACKAGES") != "" {
		root = []string{"qemu-system-x86", "openssh-server"}
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		runtime.GC()
		var before, read, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x := NewIndex("amd64")
		if err := x.Add(bytes.NewReader(data), ""); err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&read)
		if list, err := x.Closure(root); err != nil || len(list) == 0 {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "live-MB")
		b.ReportMetric(float64(read.HeapSys-read.HeapReleased-before.HeapAlloc)/(1<<20), "peak-MB")
		runtime.KeepAlive(x)
	}
}
