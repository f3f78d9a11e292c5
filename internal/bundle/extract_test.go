package bundle_test

import (
	"archive/tar"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestExtract: what tar would unpack is there, readable, and nothing else beside it.
func TestExtract(t *testing.T) {
	_, members := sample(t)
	file := store(t, archive(t, members))
	want := map[string]string{}
	for _, m := range members {
		want[filepath.FromSlash(m.name)] = m.body
	}
	for name, prepare := range map[string]func(dir string) error{
		"not there": func(string) error { return nil },
		"empty":     func(dir string) error { return os.Mkdir(dir, 0o700) },
		"a link to a one": func(dir string) error {
			return errors.Join(os.Mkdir(dir+".real", 0o700), os.Symlink(dir+".real", dir))
		},
		"there as a whole": func(dir string) error {
			_, err := bundle.Extract(context.Background(), file, dir, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "out")
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			r, err := bundle.Extract(context.Background(), file, dir, nil)
			if err != nil || r.Members != len(members) {
				t.Fatalf("%+v, %v", r, err)
			}
			if d := cmp.Diff(want, tree(t, dir+"/")); d != "" {
				t.Error(d)
			}
			for p, mode := range map[string]fs.FileMode{".": 0o755, "kubelet": 0o755, "addons": 0o755,
				"addons/net.yml": 0o644, "images.tar": 0o644} {
				if st, err := os.Stat(filepath.Join(dir, p)); err != nil || st.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v", p, st.Mode(), err)
				}
			}
			if hidden, _ := filepath.Glob(filepath.Join(parent, ".*")); len(hidden) > 0 {
				t.Errorf("left behind: %v", hidden)
			}
		})
	}
}

// TestSumsAreThoseOfSha256sum: after unpacking, plain sha256sum agrees, with a full bundle and with a difference, in
// both layouts.
func TestSumsAreThoseOfSha256sum(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("no sha256sum")
	}
	for _, layout := range []bundle.Layout{bundle.Flat, bundle.Typed} {
		v1, v2, _ := releases(layout)
		for name, members := range map[string][]member{"full": v2.full(t), "difference": v2.since(t, v1)} {
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := bundle.Extract(context.Background(), store(t, archive(t, members)), dir, nil); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sha256sum", "--strict", "-c", "SHA256SUMS", "images.tar.sha256")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v\n%s", layout, name, err, out)
			}
		}
	}
}

// TestExtractAllOrNothing: what cannot be unpacked whole, or would mix with other files, leaves everything as it was.
func TestExtractAllOrNothing(t *testing.T) {
	_, members := sample(t)
	good := store(t, archive(t, members))
	tests := []struct {
		name    string
		edit    func([]member) []member
		prepare func(t *testing.T, dir string)
		want    string
	}{
		{"damaged at its end", func(m []member) []member {
			m[len(m)-1].body = strings.Repeat("x", len(m[len(m)-1].body))
			return m
		}, nil, "bundle.sum-mismatch"},
		{"a link", func(m []member) []member {
			m[4] = member{name: m[4].name, typeflag: tar.TypeSymlink, link: "/etc/passwd"}
			return m
		}, nil, "bundle.member-type"},
		{"a file of others in it", nil, func(t *testing.T, dir string) { put(t, filepath.Join(dir, "mine"), "mine") },
			"bundle.extract-exists"},
		{"one more file", nil, func(t *testing.T, dir string) {
			unpacked(t, good, dir)
			put(t, filepath.Join(dir, "mine"), "mine")
		}, "bundle.extract-exists"},
		{"one more directory", nil, func(t *testing.T, dir string) {
			unpacked(t, good, dir)
			mkdir(t, filepath.Join(dir, "mine"))
		}, "bundle.extract-exists"},
		{"a changed file", nil, func(t *testing.T, dir string) {
			unpacked(t, good, dir)
			put(t, filepath.Join(dir, "kubelet"), "pr0gram")
		}, "bundle.extract-exists"},
		{"a longer file", nil, func(t *testing.T, dir string) {
			unpacked(t, good, dir)
			put(t, filepath.Join(dir, "kubelet"), "programs")
		}, "bundle.extract-exists"},
		{"a shorter file", nil, func(t *testing.T, dir string) {
			unpacked(t, good, dir)
			put(t, filepath.Join(dir, "kubelet"), "prog")
		}, "bundle.extract-exists"},
		{"a missing file", nil, func(t *testing.T, dir string) {
			unpacked(t, good, dir)
			os.Remove(filepath.Join(dir, "kubelet"))
		}, "bundle.extract-exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "out")
			file := good
			if tt.edit != nil {
				_, m := sample(t)
				file = store(t, archive(t, tt.edit(m)))
			}
			if tt.prepare != nil {
				mkdir(t, dir)
				tt.prepare(t, dir)
			}
			before := tree(t, parent)
			_, err := bundle.Extract(context.Background(), file, dir, nil)
			if got := code(t, file, err); got != tt.want {
				t.Errorf("%v %v, want %s", err, event.AsFault(err).Args, tt.want)
			}
			if d := cmp.Diff(before, tree(t, parent)); d != "" {
				t.Error(d)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "x")
	if _, err := bundle.Extract(context.Background(), good, file, nil); code(t, good, err) != "bundle.extract-exists" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	parent := t.TempDir()
	if _, err := bundle.Extract(ctx, good, filepath.Join(parent, "out"),
		func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDiskFull needs a file system of its own, which only root can make.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=64k", "none",
		dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %s", out)
	}
	defer exec.Command("umount", dir).Run() //nolint:errcheck // the test's directory
	r := newRelease(bundle.Flat).with(bundle.Member{Path: "big", Kind: bundle.Binary, Name: "big",
		Dst: "/usr/local/bin"}, strings.Repeat("x", 256<<10))
	file := store(t, archive(t, r.full(t)))
	if _, err := bundle.Extract(context.Background(), file, filepath.Join(dir, "out"), nil); code(t, file,
		err) != "bundle.extract-space" {
		t.Error(err)
	}
	if _, err := bundle.Stage(context.Background(), file, filepath.Join(dir, "stage"), nil); code(t, file,
		err) != "bundle.no-space" {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 1 {
		t.Errorf("left behind: %v", left)
	}
}

func unpacked(t *testing.T, file, dir string) {
	t.Helper()
	if _, err := bundle.Extract(context.Background(), file, dir, nil); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}
