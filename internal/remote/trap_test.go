package remote_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// key makes a key pair; passphrase "" leaves it unencrypted.
func key(t *testing.T, passphrase string) (file string, pub ssh.PublicKey, priv ed25519.PrivateKey) {
	t.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(priv, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return file, signer.PublicKey(), priv
}

func TestLogin(t *testing.T) {
	plain, pub, _ := key(t, "")
	locked, lockedPub, _ := key(t, "open sesame")
	_, agentPub, agentKey := key(t, "")
	sock := filepath.Join(t.TempDir(), "agent")
	serveAgent(t, sock, agentKey)
	t.Setenv("SSH_AUTH_SOCK", sock)
	say := func(p string) func(context.Context, string) (string, error) {
		return func(context.Context, string) (string, error) { return p, nil }
	}
	for file, bad := range map[string]bool{plain: false, locked: false, "/nonexistent": true, t.TempDir(): true,
		"trap_test.go": true} {
		if err := remote.CheckKey(file); (err != nil) != bad {
			t.Errorf("the key %s: %v", file, err)
		}
	}
	for _, c := range []struct {
		name   string
		server []remotetest.Option
		target remote.Target
		code   string // "" for success
		class  event.Class
		cause  string
	}{
		{name: "password", target: remote.Target{Password: "secret"}},
		{name: "keyboard-interactive", server: []remotetest.Option{remotetest.WithKeyboard()},
			target: remote.Target{Password: "secret"}},
		{name: "key", server: []remotetest.Option{remotetest.WithKey(pub)},
			target: remote.Target{Keys: []string{plain}}},
		{name: "the second key", server: []remotetest.Option{remotetest.WithKey(lockedPub)},
			target: remote.Target{Keys: []string{plain, locked}, Passphrase: say("open sesame")}},
		{name: "agent", server: []remotetest.Option{remotetest.WithKey(agentPub)},
			target: remote.Target{Agent: remote.AgentOffers}},
		{name: "an agent that only holds named keys", server: []remotetest.Option{remotetest.WithKey(agentPub)},
			target: remote.Target{Agent: remote.AgentHolds}, code: "ssh.no-credentials", class: event.ClassAuth},
		{name: "a key that is not let in, then the password", server: []remotetest.Option{remotetest.WithKey(pub)},
			target: remote.Target{Keys: []string{locked}, Passphrase: say("open sesame"), Password: "secret"}},
		{name: "wrong password", target: remote.Target{Password: "wrong"}, code: "ssh.auth", class: event.ClassAuth},
		{name: "wrong key", server: []remotetest.Option{remotetest.WithKey(lockedPub)},
			target: remote.Target{Keys: []string{plain}}, code: "ssh.auth", class: event.ClassAuth},
		{name: "passwords are not taken", server: []remotetest.Option{remotetest.WithKey(pub),
			remotetest.WithoutPasswords()},
			target: remote.Target{Password: "secret"}, code: "ssh.no-password-login", class: event.ClassAuth},
		{name: "passwords are not taken, nor is the key",
			server: []remotetest.Option{remotetest.WithKey(lockedPub), remotetest.WithoutPasswords()},
			target: remote.Target{Keys: []string{plain}, Password: "secret"}, code: "ssh.no-password-login",
			class: event.ClassAuth},
		{name: "keys are not taken", target: remote.Target{Keys: []string{plain}}, code: "ssh.no-key-login",
			class: event.ClassAuth},
		{name: "wrong passphrase", target: remote.Target{Keys: []string{locked}, Passphrase: say("no")},
			code: "ssh.key-file", class: event.ClassAuth},
		{name: "nobody knows the passphrase", target: remote.Target{Keys: []string{locked}}, code: "ssh.key-file",
			class: event.ClassAuth},
		{name: "no such key", target: remote.Target{Keys: []string{"/nonexistent"}}, code: "ssh.key-missing",
			class: event.ClassAuth},
		{name: "nothing to log in with", code: "ssh.no-credentials", class: event.ClassAuth},
		{name: "a port that is silent", server: []remotetest.Option{remotetest.WithNoAnswer()},
			target: remote.Target{Password: "secret"},
			code:   "ssh.handshake-timeout", class: event.ClassFailed},
		{name: "a port that is something else",
			server: []remotetest.Option{remotetest.WithBanner("HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat("x",
				70000))},
			target: remote.Target{Password: "secret"}, code: "ssh.not-ssh", class: event.ClassFailed},
		{name: "a port that hangs up", server: []remotetest.Option{remotetest.WithBanner("\n")},
			target: remote.Target{Password: "secret"},
			code:   "ssh.handshake", class: event.ClassFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := remotetest.New(t, c.server...)
			o := options(t, s)
			if c.code == "ssh.handshake-timeout" {
				o.Timeouts.Handshake = 100 * time.Millisecond
			}
			tg := c.target
			tg.Name, tg.Addr, tg.Port = "n1", s.IP, s.Port
			h, err := remote.Dial(limit(t), tg, o)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = h.Close()
				return
			}
			f := wantFault(t, err, c.code)
			if f.Class != c.class {
				t.Errorf("class %s", f.Class)
			}
			if strings.Contains(f.Error()+f.Args["tried"], "wrong\"") || strings.Contains(f.Error(), "secret") {
				t.Errorf("a secret is in %v", f)
			}
			if c.name == "wrong password" && s.PasswordTries() != 1 {
				t.Errorf("the password was tried %d times", s.PasswordTries())
			}
			if c.code == "ssh.auth" && f.Args["tried"] == "none" {
				t.Error("it does not say what was tried")
			}
		})
	}
}

func serveAgent(t *testing.T, sock string, keys ...ed25519.PrivateKey) {
	ring := agent.NewKeyring()
	for i := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: &keys[i]}); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c)
				_ = c.Close()
			}()
		}
	}()
}

func TestNobodyThere(t *testing.T) {
	s := remotetest.New(t)
	s.Down()
	_, err := remote.Dial(limit(t), target(s), options(t, s))
	if f := wantFault(t, err, "ssh.connect-refused"); !f.Retry {
		t.Error("not worth another try")
	}
	o := options(t, s)
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	o.Timeouts.Connect = 20 * time.Millisecond
	_, err = remote.Dial(limit(t), target(s), o)
	wantFault(t, err, "ssh.timeout")
	ctx, cancel := context.WithCancel(limit(t))
	o.Timeouts.Connect = time.Minute
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = remote.Dial(ctx, target(s), o)
	wantFault(t, err, "ssh.cancelled")
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	yes := func(context.Context, remote.HostKeyQuestion) (bool, error) { return true, nil }
	no := func(context.Context, remote.HostKeyQuestion) (bool, error) { return false, nil }
	for _, c := range []struct {
		name   string
		policy remote.Policy
		ask    func(context.Context, remote.HostKeyQuestion) (bool, error)
		code   string
		kept   bool // the key is in the file afterwards
	}{
		{"strict", remote.Strict, yes, "ssh.hostkey-unknown", false},
		{"unset is strict", "", yes, "ssh.hostkey-unknown", false},
		{"accept-new", remote.AcceptNew, no, "", true},
		{"ask, yes", remote.Ask, yes, "", true},
		{"ask, no", remote.Ask, no, "ssh.hostkey-unknown", false},
		{"ask, nobody there", remote.Ask, nil, "ssh.hostkey-unknown", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := remotetest.New(t)
			o := options(t, s)
			o.HostKeys = c.policy
			var asked []remote.HostKeyQuestion
			if c.ask != nil {
				o.Ask = func(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
					asked = append(asked, q)
					return c.ask(ctx, q)
				}
			}
			finger := ssh.FingerprintSHA256(s.HostKey())
			h, err := remote.Dial(limit(t), target(s), o)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = h.Close()
			} else if f := wantFault(t, err, c.code); f.Class != event.ClassAuth || f.Retry ||
				f.Args["fingerprint"] != finger || f.Args["file"] != o.KnownHosts {
				t.Errorf("%+v", f)
			}
			if c.policy == remote.Ask && c.ask != nil {
				want := []remote.HostKeyQuestion{{Node: "n1", Addr: s.Addr, Type: "ssh-ed25519", Fingerprint: finger}}
				if diff := cmp.Diff(want, asked); diff != "" {
					t.Error(diff)
				}
			} else if len(asked) > 0 {
				t.Error("asked")
			}
			st, err := os.Stat(o.KnownHosts)
			if c.kept != (err == nil) || err == nil && st.Mode().Perm() != 0o600 {
				t.Errorf("the file: %v %v", st, err)
			}
			if !c.kept {
				return
			}
			// From now on it is known, whoever asks, and another key is refused under every policy.
			o.HostKeys, o.Ask = remote.Strict, nil
			dial(t, target(s), o)
			s.ChangeHostKey()
			before := s.Connections()
			for _, p := range []remote.Policy{remote.Strict, remote.AcceptNew, remote.Ask} {
				o.HostKeys, o.Ask = p, yes
				_, err = remote.Dial(limit(t), target(s), o)
				f := wantFault(t, err, "ssh.hostkey-changed")
				if f.Retry || f.Class != event.ClassAuth ||
					f.Args["fingerprint"] != ssh.FingerprintSHA256(s.HostKey()) ||
					!strings.Contains(f.Args["known"], finger) || f.Args["line"] != o.KnownHosts+":1" {
					t.Errorf("%+v", f)
				}
			}
			if n := s.Connections() - before; n != 3 {
				t.Errorf("%d connections for three tries", n)
			}
		})
	}
	t.Run("a directory", func(t *testing.T) {
		s := remotetest.New(t)
		o := options(t, s)
		o.KnownHosts = t.TempDir()
		_, err := remote.Dial(limit(t), target(s), o)
		wantFault(t, err, "ssh.known-hosts")
	})
	t.Run("many at once lose nothing", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "known_hosts")
		got := make(chan error, 6)
		for range cap(got) {
			s := remotetest.New(t)
			o := options(t, s)
			o.KnownHosts = file
			go func() {
				h, err := remote.Dial(limit(t), target(s), o)
				if err == nil {
					_ = h.Close()
				}
				got <- err
			}()
		}
		for range cap(got) {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
		b, err := os.ReadFile(file)
		if n := strings.Count(string(b), "\n"); err != nil || n != cap(got) {
			t.Errorf("%d lines, %v", n, err)
		}
	})
}

func TestSudo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sudo  remotetest.Sudo
		give  string // the sudo password; "" means that of the login
		login string
		code  string
		typed []string
	}{
		{name: "with a password", sudo: remotetest.Sudo{Password: "sudo-pw"}, give: "sudo-pw",
			typed: []string{"sudo-pw"}},
		{name: "the login's password", sudo: remotetest.Sudo{Password: "secret"}, typed: []string{"secret"}},
		{name: "without one", sudo: remotetest.Sudo{}, give: "sudo-pw"},
		{name: "with a lecture", sudo: remotetest.Sudo{Password: "sudo-pw",
			Lecture: "We trust you.\n[sudo] password for op: \n"}, give: "sudo-pw", typed: []string{"sudo-pw"}},
		{name: "wrong", sudo: remotetest.Sudo{Password: "sudo-pw"}, give: "wrong", code: "ssh.sudo-password",
			typed: []string{"wrong"}},
		{name: "wrong, and sudo gives one try", sudo: remotetest.Sudo{Password: "sudo-pw", Tries: 1}, give: "wrong",
			code: "ssh.sudo-password", typed: []string{"wrong"}},
		{name: "not allowed", sudo: remotetest.Sudo{Password: "sudo-pw", Refuse: "op is not in the sudoers file."},
			give: "sudo-pw",
			code: "ssh.sudo-not-allowed", typed: []string{"sudo-pw"}},
		{name: "wants a terminal", sudo: remotetest.Sudo{Refuse: "sudo: sorry, you must have a tty to run sudo"},
			give: "sudo-pw", code: "ssh.sudo-not-allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithUser("op", "secret"), remotetest.WithSudo(c.sudo))
			tg := target(s)
			tg.User, tg.SudoPassword = "op", c.give
			h, err := remote.Dial(limit(t), tg, options(t, s))
			if c.code != "" {
				if f := wantFault(t, err, c.code); f.Retry || f.Class != event.ClassAuth {
					t.Errorf("%+v", f)
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = h.Close() }()
				// A command that reads its input and asks like sudo gets nothing.
				r := run(t, h, `printf '[sudo] password for op: ' >&2; cat; read x; echo "got:$x"; env; set`)
				if all := string(r.Stdout) + string(r.Stderr); strings.Contains(all, "sudo-pw") ||
					!strings.Contains(all, "got:\n") {
					t.Errorf("%s", all)
				}
			}
			if diff := cmp.Diff(c.typed, s.SudoPasswords()); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("no password to give", func(t *testing.T) {
		file, pub, _ := key(t, "")
		s := remotetest.New(t, remotetest.WithUser("op", ""), remotetest.WithKey(pub),
			remotetest.WithSudo(remotetest.Sudo{Password: "x"}))
		tg := target(s)
		tg.User, tg.Password, tg.Keys = "op", "", []string{file}
		_, err := remote.Dial(limit(t), tg, options(t, s))
		wantFault(t, err, "ssh.sudo-password-needed")
		if typed := s.SudoPasswords(); len(typed) > 0 {
			t.Errorf("typed %q", typed)
		}
	})
	t.Run("no sudo there", func(t *testing.T) {
		s := remotetest.New(t, remotetest.WithUser("op", "secret"), remotetest.WithEnv("PATH="+t.TempDir()),
			remotetest.WithLoginShell("/bin/sh"))
		tg := target(s)
		tg.User = "op"
		_, err := remote.Dial(limit(t), tg, options(t, s))
		wantFault(t, err, "ssh.sudo-not-allowed")
	})
}

// Login shells and their start files are as people leave them.
func TestShellsAsTheyAre(t *testing.T) {
	t.Parallel()
	bashrc := "echo welcome; echo 'warning: x' >&2; set -x\n"
	tracing := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(tracing, []byte(bashrc), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opts []remotetest.Option
	}{
		{"a chatty one", []remotetest.Option{remotetest.WithNoise(strings.Repeat("motd of the day\n", 20_000))}},
		{"one that ends no line", []remotetest.Option{remotetest.WithNoise("hello")}},
		{"one that traces", []remotetest.Option{remotetest.WithLoginShell("/bin/bash"),
			remotetest.WithEnv("BASH_ENV=" + tracing)}},
		{"a slow one", []remotetest.Option{remotetest.WithDelay(300 * time.Millisecond)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := remotetest.New(t, append(c.opts, remotetest.WithUser("op", "secret"),
				remotetest.WithSudo(remotetest.Sudo{Password: "pw"}))...)
			tg := target(s)
			tg.User, tg.SudoPassword = "op", "pw"
			h := dial(t, tg, options(t, s))
			if r := run(t, h, "echo clean"); string(r.Stdout) != "clean\n" || len(r.Stderr) > 0 {
				t.Errorf("%q %q", r.Stdout, r.Stderr)
			}
			if typed := s.SudoPasswords(); len(typed) != 1 {
				t.Errorf("typed %q", typed)
			}
		})
	}
	t.Run("one that runs something else", func(t *testing.T) {
		s := remotetest.New(t, remotetest.WithLoginShell("/bin/sh", "-c",
			"echo This account is for backups only. >&2; exit 1"))
		_, err := remote.Dial(limit(t), target(s), options(t, s))
		if f := wantFault(t, err, "ssh.no-shell"); f.Cause != "This account is for backups only." {
			t.Errorf("%q", f.Cause)
		}
	})
	t.Run("one that hangs", func(t *testing.T) {
		s := remotetest.New(t, remotetest.WithLoginShell("/bin/sh", "-c",
			"echo Choose a terminal type: ; exec cat >/dev/null"))
		o := options(t, s)
		// The limit has to be long enough for the words, which a busy machine takes its time for.
		for o.Timeouts.Start = 100 * time.Millisecond; ; o.Timeouts.Start *= 2 {
			_, err := remote.Dial(limit(t), target(s), o)
			f := wantFault(t, err, "ssh.session-timeout")
			if strings.Contains(f.Cause, "terminal type") {
				break
			}
			if f.Cause != "" && !strings.HasSuffix(f.Cause, "did not start in time") {
				t.Fatalf("%q", f.Cause)
			}
		}
	})
}

func TestForward(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	s := remotetest.New(t)
	h := dial(t, target(s), options(t, s))
	c, err := h.Dial(limit(t), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "ping"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "ping" {
		t.Fatalf("%q %v", buf, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := c.Read(buf); err == nil {
		t.Error("the deadline was not kept")
	}
	_ = c.Close()
	_ = ln.Close()
	_, err = h.Dial(limit(t), "tcp", ln.Addr().String())
	wantFault(t, err, "ssh.forward-failed")
	s = remotetest.New(t, remotetest.WithoutForwarding())
	_, err = dial(t, target(s), options(t, s)).Dial(limit(t), "tcp", "127.0.0.1:1")
	wantFault(t, err, "ssh.forward-prohibited")
}

// Nothing secret stands in an argv on the node while a command runs.
func TestNothingSecretInArgv(t *testing.T) {
	s := remotetest.New(t, remotetest.WithUser("op", "secret"),
		remotetest.WithSudo(remotetest.Sudo{Password: "pw-in-argv"}))
	tg := target(s)
	tg.User, tg.SudoPassword = "op", "pw-in-argv"
	h := dial(t, tg, options(t, s))
	r, err := h.Run(limit(t),
		shell.Command{Script: `: script-in-argv; for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f; done 2>/dev/null`,
			Env: map[string]string{"TOKEN": "token-in-argv"}, Stdin: []byte("stdin-in-argv"), Quiet: true})
	if err != nil || len(r.Stdout) == 0 {
		t.Fatal(err)
	}
	for _, secret := range []string{"pw-in-argv", "script-in-argv", "token-in-argv", "stdin-in-argv"} {
		if strings.Contains(string(r.Stdout), secret) {
			t.Errorf("%s is there", secret)
		}
	}
}

func TestClosed(t *testing.T) {
	s := remotetest.New(t)
	h := dial(t, target(s), options(t, s))
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := h.Run(limit(t), shell.Command{Script: "echo"})
	wantFault(t, err, "ssh.closed")
	eventually(t, "the node's session ends", func() bool { return len(s.Pids()) == 0 })
	if left, _ := filepath.Glob(filepath.Join(s.Root, "tmp", "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
