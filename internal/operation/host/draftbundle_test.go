package host

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config/draft"
)

// smallBundle writes a bundle with one program.
func smallBundle(t *testing.T, path, program string) {
	t.Helper()
	smallBundleOf(t, path, "v1.34.2", "amd64", program)
}

// smallBundleOf writes one of a version for an architecture.
func smallBundleOf(t *testing.T, path, version, arch, program string) {
	t.Helper()
	m := &bundle.Manifest{Format: 1, Name: "small", Arch: arch, Kubernetes: version,
		Members: []bundle.Member{{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Size: int64(len(program)),
			SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(program))), Dst: "/usr/local/bin", Mode: 0o755,
			Roles: []bundle.Role{bundle.Worker}}}}
	if version, is := strings.CutPrefix(program, "etcd "); is {
		m.Members[0].Name, m.Members[0].Version = "etcd", version
	}
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, x := range [][2]string{{"manifest.json", string(text)}, {"SHA256SUMS", string(bundle.SumsText(text, m))},
		{"kubelet", program}} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: x[0], Typeflag: tar.TypeReg, Mode: 0o644,
			Size: int64(len(x[1]))}))
		_, e := w.Write([]byte(x[1]))
		err = errors.Join(err, e)
	}
	if err := errors.Join(err, w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// The only bundle that there is is read once: the wizard unpacks it on the way, and preflight and the run use that. Of
// several nobody knows which one it will be; without room, or when it is unpacked already, it is proven all the same.
func TestTheWizardReadsABundleOnce(t *testing.T) {
	t.Parallel()
	where := t.TempDir()
	one, two := filepath.Join(where, "one.tar.gz"), filepath.Join(where, "two.tar.gz")
	smallBundle(t, one, "a program")
	proven := func(d *Draft, path string) (yes bool, reads int) {
		d.h.Dir = where
		d.Bundles(context.Background(), nil, func(b draft.Bundle) {
			if filepath.Dir(b.Path) != where {
				t.Skipf("this machine has a bundle where the wizard looks: %s", b.Path)
			}
			if b.Path == path {
				yes = b.Verified && b.Fault == nil
				if b.Done > 0 && !b.Verified {
					reads++
				}
			}
		})
		return yes, reads
	}
	d := testServices(t)
	staged := filepath.Join(d.h.Root, "bundles")
	if yes, reads := proven(d, one); !yes || reads == 0 || !bundle.Finished(one, staged) {
		t.Errorf("proven %v with %d looks, unpacked %v", yes, reads, bundle.Finished(one, staged))
	}
	again := d.h.newDraft(d.kept) // another wizard
	if yes, reads := proven(again, one); !yes || reads > 0 {
		t.Errorf("unpacked already: proven %v with %d looks", yes, reads)
	}
	if err := os.WriteFile(one, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if yes, _ := proven(again, one); yes {
		t.Error("what was changed since counts as proven")
	}

	smallBundle(t, one, "a program")
	smallBundle(t, two, "another")
	d = testServices(t)
	staged = filepath.Join(d.h.Root, "bundles")
	if yes, _ := proven(d, two); !yes || bundle.Finished(one, staged) || bundle.Finished(two, staged) {
		t.Errorf("one of two: proven %v, or unpacked", yes)
	}

	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	d = testServices(t)
	if err := errors.Join(os.MkdirAll(d.h.Root, 0o700),
		os.WriteFile(filepath.Join(d.h.Root, "bundles"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if yes, _ := proven(d, one); !yes {
		t.Error("it is not proven where it cannot be unpacked")
	}
}

// A path among the bundles that is none is told as what it is.
func TestAPathThatIsNoBundle(t *testing.T) {
	t.Parallel()
	d := testServices(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text.tar.gz")
	if err := os.WriteFile(text, []byte("cluster-id: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{text: "bundle.text", filepath.Join(dir, "gone.tar.gz"): "bundle.open",
		t.TempDir(): "bundle.none-here"} {
		var got []string
		d.Bundles(context.Background(), []string{path}, func(b draft.Bundle) {
			if b.Fault != nil && b.Path == path {
				got = append(got, b.Fault.Code)
			}
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
}
