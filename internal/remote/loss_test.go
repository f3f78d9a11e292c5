package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// during runs a script that never ends, does something once it runs, and returns the script's process and Run's error.
func during(t *testing.T, s *remotetest.Server, h *remote.Host, do func()) (int, error) {
	t.Helper()
	file := filepath.Join(s.Root, "pid")
	_ = os.Remove(file)
	got := make(chan error, 1)
	go func() {
		_, err := h.Run(limit(t), shell.Command{Script: `sh -c 'echo $$ >"$F"; exec sleep 1000'`,
			Env: map[string]string{"F": file}})
		got <- err
	}()
	pid := pidIn(t, file)
	do()
	return pid, <-got
}

func TestLostWhileACommandRuns(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*remotetest.Server){
		"the connection": (*remotetest.Server).Cut,
		"the session":    (*remotetest.Server).CutSessions,
	} {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t)
			ev := &heard{}
			o := options(t, s)
			o.Emit = ev.emit
			h := dial(t, target(s), o)
			pid, err := during(t, s, h, func() { do(s) })
			f := wantFault(t, err, "ssh.unknown-outcome")
			if !f.Retry || f.Class != event.ClassFailed {
				t.Errorf("%+v", f)
			}
			eventually(t, "the remote process ends", func() bool { return gone(pid) })
			if r := run(t, h, "echo again"); string(r.Stdout) != "again\n" {
				t.Errorf("then %q", r.Stdout)
			}
			want := []string{"connecting", "connected"}
			if name == "the connection" {
				want = append(want, "lost", "connecting", "connected")
			}
			if diff := cmp.Diff(want, ev.states()); diff != "" {
				t.Error(diff)
			}
			eventually(t, "nothing of the first session is left", func() bool { return len(s.Pids()) == 1 })
		})
	}
}

// lost waits until the loss of n connections was noticed: a command that is sent before has an unknown outcome.
func lost(t *testing.T, ev *heard, n int) {
	t.Helper()
	eventually(t, "the loss is noticed", func() bool {
		return len(slices.DeleteFunc(ev.states(), func(s string) bool { return s != "lost" })) >= n
	})
}

func TestReboot(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	ev := &heard{}
	o := options(t, s)
	o.Emit = ev.emit
	h := dial(t, target(s), o)
	s.Down()
	lost(t, ev, 1)
	up := make(chan struct{})
	time.AfterFunc(700*time.Millisecond, func() { s.Up(); close(up) })
	// Between two commands nothing is lost; the way is made again, when the node is back.
	r, err := h.Run(limit(t), shell.Command{Script: "echo back"})
	<-up
	if err != nil || string(r.Stdout) != "back\n" {
		t.Fatal(r, err)
	}
	s.Down()
	lost(t, ev, 2)
	ctx, cancel := context.WithTimeout(limit(t), time.Second)
	defer cancel()
	_, err = h.Run(ctx, shell.Command{Script: "echo"})
	if err == nil {
		t.Fatal("no error")
	}
	if f := event.AsFault(err); f.Code != "ssh.time-limit" && f.Code != "ssh.connect-refused" {
		t.Error(f)
	}
}

func TestRebootWithAnotherKey(t *testing.T) {
	s := remotetest.New(t)
	ev := &heard{}
	o := options(t, s)
	o.Emit = ev.emit
	h := dial(t, target(s), o)
	s.ChangeHostKey()
	s.Cut()
	lost(t, ev, 1)
	_, err := h.Run(limit(t), shell.Command{Script: "echo"})
	wantFault(t, err, "ssh.hostkey-changed")
	if s.Connections() != 2 {
		t.Errorf("%d connections: a changed key was tried again", s.Connections())
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	o.Timeouts.Keepalive, o.Timeouts.Misses = 500*time.Millisecond, 6
	h := dial(t, target(s), o)
	pid, err := during(t, s, h, s.Silence)
	f := wantFault(t, err, "ssh.unknown-outcome")
	if !strings.Contains(f.Cause, "keepalives") {
		t.Errorf("%q", f.Cause)
	}
	eventually(t, "the remote process ends", func() bool { return gone(pid) })
}

// The node ends its work when it hears nothing, although the connection still stands as far as it knows.
func TestLease(t *testing.T) {
	t.Parallel()
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := remotetest.New(t, remotetest.WithPath(dir))
			o := options(t, s)
			o.Timeouts.Lease, o.Timeouts.Kill = 3*time.Second, 200*time.Millisecond
			h := dial(t, target(s), o)
			if err := h.Lock(limit(t), "me"); err != nil {
				t.Fatal(err)
			}
			// As long as the lease is renewed, work may last longer than it.
			if r := run(t, h, "sleep 5; echo done"); string(r.Stdout) != "done\n" {
				t.Errorf("%q", r.Stdout)
			}
			file := filepath.Join(s.Root, "pid")
			ctx, cancel := context.WithCancel(limit(t))
			got := make(chan error, 1)
			go func() {
				_, err := h.Run(ctx,
					shell.Command{Script: `trap '' TERM; sh -c 'echo $$ >"$F"; while :; do sleep 0.1; done'`,
						Env: map[string]string{"F": file}})
				got <- err
			}()
			pid := pidIn(t, file)
			s.Silence() // and the connection stays open
			eventually(t, "the remote process ends", func() bool { return gone(pid) })
			eventually(t, "the lock is free", func() bool { return !exists(filepath.Join(s.Root, "lock")) })
			cancel()
			if err := <-got; err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithPath(dir))
			o := options(t, s)
			o.Timeouts.Lease = 10 * time.Minute // a lock that is held is not waited for
			a, b := dial(t, target(s), o), dial(t, target(s), o)
			who := "ann@jump, it's $run 1"
			if err := a.Lock(limit(t), who); err != nil {
				t.Fatal(err)
			}
			err := b.Lock(limit(t), "bob")
			f := wantFault(t, err, "lock.node-held")
			if f.Class != event.ClassLocked || f.Args["holder"] != who || f.Retry {
				t.Errorf("%+v", f)
			}
			// A child that is left behind does not hold the lock.
			run(t, a, "sleep 5 >/dev/null 2>&1 &")
			if err := a.Unlock(limit(t)); err != nil {
				t.Fatal(err)
			}
			if err := b.Lock(limit(t), "bob"); err != nil {
				t.Fatal(err)
			}
			wantFault(t, a.Lock(limit(t), "ann"), "lock.node-held")
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if err := a.Lock(limit(t), "ann"); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(a.Unlock(limit(t)), a.Unlock(limit(t))); err != nil {
				t.Fatal(err)
			}
			if exists(o.LockFile) {
				t.Error("the file is left there")
			}
		})
	}
	t.Run("taken again after the connection was lost", func(t *testing.T) {
		s := remotetest.New(t)
		o, ev := options(t, s), &heard{}
		b := dial(t, target(s), o)
		o.Emit = ev.emit
		a := dial(t, target(s), o)
		if err := a.Lock(limit(t), "ann"); err != nil {
			t.Fatal(err)
		}
		s.Cut()
		lost(t, ev, 1)
		if r := run(t, a, "echo mine"); string(r.Stdout) != "mine\n" {
			t.Errorf("%q", r.Stdout)
		}
		eventually(t, "bob is there again", func() bool { return held(b.Lock(limit(t), "bob")) })
		s.Cut()
		// An upload does not slip in beside the lock.
		if _, err := a.Upload(limit(t), upload(filepath.Join(s.Root, "f"), content(10))); err != nil {
			t.Fatal(err)
		}
		eventually(t, "bob is there again", func() bool { return held(b.Lock(limit(t), "bob")) })
	})
	t.Run("somebody else has it by then", func(t *testing.T) {
		s := remotetest.New(t)
		o, ev := options(t, s), &heard{}
		b := dial(t, target(s), o)
		o.Emit = ev.emit
		a := dial(t, target(s), o)
		if err := a.Lock(limit(t), "ann"); err != nil {
			t.Fatal(err)
		}
		s.Cut()
		lost(t, ev, 1)
		eventually(t, "bob gets the lock", func() bool { return b.Lock(limit(t), "bob") == nil })
		_, err := a.Run(limit(t), shell.Command{Script: "touch " + filepath.Join(s.Root, "touched")})
		if f := wantFault(t, err, "lock.node-held"); f.Args["holder"] != "bob" {
			t.Errorf("%+v", f)
		}
		if exists(filepath.Join(s.Root, "touched")) {
			t.Error("it worked without the lock")
		}
	})
	t.Run("held by the session that was lost, which is at its very end", func(t *testing.T) {
		s := remotetest.New(t)
		o, ev := options(t, s), &heard{}
		o.Emit = ev.emit
		a := dial(t, target(s), o)
		if err := a.Lock(limit(t), "ann"); err != nil {
			t.Fatal(err)
		}
		s.Down()
		lost(t, ev, 1)
		eventually(t, "the lock is free", func() bool { return !exists(o.LockFile) })
		letGo := holdNameless(t, o.LockFile)
		s.Up()
		// Longer than the node itself waits for a name.
		time.AfterFunc(5*time.Second, letGo)
		if r := run(t, a, "echo mine"); string(r.Stdout) != "mine\n" {
			t.Errorf("%q", r.Stdout)
		}
	})
	t.Run("held by somebody who has not yet written a name", func(t *testing.T) {
		s := remotetest.New(t)
		o := options(t, s)
		a := dial(t, target(s), o)
		time.AfterFunc(500*time.Millisecond, holdNameless(t, o.LockFile))
		if err := a.Lock(limit(t), "ann"); err != nil {
			t.Error(err)
		}
	})
	t.Run("no place for it", func(t *testing.T) {
		s := remotetest.New(t)
		o := options(t, s)
		o.LockFile = filepath.Join(s.Root, "none", "lock")
		wantFault(t, dial(t, target(s), o).Lock(limit(t), "ann"), "ssh.lock-file")
	})
}

// holdNameless holds a lock as who has not yet written a name there, or has removed the file, does; until letGo.
func holdNameless(t *testing.T, file string) (letGo func()) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	letGo = sync.OnceFunc(func() { _ = os.Remove(file); _ = f.Close() })
	t.Cleanup(letGo)
	return letGo
}

func held(err error) bool { return err != nil && event.AsFault(err).Code == "lock.node-held" }
