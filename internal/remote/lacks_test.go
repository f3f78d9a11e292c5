package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// A node that has nothing in common with us, SHA-1 or not, is not one that would be let in with it.
func TestNoAlgorithmInCommon(t *testing.T) {
	s := remotetest.New(t, remotetest.WithCiphers(ssh.InsecureCipherAES128CBC))
	for _, legacy := range []bool{false, true} {
		o := options(t, s)
		o.LegacyAlgorithms = legacy
		f := wantFault(t, dialFails(t, target(s), o), "ssh.algorithms")
		if f.Class != event.ClassAuth || f.Retry || !strings.Contains(f.Cause, "cipher") || f.Args["addr"] != s.Addr {
			t.Errorf("%+v", f)
		}
	}
}

// A name without an address, and an address without a route.
func TestNowhere(t *testing.T) {
	s := remotetest.New(t)
	for _, c := range []struct {
		addr, code string
		dialer     net.Dialer
	}{
		{addr: "no-such-node.invalid", code: "ssh.unknown-host",
			dialer: net.Dialer{Resolver: &net.Resolver{PreferGo: true,
				Dial: func(context.Context, string, string) (net.Conn,
					error) {
					return nil, errors.New("no name server")
				}}}},
		{addr: "224.0.0.1", code: "ssh.unreachable"}, // TCP has no way to a multicast address
	} {
		o, tg := options(t, s), target(s)
		o.Dialer, tg.Addr = c.dialer.DialContext, c.addr
		f := wantFault(t, dialFails(t, tg, o), c.code)
		if f.Class != event.ClassFailed || f.Cause == "" || f.Args["addr"] != fmt.Sprintf("%s:%d", c.addr, s.Port) {
			t.Errorf("%+v", f)
		}
	}
}

// stub puts a program before the node's own, as a shell script.
func stub(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		//nolint:gosec // a program
		t.Fatal(err)
	}
}

// without is a directory whose sh does not find a command.
func without(t *testing.T, command string) string {
	dir := t.TempDir()
	stub(t, dir, "sh", "command() { [ \"$2\" != "+command+
		" ] && type \"$2\" >/dev/null; }\n[ \"$1\" = -c ] || exec /bin/sh \"$@\"\neg_t=$2\nshift 2\neval \"$eg_t\"")
	return dir
}

// What is missing on a node is named: for the session, and for the lock.
func TestToolsThatTheNodeLacks(t *testing.T) {
	s := remotetest.New(t, remotetest.WithPath(without(t, "setsid")))
	if f := wantFault(t, dialFails(t, target(s), options(t, s)), "ssh.node-tools"); f.Args["tools"] != "setsid" ||
		f.Retry {
		t.Errorf("%+v", f)
	}
	s = remotetest.New(t, remotetest.WithPath(without(t, "flock")))
	if f := wantFault(t, dial(t, target(s), options(t, s)).Lock(limit(t), "me"),
		"ssh.node-tools"); f.Args["tools"] != "flock" || f.Retry {
		t.Errorf("%+v", f)
	}
}

// A node that cannot begin a command says so, and can when it has room again.
func TestANodeThatCannotBeginACommand(t *testing.T) {
	s := remotetest.New(t)
	stub(t, filepath.Join(s.Root, "bin"), "mkfifo", "exit 1")
	h := dial(t, target(s), options(t, s))
	_, err := h.Run(limit(t), shell.Command{Script: "echo never"})
	if f := wantFault(t, err, "ssh.node-resources"); !f.Retry {
		t.Errorf("%+v", f)
	}
	if err := os.Remove(filepath.Join(s.Root, "bin", "mkfifo")); err != nil {
		t.Fatal(err)
	}
	if r := run(t, h, "echo again"); string(r.Stdout) != "again\n" {
		t.Errorf("%q", r.Stdout)
	}
}

// Another transfer writes the file, before this one looks or after.
func TestAnotherTransferOfTheSameFile(t *testing.T) {
	t.Parallel()
	data := content(300_000)
	bin, err := exec.LookPath("flock")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name, flock, code string // flock is what the n-th call of it does
		begun             bool   // something is there already
		held              bool
	}{
		{"which was first", "exec " + bin + " -n 8", "ssh.upload-busy", true, true},
		{"which comes between", "exit 1", "ssh.upload-busy", false, false},
		{"which writes in between", `[ "$n" = 1 ] || echo more >>"$part"`, "ssh.upload-changed", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := remotetest.New(t)
			path := filepath.Join(s.Root, "f")
			part := path + ".eggo-part"
			stub(t, filepath.Join(s.Root, "bin"), "flock",
				"echo >>"+s.Root+"/calls; n=$(wc -l <"+s.Root+"/calls)\npart="+part+"\n"+c.flock)
			if c.begun {
				if err := os.WriteFile(part, data[:1000], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.held {
				lock := flock.New(part)
				if err := lock.Lock(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = lock.Unlock() }()
			}
			_, err := dial(t, target(s), options(t, s)).Upload(limit(t), upload(path, data))
			if f := wantFault(t, err, c.code); f.Args["path"] != path || !f.Retry {
				t.Errorf("%+v", f)
			}
			if exists(path) {
				t.Error("half a file is in its place")
			}
		})
	}
}
