package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/registry"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/test/bench"
)

const small = 0.0005 // of the workload: the layers have one file or a few

// served makes a small workload and serves it.
func served(t *testing.T) (*bench.Workload, string) {
	t.Helper()
	w, err := bench.Make(filepath.Join(t.TempDir(), "w"), small)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go bench.Serve(l, w) //nolint:errcheck // ends with the listener
	t.Cleanup(func() { l.Close() })
	return w, "http://" + l.Addr().String()
}

// TestBench makes one workload, which takes the longest of all, and looks at it from all sides.
func TestBench(t *testing.T) {
	w, server := served(t)
	t.Run("the same again", func(t *testing.T) { sameWorkload(t, w) })
	t.Run("resolved", func(t *testing.T) { resolved(t, w, server) })
	t.Run("faults", func(t *testing.T) { faults(t, w, server) })
	t.Run("section", func(t *testing.T) { section(t, server) })
	t.Run("floors", func(t *testing.T) { floors(t, w, server) }) // last: it damages a blob
}

// under tells the server its conditions and gives what it did before.
func under(t *testing.T, server string, c bench.Conditions) bench.Served {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(server+"/bench", "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var s bench.Served
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func sameWorkload(t *testing.T, a *bench.Workload) {
	b, err := bench.Make(filepath.Join(t.TempDir(), "other"), small)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		x, y := a.Items(arch, bench.Whole), b.Items(arch, bench.Whole)
		if len(x) != 16+8+4+24 { // layers, configurations, programs, packages
			t.Errorf("%s has %d blobs", arch, len(x))
		}
		for i := range x {
			if x[i] != y[i] {
				t.Errorf("%s is %s in one and %s in the other", x[i].Path, x[i].SHA256, y[i].SHA256)
			}
		}
	}
}

// resolved: the registry's documents are such that a builder takes them, of both kinds, with variant and attestation.
func resolved(t *testing.T, w *bench.Workload, server string) {
	c := registry.New(registry.Options{})
	for _, im := range w.Images {
		name := strings.TrimPrefix(server, "http://") + "/" + im.Name()
		for _, arch := range []string{"amd64", "arm64"} {
			got, err := c.Resolve(context.Background(), name, image.Want{Arch: arch, Runtime: "containerd"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Platform.Architecture != arch || len(got.Layers) != len(im.Layers[arch]) {
				t.Errorf("%s for %s: %+v", im.Name(), arch, got)
			}
		}
	}
	for _, s := range []string{"whole.yaml", "images.yaml"} {
		if _, err := spec.Load(filepath.Join(w.Dir, s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// floors: each floor gets every byte, and says so when one is wrong.
func floors(t *testing.T, w *bench.Workload, server string) {
	ctx := context.Background()
	for _, f := range []bench.Floor{bench.FloorFetch, bench.FloorHash, bench.FloorWrite, bench.FloorSync,
		bench.FloorTwice, bench.FloorBundle, bench.FloorRead, bench.FloorPack} {
		under(t, server, bench.Conditions{})
		if err := bench.RunFloor(ctx, f, w, server, "amd64", t.TempDir(), bench.Whole); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		s := under(t, server, bench.Conditions{})
		var want int64
		for _, i := range w.Items("amd64", bench.Whole) {
			want += i.Size
		}
		if f != bench.FloorRead && f != bench.FloorPack && (s.Bytes != want || s.Twice != 0) {
			t.Errorf("%s: the server sent %d bytes, %d of them twice; there are %d", f, s.Bytes, s.Twice, want)
		}
	}
	blob := filepath.Join(w.Dir, "blobs", w.Images[0].Layers["amd64"][0].SHA256)
	data, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2]++
	if err := os.WriteFile(blob, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if bench.RunFloor(ctx, bench.FloorHash, w, server, "amd64", "", bench.ImagesOnly) == nil {
		t.Error("other bytes were taken")
	}
}

// faults: a connection that breaks once, a range, a rate; and what was sent twice is counted.
func faults(t *testing.T, w *bench.Workload, server string) {
	item := w.Items("amd64", bench.Largest)[0]
	const cut = 5000
	under(t, server, bench.Conditions{Cut: cut})
	get := func(from string) ([]byte, int) {
		req, err := http.NewRequest(http.MethodGet, server+item.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if from != "" {
			req.Header.Set("Range", "bytes="+from+"-")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body) // breaks
		return data, resp.StatusCode
	}
	first, _ := get("")
	if len(first) != cut {
		t.Errorf("%d bytes came before the cut", len(first))
	}
	rest, status := get("4000")
	if status != http.StatusPartialContent || int64(len(rest)) != item.Size-4000 ||
		!bytes.Equal(rest[:1000], first[4000:]) {
		t.Errorf("the range has status %d and %d bytes", status, len(rest))
	}
	if s := under(t, server, bench.Conditions{Rate: 1 << 30, Latency: time.Millisecond}); s.Requests != 2 ||
		s.Twice != 1000 || s.Bytes != item.Size+1000 {
		t.Errorf("served %+v", s)
	}
	if all, _ := get(""); int64(len(all)) != item.Size {
		t.Errorf("%d bytes at a rate", len(all))
	}
}

// section: cases are run in turns, a failing one is a result and not the end, and the table has them all.
func section(t *testing.T, server string) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	var order []string
	note := func(n string) func() error { return func() error { order = append(order, n); return nil } }
	s := &bench.Section{Title: "A section", Cases: []*bench.Case{
		{Name: "one", Command: []string{"sh", "-c", "exit 0"}, Prepare: note("one"), Floor: true},
		{Name: "two", Command: []string{"sh", "-c", "echo no such luck >&2; exit 3"}, Prepare: note("two"), Rounds: 1},
		{Name: "three", Skip: "it is not installed"}}}
	r, err := s.Run(context.Background(), server, 2, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "one two one" {
		t.Errorf("run in the order %s", got)
	}
	var b strings.Builder
	s.Table(&b, r)
	for _, want := range []string{"| one ", "|    1.00 |", "fails", "no such luck", "it is not installed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	report := bench.Report{Sections: []*bench.Section{s}, Results: []bench.Results{r}}
	b.Reset()
	report.Goals(&b) // none of its cases was run: an empty table, no fault
	if strings.Contains(b.String(), "met") {
		t.Error(b.String())
	}
}
