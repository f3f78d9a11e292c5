package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// seeds are small bundles of each sort.
func seeds(t testing.TB) [][]member {
	_, plain := sample(t)
	v1, v2, _ := releases(bundle.Typed)
	return [][]member{plain, everything(bundle.Flat).full(t), everything(bundle.Typed).full(t), v2.since(t, v1)}
}

func FuzzManifest(f *testing.F) {
	for _, members := range seeds(f) {
		f.Add([]byte(members[0].body))
	}
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := bundle.ParseManifest(data)
		if err != nil {
			if event.AsFault(err).Class != event.ClassBundle {
				t.Fatal(err)
			}
			return
		}
		again, err := bundle.EncodeManifest(m)
		if err != nil {
			t.Fatalf("accepted and not written: %v", err)
		}
		if _, err := bundle.ParseManifest(again); err != nil {
			t.Fatalf("written and not accepted: %v", err)
		}
		full := m.Full()
		if err := full.Validate(); err != nil || full.Base != nil {
			t.Fatalf("makes a full bundle that is none: %v", err)
		}
		for _, e := range m.Members {
			if strings.Contains(e.Path, "..") && bundle.CheckPath(e.Path) != nil {
				t.Fatalf("path %q", e.Path)
			}
			if to := m.Target(e); to != "" && (!filepath.IsAbs(to) || filepath.Clean(to) != to ||
				!strings.HasPrefix(to, strings.TrimSuffix(e.Dst, "/")+"/")) {
				t.Fatalf("%q goes to %q, not below %q", e.Path, to, e.Dst)
			}
		}
	})
}

// FuzzVerify changes the tar below the gzip, where the fuzzer gets further.
func FuzzVerify(f *testing.F) {
	whole := map[int][]byte{} // by length
	for _, members := range seeds(f) {
		data, err := unpack(archive(f, members))
		if err != nil {
			f.Fatal(err)
		}
		whole[len(data)] = data
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
		z.Write(data)
		z.Close()
		file, dir := store(t, b.Bytes()), t.TempDir()
		_, err := bundle.Verify(context.Background(), file, nil)
		if code(t, file, err) == "" && whole[len(data)] == nil {
			t.Fatal("accepted, and it is another bundle")
		}
		_, xerr := bundle.Extract(context.Background(), file, filepath.Join(dir, "out"), nil)
		if code(t, file, xerr) != code(t, file, err) {
			t.Fatalf("Verify: %v, Extract: %v", err, xerr)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 && xerr != nil {
			t.Fatalf("left behind: %v", left)
		}
	})
}

// FuzzDifference changes the images that a difference carries, below its sums: what is accepted makes the full bundle
// and no other.
func FuzzDifference(f *testing.F) {
	v1, v2, _ := releases(bundle.Flat)
	m, full := v2.manifest(f)
	base, _ := v1.manifest(f)
	dir := f.TempDir()
	stage(f, store(f, archive(f, v1.full(f))), dir)
	id := v1.id(f)
	f.Add([]byte(onlyBlobs(f, full, bundle.Carry(v2.images, base))))
	f.Add([]byte(full))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := bundle.NewDifference(m, base, id, int64(len(data)))
		if err != nil {
			return
		}
		file := store(t, archive(t, v2.pack(t, d, string(data))))
		s, err := bundle.Stage(context.Background(), file, dir, nil)
		if code(t, file, err) != "" {
			return
		}
		defer os.RemoveAll(s.Dir())
		if got := content(t, filepath.Join(s.Dir(), "members", "images.tar")); len(got) != len(full) {
			t.Fatal("accepted, and it is another images.tar")
		}
	})
}

// TestBombs: small files that would unpack to a great deal are given up early.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	_, members := sample(t)
	tests := []struct {
		name string
		make func(w *tar.Writer, raw *gzip.Writer)
		want string
	}{
		{"directories without end", func(w *tar.Writer, _ *gzip.Writer) {
			for range bundle.MaxMembers + 1 {
				w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "addons/", Mode: 0o755})
			}
		}, "bundle.damaged"},
		{"names without end", func(_ *tar.Writer, raw *gzip.Writer) {
			var h bytes.Buffer
			long := tar.NewWriter(&h)
			long.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("x", 200), Format: tar.FormatGNU})
			head := h.Bytes()[:512] // of the long name, which follows
			copy(head[124:136], "00003777000\x00")
			checksum(head)
			for range 120 {
				raw.Write(head)
				raw.Write(make([]byte, 0o3777000))
			}
		}, "bundle.damaged"},
		{"a member without end", func(w *tar.Writer, _ *gzip.Writer) {
			w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "socat_1_amd64.deb", Size: 1 << 40, Mode: 0o644})
			w.Write(make([]byte, 1<<20))
		}, "bundle.member-size"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			w := tar.NewWriter(z)
			for _, m := range members[:2] {
				w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(m.body)), Mode: 0o644})
				w.Write([]byte(m.body))
			}
			w.Flush()
			tt.make(w, z)
			z.Close()
			file := store(t, b.Bytes())
			if _, err := bundle.Verify(context.Background(), file, nil); code(t, file, err) != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// TestABombOfAnotherHost: an archive without a manifest is looked into a little way only, whatever it says of its first
// member.
func TestABombOfAnotherHost(t *testing.T) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w := tar.NewWriter(z)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "images.tar", Size: 1 << 40, Mode: 0o644})
	for range 80 {
		w.Write(make([]byte, 1<<20))
	}
	z.Close()
	file := store(t, b.Bytes())
	if _, err := bundle.Open(file); code(t, file, err) != "bundle.no-manifest" ||
		event.AsFault(err).Args["layout"] != "flat" {
		t.Errorf("%v", err)
	}
}

// checksum sets a tar header's.
func checksum(h []byte) {
	copy(h[148:156], "        ")
	n := 0
	for _, c := range h {
		n += int(c)
	}
	copy(h[148:156], []byte{byte('0' + n>>15&7), byte('0' + n>>12&7), byte('0' + n>>9&7), byte('0' + n>>6&7),
		byte('0' + n>>3&7), byte('0' + n&7), 0, ' '})
}
