package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote"
)

// sshd starts OpenSSH's server at a port of its own, for root with a key, and returns the way in.
func sshd(t testing.TB, config string) (remote.Target, remote.Options) {
	t.Helper()
	const bin = "/usr/sbin/sshd"
	if _, err := os.Stat(bin); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and ", bin)
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	// ECDSA beside it, which the client would rather have: known_hosts has only the other one.
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", filepath.Join(dir, "ecdsa")).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	file := filepath.Join(dir, "sshd_config")
	// The first value of an option counts, so the test's own stand before the common ones.
	text := fmt.Sprintf("%[3]s\nListenAddress 127.0.0.1:%[1]d\nHostKey %[2]s/ecdsa\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/user.pub\n"+
		"PidFile none\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n", port, dir, config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(bin, "-D", "-e", "-f", file)
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	addr := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	for end := time.Now().Add(10 * time.Second); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	pub, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey(pub); err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(known, fmt.Appendf(nil, "[127.0.0.1]:%d %s", port, pub), 0o600); err != nil {
		t.Fatal(err)
	}
	return remote.Target{Name: "n1", Addr: "127.0.0.1", Port: port, Keys: []string{filepath.Join(dir, "user")}},
		remote.Options{KnownHosts: known, LockFile: filepath.Join(dir, "lock"), Timeouts: remote.Timeouts{Kill: 10 * time.Second, Reconnect: time.Minute}}
}

// Of a node that is not known the ed25519 key is taken, as ssh itself does, though the server has others that the library would rather have.
func TestTheKeyOfAnUnknownNodeIsTheOneThatOpenSSHShows(t *testing.T) {
	for _, p := range []remote.Policy{remote.AcceptNew, remote.Ask} {
		tg, o := sshd(t, "")
		known, err := os.ReadFile(o.KnownHosts)
		if err != nil {
			t.Fatal(err)
		}
		o.KnownHosts, o.HostKeys = filepath.Join(t.TempDir(), "known_hosts"), p
		o.Ask = func(_ context.Context, q remote.HostKeyQuestion) (bool, error) {
			if q.Type != "ssh-ed25519" {
				t.Errorf("asked about %+v", q)
			}
			return true, nil
		}
		dial(t, tg, o)
		got, err := os.ReadFile(o.KnownHosts)
		if f := bytes.Fields(known); err != nil || !bytes.Contains(got, bytes.Join(f[1:3], []byte(" "))) {
			t.Errorf("%s: %v %s, want %s", p, err, got, known)
		}
	}
}

// OpenSSH's own server, with a known_hosts that has only the second of its keys.
func TestSSHD(t *testing.T) {
	for _, config := range []string{"", "MaxSessions 1"} {
		t.Run("with "+config, func(t *testing.T) {
			tg, o := sshd(t, config)
			h := dial(t, tg, o)
			if err := h.Lock(limit(t), "me"); err != nil {
				t.Fatal(err)
			}
			r, err := h.Run(limit(t), remote.Command{Script: `cat; id -u; exit 3`, Stdin: []byte("in\n")})
			if err != nil || string(r.Stdout) != "in\n0\n" || r.Status != 3 {
				t.Fatalf("%q %q %d %v", r.Stdout, r.Stderr, r.Status, err)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if _, err := h.Upload(limit(t), upload(path, content(5<<20))); err != nil {
				t.Fatal(err)
			}
			wantFile(t, path, content(5<<20), 0o640)
			file := filepath.Join(dir, "pid")
			got := make(chan error, 1)
			go func() {
				_, err := h.Run(limit(t), remote.Command{Script: `sh -c 'echo $$ >"$F"; exec sleep 1000'`, Env: map[string]string{"F": file}})
				got <- err
			}()
			pid := pidIn(t, file)
			_ = h.Close()
			if err := <-got; err == nil {
				t.Error("no error")
			}
			eventually(t, "the remote process ends", func() bool { return gone(pid) })
			eventually(t, "the lock is free", func() bool { return !exists(o.LockFile) })
		})
	}
	t.Run("with a command of its own", func(t *testing.T) {
		tg, o := sshd(t, "ForceCommand echo for backups only")
		_, err := remote.Dial(limit(t), tg, o)
		if f := wantFault(t, err, "ssh.no-shell"); !strings.Contains(f.Cause, "backups") {
			t.Errorf("%q", f.Cause)
		}
	})
}

func BenchmarkSSHDRun(b *testing.B) {
	tg, o := sshd(b, "")
	h := dial(b, tg, o)
	for b.Loop() {
		run(b, h, "echo hi")
	}
}

func BenchmarkSSHDUpload(b *testing.B) {
	tg, o := sshd(b, "")
	h := dial(b, tg, o)
	data := content(128 << 20)
	path := filepath.Join(b.TempDir(), "f")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_ = os.Remove(path)
		if _, err := h.Upload(limit(b), upload(path, data)); err != nil {
			b.Fatal(err)
		}
	}
}
