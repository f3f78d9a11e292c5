package pack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// child is this test binary run again: it builds the small bundle over and over, into the directory that it is told,
// until it is killed; or once, under a limit of the size of files, and then says the code of the fault.
func child() {
	path, mode, _ := strings.Cut(os.Getenv("EGGO_PACK_CHILD"), "|")
	t, blobs := &testing.T{}, store{}
	_, l := small(t, blobs)
	if limit, err := strconv.ParseUint(mode, 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			os.Exit(3)
		}
		_, err := build(context.Background(), l, Options{Path: path}, blobs, 1)
		_, _ = os.Stdout.WriteString(event.AsFault(err).Code)
		return
	}
	for seed := uint64(0); ; seed++ {
		part := int64(0)
		if mode == "split" {
			part = 500_000
		}
		if _, err := build(context.Background(), l, Options{Path: path, PartSize: part, Sums: true}, blobs,
			seed); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(3)
		}
	}
}

func again(t *testing.T, path, mode string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "EGGO_PACK_CHILD="+path+"|"+mode)
	return cmd
}

// TestKilledAtAnyMoment: whatever has the final name is whole, in one file or in parts, and the next build overwrites
// what was left.
func TestKilledAtAnyMoment(t *testing.T) {
	for _, mode := range []string{"one", "split"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "b.tar.gz")
			blobs := store{}
			members, l := small(t, blobs)
			want, _ := reference(t, members, time.Time{}, blobs)
			r := rand.New(rand.NewPCG(9, 9))
			for range 12 {
				cmd := again(t, path, mode)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(r.IntN(120)) * time.Millisecond) // any moment is a good one
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if stderr.Len() > 0 {
					t.Fatal(stderr.String())
				}
				if got, ok := whole(t, dir); ok && !bytes.Equal(got, want) {
					t.Fatalf("a bundle that is not one, of %d bytes", len(got))
				}
			}
			part := int64(0)
			if mode == "split" {
				part = 500_000
			}
			if _, err := build(t.Context(), l, Options{Path: path, PartSize: part}, blobs, 1); err != nil {
				t.Fatal(err)
			}
			if got, ok := whole(t, dir); !ok || !bytes.Equal(got, want) {
				t.Error("the last build is not whole")
			}
			for name := range contents(t, dir) {
				if strings.Contains(name, ".part") {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// whole gives what a reader takes for the bundle: the file, or the parts from .001 on.
func whole(t *testing.T, dir string) ([]byte, bool) {
	t.Helper()
	files := contents(t, dir)
	if b, ok := files["b.tar.gz"]; ok {
		return b, true
	}
	var all []byte
	for i := 1; ; i++ {
		b, ok := files["b.tar.gz."+strings.Repeat("0", 3-len(strconv.Itoa(i)))+strconv.Itoa(i)]
		if !ok {
			return all, i > 1
		}
		all = append(all, b...)
	}
}

// TestPartsReplaceThoseOfABiggerBundle: no part of the old one is left, and no sums that do not fit.
func TestPartsReplaceThoseOfABiggerBundle(t *testing.T) {
	dir, blobs := t.TempDir(), store{}
	members, l := small(t, blobs)
	want, _ := reference(t, members, time.Time{}, blobs)
	for _, n := range []string{".001", ".002", ".003", ".017", ".sha256", ".004.part", ".part"} {
		if err := os.WriteFile(filepath.Join(dir, "b.tar.gz"+n), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"b.tar.gz.1", "b.tar.gz.0005", "b.tar.gz.x01", "c.tar.gz.009", "b.tar.gz.001.bak"}
	for _, n := range others {
		_ = os.WriteFile(filepath.Join(dir, n), []byte("not ours"), 0o644)
	}
	res, err := build(t.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz"), PartSize: 1_200_000}, blobs, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := whole(t, dir); !ok || !bytes.Equal(got, want) || len(res.Parts) != 2 {
		t.Errorf("%d bytes in %d parts", len(got), len(res.Parts))
	}
	var names []string
	for n := range contents(t, dir) {
		if !slices.Contains(others, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "b.tar.gz.001 b.tar.gz.002" {
		t.Error(got)
	}
	if n := len(contents(t, dir)); n != 2+len(others) {
		t.Error("files of others were removed")
	}
}

// TestSumsAreThoseOfSha256sum writes what `sha256sum -c` reads.
func TestSumsAreThoseOfSha256sum(t *testing.T) {
	blobs := store{}
	_, l := small(t, blobs)
	for _, part := range []int64{0, 400_000} {
		dir := t.TempDir()
		if _, err := build(t.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz"), PartSize: part, Sums: true},
			blobs, 1); err != nil {
			t.Fatal(err)
		}
		files := contents(t, dir)
		lines := strings.Split(strings.TrimSpace(string(files["b.tar.gz.sha256"])), "\n")
		if len(lines) != len(files)-1 {
			t.Errorf("%d lines for %d files", len(lines), len(files)-1)
		}
		for _, line := range lines {
			sum, name, _ := strings.Cut(line, "  ")
			if h := sha256.Sum256(files[name]); hex.EncodeToString(h[:]) != sum {
				t.Errorf("%q", line)
			}
		}
	}
}

func TestTwoBuildsOfOneBundle(t *testing.T) {
	dir, blobs := t.TempDir(), store{}
	members, l := small(t, blobs)
	want, _ := reference(t, members, time.Time{}, blobs)
	o := Options{Path: filepath.Join(dir, "b.tar.gz")}
	first, err := Create(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Abort()
	for _, part := range []int64{0, 1 << 20} {
		_, err := Create(t.Context(), l, Options{Path: o.Path, PartSize: part})
		if f := wantFault(t, err, "pack.busy", event.ClassLocked); f.Args["file"] != o.Path {
			t.Error(f.Args)
		}
	}
	for _, b := range l.Stored() {
		s, _ := first.Sink(b.SHA256)
		if err := feed(rand.New(rand.NewPCG(1, 1)), s, blobs[b.SHA256]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Finish(t.Context(), blobs.open); err != nil {
		t.Fatal(err)
	}
	if got, _ := whole(t, dir); !bytes.Equal(got, want) {
		t.Error("the first build was disturbed")
	}
	if _, err := build(t.Context(), l, o, blobs, 1); err != nil {
		t.Errorf("the lock is still held: %v", err)
	}
}

// old puts a finished bundle in place and gives a check that it is still there, alone.
func old(t *testing.T, path string) func() {
	t.Helper()
	if err := os.WriteFile(path, []byte("the bundle of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		files := contents(t, filepath.Dir(path))
		if string(files[filepath.Base(path)]) != "the bundle of yesterday" || len(files) != 1 {
			t.Errorf("%d files, the old bundle has %d bytes", len(files), len(files[filepath.Base(path)]))
		}
	}
}

// TestAFileSystemWithSmallFiles is FAT without its size: a limit of this process's files.
func TestAFileSystemWithSmallFiles(t *testing.T) {
	for name, limit := range map[string]string{"for the stored part": "500000", "for what is compressed": "1120000"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "b.tar.gz")
			check := old(t, path)
			out, err := again(t, path, limit).CombinedOutput()
			if err != nil || string(out) != "pack.too-large" {
				t.Errorf("%v %s", err, out)
			}
			check()
		})
	}
}

// tmpfs mounts a small file system.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a tmpfs cannot be mounted (that takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestNoRoomIsToldBeforeAnythingIsFetched(t *testing.T) {
	dir, blobs := tmpfs(t, "1m"), store{}
	_, l := small(t, blobs)
	path := filepath.Join(dir, "b.tar.gz")
	check := old(t, path)
	_, err := Create(t.Context(), l, Options{Path: path})
	f := wantFault(t, err, "pack.no-space", event.ClassFailed)
	if f.Args["needed"] != "2.6 MB" || f.Args["free"] != "1.0 MB" {
		t.Error(f.Args)
	}
	check()
}

// TestTheDiskBecomesFull: what is compressed does not shrink as expected, so that the room that was there at the
// beginning is not enough.
func TestTheDiskBecomesFull(t *testing.T) {
	dir, blobs := tmpfs(t, "6m"), store{}
	r := rand.New(rand.NewPCG(1, 1))
	l, err := Plan([]Member{
		{Path: "p.deb", Stored: true, Parts: []Part{blobs.put(noise(r, 1<<20))}},
		{Path: "noise", Parts: []Part{blobs.put(noise(r, 6<<20))}},
	}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "b.tar.gz")
	check := old(t, path)
	_, err = build(t.Context(), l, Options{Path: path}, blobs, 1)
	wantFault(t, err, "pack.disk-full", event.ClassFailed)
	check()
}

func TestWhatCannotBeWritten(t *testing.T) {
	blobs := store{}
	_, l := small(t, blobs)
	for name, prepare := range map[string]func(dir string) error{
		"no directory":              os.Remove,
		"a directory with its name": func(dir string) error { return os.Mkdir(filepath.Join(dir, "b.tar.gz"), 0o755) },
		"a fifo": func(dir string) error {
			return unix.Mkfifo(filepath.Join(dir, "b.tar.gz.part"), 0o600)
		},
		"a link": func(dir string) error { return os.Symlink("/etc/hostname", filepath.Join(dir, "b.tar.gz.part")) },
	} {
		dir := filepath.Join(t.TempDir(), "out")
		_ = os.Mkdir(dir, 0o755)
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Create(t.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz")})
		t.Log(name)
		wantFault(t, err, "pack.write", event.ClassFailed)
	}
	_, err := build(t.Context(), l, Options{Path: filepath.Join(t.TempDir(), "b.tar.gz"), PartSize: 1000}, blobs, 1)
	wantFault(t, err, "pack.parts", event.ClassFailed)
}

// TestCancelledAnywhere: nothing is left and nothing hangs, wherever the context ends.
func TestCancelledAnywhere(t *testing.T) {
	blobs := store{}
	_, l := small(t, blobs)
	for name, run := range map[string]func(ctx context.Context, cancel func(), path string) error{
		"before": func(ctx context.Context, cancel func(), path string) error {
			cancel()
			_, err := Create(ctx, l, Options{Path: path})
			return err
		},
		"while a blob comes": func(ctx context.Context, cancel func(), path string) error {
			w, err := Create(ctx, l, Options{Path: path, Sums: true})
			if err != nil {
				return err
			}
			defer w.Abort()
			b := l.Stored()[1]
			s, _ := w.Sink(b.SHA256)
			_, _ = s.Write(blobs[b.SHA256][:100])
			cancel()
			<-w.dead
			_, err = s.Write(blobs[b.SHA256][100:])
			if !errors.Is(s.Reset(), context.Canceled) || !errors.Is(s.Close(), context.Canceled) {
				t.Error("the sink goes on")
			}
			return err
		},
		"while Finish waits for a sink": func(ctx context.Context, cancel func(), path string) error {
			w, err := Create(context.Background(), l, Options{Path: path, Sums: true})
			if err != nil {
				return err
			}
			defer w.Abort()
			_, err = w.Finish(ctx, func(ctx context.Context, sum string) (io.ReadCloser, error) {
				cancel()
				return blobs.open(ctx, sum)
			})
			return err
		},
		"while a blob of the tail is waited for": func(ctx context.Context, cancel func(), path string) error {
			w, err := Create(ctx, l, Options{Path: path, PartSize: 900_000})
			if err != nil {
				return err
			}
			defer w.Abort()
			_, err = w.Finish(context.Background(), func(ctx context.Context, _ string) (io.ReadCloser, error) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			})
			return err
		},
		"in the end": func(ctx context.Context, cancel func(), path string) error {
			_, err := build(ctx, l, Options{Path: path, Sums: true, Progress: func(done, total int64) {
				if done == total {
					cancel()
				}
			}}, blobs, 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "b.tar.gz")
			check := old(t, path)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := run(ctx, cancel, path); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			check()
		})
	}
}

// TestGivenUp: Abort from another goroutine ends a Finish that waits.
func TestGivenUp(t *testing.T) {
	blobs := store{}
	_, l := small(t, blobs)
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	check := old(t, path)
	w, err := Create(t.Context(), l, Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Finish(t.Context(), func(ctx context.Context, sum string) (io.ReadCloser, error) {
		go w.Abort()
		return blobs.open(ctx, sum)
	})
	if !errors.Is(err, errAborted) {
		t.Error(err)
	}
	w.Abort()
	check()
}
