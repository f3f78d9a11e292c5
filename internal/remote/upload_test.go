package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// content is n bytes that are the same in every run.
func content(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

func upload(path string, b []byte) shell.Upload {
	return shell.Upload{Path: path, Mode: 0o640, Size: int64(len(b)), SHA256: sum(b), What: "x",
		Open: func() (io.ReadSeekCloser, error) { return memory{bytes.NewReader(b)}, nil }}
}

func wantFile(t *testing.T, file string, want []byte, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s has %d bytes of %d, or others; %v", file, len(got), len(want), err)
	}
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != mode {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithPath(dir))
			ev := &heard{}
			o := options(t, s)
			o.Emit = ev.emit
			h := dial(t, target(s), o)
			for _, n := range []int{0, 1, 4096, 1<<20 - 1, 1 << 20, 3<<20 + 17} {
				data := content(n)
				path := filepath.Join(s.Root, fmt.Sprintf("it's a $file %d", n))
				up := upload(path, data)
				up.What = path
				if changed, err := h.Upload(limit(t), up); err != nil || !changed {
					t.Fatalf("%d: %v %v", n, changed, err)
				}
				wantFile(t, path, data, 0o640)
				before := s.Received()
				if changed, err := h.Upload(limit(t), up); err != nil || changed {
					t.Fatalf("again: %v %v", changed, err)
				}
				if sent := s.Received() - before; sent > 4096 {
					t.Errorf("again: %d bytes were sent", sent)
				}
				up.Mode = 0o600
				if changed, err := h.Upload(limit(t), up); err != nil || !changed {
					t.Fatalf("another mode: %v %v", changed, err)
				}
				wantFile(t, path, data, 0o600)
				up = upload(path, append(data, 'x'))
				if changed, err := h.Upload(limit(t), up); err != nil || !changed {
					t.Fatalf("another content: %v %v", changed, err)
				}
				wantFile(t, path, append(data, 'x'), 0o640)
			}
			var last event.Progress
			for _, e := range ev.all() {
				if p, ok := e.(event.Progress); ok {
					if p.What == last.What && p.Total == last.Total && p.Done < last.Done && p.Done > 0 {
						t.Errorf("back from %d to %d", last.Done, p.Done)
					}
					last = p
				}
			}
			if last.Done != last.Total || last.Total != 3<<20+18 {
				t.Errorf("the last progress is %+v", last)
			}
			if s.Sessions() != 2 {
				t.Errorf("%d sessions", s.Sessions())
			}
		})
	}
}

func TestUploadThroughSudo(t *testing.T) {
	s := remotetest.New(t, remotetest.WithUser("op", "secret"), remotetest.WithSudo(remotetest.Sudo{Password: "pw"}))
	tg := target(s)
	tg.User, tg.SudoPassword = "op", "pw"
	h := dial(t, tg, options(t, s))
	path := filepath.Join(s.Root, "f")
	if _, err := h.Upload(limit(t), upload(path, content(100_000))); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, content(100_000), 0o640)
	if typed := s.SudoPasswords(); len(typed) != 2 {
		t.Errorf("typed %q", typed)
	}
}

// With one session allowed, uploads and scripts take turns in it.
func TestOneSessionOnly(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t, remotetest.WithMaxSessions(1))
	h := dial(t, target(s), options(t, s))
	got := make(chan error, 1)
	path := filepath.Join(s.Root, "f")
	go func() {
		_, err := h.Upload(limit(t), upload(path, content(3<<20)))
		got <- err
	}()
	for range 5 {
		if r := run(t, h, "echo hi"); string(r.Stdout) != "hi\n" {
			t.Errorf("%q", r.Stdout)
		}
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, content(3<<20), 0o640)
	if s.Sessions() != 1 {
		t.Errorf("%d sessions", s.Sessions())
	}
}

// Wherever it breaks, an upload goes on there, and what was written is not sent again.
func TestUploadResumes(t *testing.T) {
	t.Parallel()
	const size, chunk = 8 << 20, 1 << 20
	data := content(size)
	for eighth := range 8 {
		t.Run(fmt.Sprint(eighth), func(t *testing.T) {
			s := remotetest.New(t)
			o := options(t, s)
			ctx := moving(t, &o)
			h := dial(t, target(s), o)
			path := filepath.Join(s.Root, "f")
			at := int64(size/8*eighth + 12_345)
			// What reaches a node that has not begun to write is sent again as a whole.
			s.CloseAfterWhen(at, func() bool { return locked(path + ".eggo-part") })
			_, err := h.Upload(ctx, upload(path, data))
			if f := wantFault(t, err, "ssh.lost"); !f.Retry {
				t.Error("not worth another try")
			}
			if exists(path) {
				t.Error("half a file is in its place")
			}
			s.Heal()
			before := s.Received()
			changed, err := h.Upload(ctx, upload(path, data))
			if err != nil || !changed {
				t.Fatal(changed, err)
			}
			wantFile(t, path, data, 0o640)
			again := s.Received() - before - (size - at)
			t.Logf("%d bytes sent again, texts of the agent included", again)
			if again > chunk {
				t.Errorf("%d bytes were sent again", again)
			}
			if s.Connections() != 2 {
				t.Errorf("%d connections", s.Connections())
			}
		})
	}
}

// locked says whether some process has the lock of a file.
func locked(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// A beginning that is not the file's is thrown away.
func TestUploadDistrustsWhatIsThere(t *testing.T) {
	t.Parallel()
	data := content(2 << 20)
	for name, part := range map[string][]byte{
		"other bytes": make([]byte, 1<<20), "too long": make([]byte, 3<<20), "whole": data,
		"whole but wrong": make([]byte, 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t)
			h := dial(t, target(s), options(t, s))
			path := filepath.Join(s.Root, "f")
			if err := os.WriteFile(path+".eggo-part", part, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Upload(limit(t), upload(path, data)); err != nil {
				t.Fatal(err)
			}
			wantFile(t, path, data, 0o640)
		})
	}
	t.Run("a link to somewhere else", func(t *testing.T) {
		s := remotetest.New(t)
		h := dial(t, target(s), options(t, s))
		path, victim := filepath.Join(s.Root, "f"), filepath.Join(s.Root, "victim")
		if err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, path+".eggo-part"),
			os.Symlink(victim, path)); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Upload(limit(t), upload(path, data)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, data, 0o640)
		wantFile(t, victim, []byte("mine"), 0o600)
	})
}

func TestUploadRefused(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	h := dial(t, target(s), options(t, s))
	data := content(200_000)
	path := filepath.Join(s.Root, "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := upload(path, data)
	wrong.SHA256 = sum([]byte("something else"))
	short := upload(path, data)
	short.Size++
	broken := upload(path, data)
	broken.Open = func() (io.ReadSeekCloser, error) { return nil, errors.New("no such file") }
	for _, c := range []struct {
		name, code string
		up         shell.Upload
	}{
		{"another sum", "ssh.upload-sum", wrong},
		{"a source that ends early", "ssh.upload-source", short},
		{"no source", "ssh.upload-source", broken},
		{"no directory", "ssh.upload-dir", upload(filepath.Join(s.Root, "none", "f"), data)},
		{"a directory", "ssh.upload-isdir", upload(s.Root, data)},
		{"no absolute path", "ssh.bad-command", upload("f", data)},
		{"where nobody can write", "ssh.upload-failed", upload("/proc/f", data)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Upload(limit(t), c.up)
			f := wantFault(t, err, c.code)
			if f.Retry {
				t.Error("another try would not help")
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
				t.Errorf("the file that was there is %q now, %v", b, err)
			}
			if c.code == "ssh.upload-sum" && exists(path+".eggo-part") {
				t.Error("the wrong file was left there")
			}
		})
	}
	if r := run(t, h, "echo still"); string(r.Stdout) != "still\n" {
		t.Errorf("%q", r.Stdout)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	path := filepath.Join(dir, "f")
	t.Run("known before", func(t *testing.T) {
		s := remotetest.New(t)
		h := dial(t, target(s), options(t, s))
		before := s.Received()
		_, err := h.Upload(limit(t), upload(path, content(3<<20)))
		f := wantFault(t, err, "ssh.disk-full")
		if f.Args["need"] != "3.0 MiB" || f.Args["free"] != "2.0 MiB" || f.Retry {
			t.Errorf("%+v", f)
		}
		if sent := s.Received() - before; sent > 20_000 {
			t.Errorf("%d bytes were sent", sent)
		}
	})
	t.Run("while it is written", func(t *testing.T) {
		// The df of this node promises what is not there.
		s := remotetest.New(t)
		if err := os.WriteFile(filepath.Join(s.Root, "bin", "df"),
			[]byte("#!/bin/sh\necho h; echo x 1 1 99999999 1% /\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		h := dial(t, target(s), options(t, s))
		_, err := h.Upload(limit(t), upload(path, content(3<<20)))
		f := wantFault(t, err, "ssh.disk-full")
		if f.Args["need"] != "1.0 MiB" || f.Retry {
			t.Errorf("%+v", f)
		}
		if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func TestUploadStalls(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	o.Timeouts.Progress, o.Timeouts.Kill = 300*time.Millisecond, 200*time.Millisecond
	h := dial(t, target(s), o)
	s.StallAfter(1 << 20)
	path := filepath.Join(s.Root, "f")
	data := content(16 << 20)
	_, err := h.Upload(limit(t), upload(path, data))
	if f := wantFault(t, err, "ssh.stalled"); !f.Retry {
		t.Error("not worth another try")
	}
	s.Heal()
	o.Timeouts.Progress = time.Minute
	if _, err := dial(t, target(s), o).Upload(limit(t), upload(path, data)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data, 0o640)
}

// A node whose disk takes nothing for longer than the lease keeps the upload: how long a transfer may stand still is
// said by Progress.
func TestUploadOntoADiskThatStalls(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	slow := "#!/bin/sh\nPATH=${PATH#*:}\nif [ -f /proc/self/fd/1 ]; then sleep 4; fi\nexec cat \"$@\"\n" // into a file
	if err := os.WriteFile(filepath.Join(bin, "cat"), []byte(slow), 0o755); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := remotetest.New(t, remotetest.WithPath(bin))
	o := options(t, s)
	o.Timeouts.Lease, o.Timeouts.Progress, o.Timeouts.Kill = time.Second, time.Minute, 200*time.Millisecond
	h := dial(t, target(s), o)
	path := filepath.Join(s.Root, "f")
	data := content(4 << 20)
	if _, err := h.Upload(limit(t), upload(path, data)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data, 0o640)
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("the disk did not stall: %s", took)
	}
}

func TestUploadCancelled(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	whole := moving(t, &o)
	h := dial(t, target(s), o)
	path := filepath.Join(s.Root, "f")
	data := content(4 << 20)
	ctx, cancel := context.WithCancel(whole)
	up := upload(path, data)
	up.Open = func() (io.ReadSeekCloser, error) {
		return &stopAt{memory{bytes.NewReader(data)}, 2 << 20, cancel}, nil
	}
	_, err := h.Upload(ctx, up)
	wantFault(t, err, "ssh.cancelled")
	if exists(path) {
		t.Error("half a file is in its place")
	}
	if _, err := h.Upload(whole, upload(path, data)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data, 0o640)
	if s.Connections() != 1 {
		t.Error("it took another connection")
	}
}

// stopAt cancels in the middle.
type stopAt struct {
	memory
	left   int
	cancel func()
}

func (s *stopAt) Read(p []byte) (int, error) {
	n, err := s.memory.Read(p)
	if s.left -= n; s.left <= 0 {
		s.cancel()
	}
	return n, err
}

func BenchmarkRun(b *testing.B) {
	s := remotetest.New(b)
	h := dial(b, target(s), options(b, s))
	for b.Loop() {
		if r := run(b, h, "echo hi"); r.Status != 0 {
			b.Fatal(r)
		}
	}
}

func BenchmarkUpload(b *testing.B) {
	s := remotetest.New(b)
	h := dial(b, target(s), options(b, s))
	data := content(64 << 20)
	path := filepath.Join(s.Root, "f")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_ = os.Remove(path)
		if _, err := h.Upload(limit(b), upload(path, data)); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		b.Log("without openssl")
	}
}
