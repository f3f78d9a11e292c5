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
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// sshd starts OpenSSH's server at a port of its own, for root with a key, and returns the way in.
func sshd(t testing.TB, config string) (remote.Target, remote.Options) {
	t.Helper()
	return sshdWith(t, "", config)
}

// sshdWith is sshd with passwords and a PAM of its own, if there is a directory with these.
func sshdWith(t testing.TB, accounts, config string) (remote.Target, remote.Options) {
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
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	// ECDSA beside it, which the client would rather have: known_hosts has only the other one.
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f",
		filepath.Join(dir, "ecdsa")).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "sshd_config")
	// The first value of an option counts, so the test's own stand before the common ones.
	text := fmt.Sprintf("%[2]s\nHostKey %[1]s/ecdsa\nHostKey %[1]s/host\nAuthorizedKeysFile %[1]s/user.pub\n"+
		"PidFile none\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n", dir, config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	argv := []string{bin, "-i", "-e", "-f", file}
	if accounts != "" {
		const script = `mount --bind "$0/shadow" /etc/shadow && mount --bind "$0/pam" /etc/pam.d/sshd && exec "$@"`
		argv = append([]string{"unshare", "-m", "sh", "-c", script, accounts}, argv...)
	}
	port := serveSSHD(t, filepath.Join(dir, "log"), argv...)
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
		remote.Options{KnownHosts: known, LockFile: filepath.Join(dir, "lock"), Timeouts: clocks()}
}

// serveSSHD runs a program for each connection at a port, as inetd does: the port is the test's own from the beginning,
// and there is nobody to wait for until it listens.
func serveSSHD(t testing.TB, file string, argv ...string) (port int) {
	t.Helper()
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []*os.Process
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f, err := c.(*net.TCPConn).File()
			_ = c.Close()
			if err != nil {
				t.Error(err)
				return
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, log
			err = cmd.Start()
			_ = f.Close()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			all = append(all, cmd.Process)
			mu.Unlock()
			wg.Go(func() { _ = cmd.Wait() })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, p := range all {
			_ = p.Signal(syscall.SIGTERM)
		}
		mu.Unlock()
		wg.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(file); t.Failed() {
			t.Logf("sshd: %s %v", text, err)
		}
	})
	return ln.Addr().(*net.TCPAddr).Port
}

// Of a node that is not known the ed25519 key is taken, as ssh itself does, though the server has others that the
// library would rather have.
func TestTheKeyOfAnUnknownNodeIsTheOneThatOpenSSHShows(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	for _, config := range []string{"", "MaxSessions 1"} {
		t.Run("with "+config, func(t *testing.T) {
			tg, o := sshd(t, config)
			h := dial(t, tg, o)
			if err := h.Lock(limit(t), "me"); err != nil {
				t.Fatal(err)
			}
			r, err := h.Run(limit(t), shell.Command{Script: `cat; id -u; exit 3`, Stdin: []byte("in\n")})
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
				_, err := h.Run(limit(t), shell.Command{Script: `sh -c 'echo $$ >"$F"; exec sleep 1000'`,
					Env: map[string]string{"F": file}})
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
