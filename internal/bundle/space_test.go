package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// zeros is a bundle with one file of so many zeros. Only its head is valid: that is all that anybody is to look at.
func zeros(t *testing.T, size int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "zeros-amd64.tar.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	tw := tar.NewWriter(z)
	m := &Manifest{Format: 1, Name: "zeros", Arch: "amd64", Kubernetes: "v1.34.2",
		OS: OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []Member{{Path: "etcd", Kind: Binary, Name: "etcd", Version: "v3", Size: size,
			SHA256: strings.Repeat("0", 64), Roles: []Role{"etcd"}, Dst: "/usr/local/bin", Mode: 0o755}},
		Images: []Image{}, Install: []Package{}}
	text, err := EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []struct {
		name string
		data []byte
	}{{ManifestName, text}, {SumsName, SumsText(text, m)}} {
		if err := tw.WriteHeader(&tar.Header{Name: doc.name, Mode: 0o644, Size: int64(len(doc.data)),
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(doc.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.WriteHeader(&tar.Header{Name: "etcd", Mode: 0o755, Size: size, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(tw, zeroReader{}, size); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tw.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func faultCode(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

// A file that unpacks to far more than bundles do is refused by its head.
func TestAFileOfZerosIsNotUnpacked(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	file, dir := zeros(t, 192<<20), t.TempDir()
	_, open := Open(file)
	_, verify := Verify(t.Context(), file, nil)
	_, stage := Stage(t.Context(), file, dir, nil)
	for _, err := range []error{open, verify, stage} {
		f := event.AsFault(err)
		if f == nil || f.Code != "bundle.ratio" || f.Args["unpacked"] != "192 MiB" || f.Args["file"] != file {
			t.Errorf("%+v", f)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Error("left:", left)
	}
	if _, err := Open(zeros(t, 40<<20)); err != nil { // a small one may be mostly text
		t.Error(err)
	}
}

// withFree has Stage see a disk with so much space.
func withFree(free func(string) (int64, error)) Option { return func(o *options) { o.free = free } }

// What a bundle takes is looked for before anything is written, and what is kept for the event log is not touched.
func TestTheSpaceIsLookedForFirst(t *testing.T) {
	file := zeros(t, 40<<20)
	dir := t.TempDir()
	asked := ""
	for _, c := range []struct {
		free int64
		code string
	}{{0, "bundle.no-space"}, {40<<20 + stageReserve, "bundle.no-space"},
		{41<<20 + stageReserve, "bundle.sum-mismatch"}} {
		_, err := Stage(t.Context(), file, dir, nil,
			withFree(func(d string) (int64, error) { asked = d; return c.free, nil }))
		f := event.AsFault(err)
		if f == nil || f.Code != c.code || asked != dir {
			t.Fatalf("%d free: %v, asked for %q", c.free, err, asked)
		}
		if c.code == "bundle.no-space" && (f.Args["need"] != "41 MiB" || f.Args["free"] != mib(c.free) ||
			f.Args["dir"] != dir || f.Args["file"] != file) {
			t.Errorf("%+v", f.Args)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 {
			t.Error("left:", left)
		}
	}
	// A disk that is full already says what the bundle takes, too.
	_, err := Stage(t.Context(), file, dir, nil, withFree(func(string) (int64, error) { return 0, syscall.ENOSPC }))
	if f := event.AsFault(err); f == nil || f.Code != "bundle.no-space" || f.Args["need"] != "41 MiB" {
		t.Errorf("%+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Stage(ctx, file, dir, func(done, _ int64) { cancel() })
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); !errors.Is(err, context.Canceled) || len(left) > 0 {
		t.Error("cancelled:", err, left)
	}
}

// A disk that gets full on the way is told with what would have been needed.
func TestADiskThatGetsFull(t *testing.T) {
	o := options{free: func(string) (int64, error) { return 3 << 20, nil }}
	f := event.AsFault(o.full(storeFault(&os.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, "etcd"), "/state",
		7<<20))
	if f.Code != "bundle.no-space" || f.Args["need"] != "7 MiB" || f.Args["free"] != "3 MiB" ||
		!errors.Is(f.Err, syscall.ENOSPC) {
		t.Errorf("%+v", f)
	}
	if err := o.full(fmt.Errorf("other"), "/state", 1); faultCode(err) == "bundle.no-space" {
		t.Error(err)
	}
}

// fakeStage is a directory that looks like a finished stage.
func fakeStage(t *testing.T, dir, digit string) string {
	t.Helper()
	id := strings.Repeat(digit, 64)
	if err := os.MkdirAll(filepath.Join(dir, id, membersDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{markerName: "{}", membersDir + "/etcd": "0123456789"} {
		if err := os.WriteFile(filepath.Join(dir, id, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// Stages that nobody keeps go, but for those that a process makes or uses.
func TestPruneLeavesWhatIsUsed(t *testing.T) {
	dir := t.TempDir()
	kept, gone, used, made := fakeStage(t, dir, "a"), fakeStage(t, dir, "b"), fakeStage(t, dir, "c"),
		fakeStage(t, dir, "d")
	for _, other := range []string{"known", strings.Repeat("e", 63)} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g := stager{ctx: t.Context(), dir: dir}
	var uses []*Staged
	for range 2 {
		s, err := g.use(&Staged{dir: filepath.Join(dir, used)})
		if err != nil {
			t.Fatal(err)
		}
		uses = append(uses, s)
	}
	unlock, err := g.lock(made)
	if err != nil {
		t.Fatal(err)
	}
	there := func() string {
		var b bytes.Buffer
		for _, id := range []string{kept, gone, used, made, "known"} {
			if _, err := os.Stat(filepath.Join(dir, id)); err == nil {
				b.WriteString(id[:1])
			}
		}
		return b.String()
	}
	p, err := Prune(dir, []string{kept})
	if err != nil || len(p) != 1 || p[0].ID != gone || p[0].Bytes != 12 || there() != "acdk" {
		t.Errorf("%v, %v, there are %s", p, err, there())
	}
	unlock()
	uses[0].Release()
	if _, err := Prune(dir, []string{kept}); err != nil || there() != "ack" {
		t.Error(err, there())
	}
	uses[1].Release()
	if _, err := Prune(dir, []string{kept}); err != nil || there() != "ak" {
		t.Error(err, there())
	}
	if p, err := Prune(filepath.Join(dir, "none"), nil); err != nil || p != nil {
		t.Error(p, err)
	}
}
