package remote_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// The control host's clock is set while a connection is idle and while a command runs.
func TestAClockThatIsSetCutsNothing(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		s := remotetest.New(t)
		o := options(t, s)
		step := make(chan struct{})
		start := time.Now()
		var asked atomic.Int32
		o.Now = func() time.Time {
			select {
			case <-step:
				asked.Add(1)
				now := eventtest.Stepped(time.Now(), by)
				if d := now.Sub(start); d < 0 || d > 10*time.Minute ||
					now.Round(0).Sub(start.Round(0)).Abs() < 50*time.Minute {
					panic("this version of Go keeps its times in another way")
				}
				return now
			default:
				return time.Now()
			}
		}
		o.Timeouts.Keepalive, o.Timeouts.Misses, o.Timeouts.Probe = 100*time.Millisecond, 50, 50*time.Millisecond
		l := &heard{}
		o.Emit = l.emit
		h := dial(t, target(s), o)
		run(t, h, "echo before")
		close(step)
		eventually(t, "the keepalives have looked at the clock", func() bool { return asked.Load() >= 3 })
		run(t, h, "sleep 0.5; echo after")
		if got := strings.Join(l.states(), " "); got != "connecting connected" {
			t.Errorf("clock set by %s: %s", by, got)
		}
	}
}

// What a command waits for is told: the innermost process, its state, and who holds the lock.
func TestWhatACommandWaitsForIsTold(t *testing.T) {
	t.Parallel()
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithPath(dir))
			o := options(t, s)
			o.Timeouts.Probe = 50 * time.Millisecond
			told := make(chan event.Waiting, 100)
			o.Emit = func(e event.Event) {
				if w, ok := e.(event.Waiting); ok {
					select {
					case told <- w:
					default:
					}
				}
			}
			o.Step = func(context.Context) string { return "the step" }
			h := dial(t, target(s), o)
			lock := filepath.Join(s.Root, "held")
			holder := exec.Command("flock", lock, "sleep", "1000")
			holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := holder.Start(); err != nil {
				t.Skip(err)
			}
			defer func() { _ = syscall.Kill(-holder.Process.Pid, syscall.SIGKILL); _ = holder.Wait() }()
			ctx, cancel := context.WithCancel(limit(t))
			defer cancel()
			eventually(t, "the lock is held", func() bool {
				return exec.Command("flock", "-n", lock, "true").Run() != nil
			})
			got := make(chan error, 1)
			go func() {
				_, err := h.Run(ctx, shell.Command{Script: "(sh -c 'flock " + lock + " echo never; true'); true"})
				got <- err
			}()
			for {
				select {
				case w := <-told:
					if w.Process != "flock" || w.Lock == "" || w.State != "S" {
						continue // it is on its way there
					}
					if w.Host != "n1" || w.Step != "the step" || w.PID <= 1 ||
						w.LockPID != holder.Process.Pid || w.Lock != "flock" || w.For <= 0 {
						t.Errorf("%+v, the lock is held by %d", w, holder.Process.Pid)
					}
				case <-time.After(30 * time.Second):
					t.Fatal("nothing was told")
				}
				break
			}
			cancel()
			wantFault(t, <-got, "ssh.cancelled")
		})
	}
}

// A helper that was stopped, on a connection that is fine, is lost; a quiet command is not.
func TestAHelperThatDoesNotAnswerIsLost(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	o.Timeouts.Probe, o.Timeouts.Answer, o.Timeouts.Kill, o.Timeouts.Reconnect = 20*time.Millisecond, 2*time.Second,
		50*time.Millisecond, time.Second
	h := dial(t, target(s), o)
	run(t, h, "sleep 3")
	got := make(chan error, 1)
	flag := filepath.Join(s.Root, "there")
	go func() {
		_, err := h.Run(limit(t), shell.Command{Script: ": >" + flag + "; exec sleep 1000"})
		got <- err
	}()
	eventually(t, "the command runs", func() bool { return exists(flag) })
	stopped := s.Pids()
	for _, pid := range stopped {
		_ = syscall.Kill(-pid, syscall.SIGSTOP)
	}
	f := wantFault(t, <-got, "ssh.unknown-outcome")
	if !strings.Contains(f.Cause, "does not answer") {
		t.Error(f.Cause)
	}
	for _, pid := range stopped {
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// An answer may say what it likes.
func TestAnAnswerOfAHostileHelper(t *testing.T) {
	for _, what := range []string{"", "w", "w:S:a:1", "w:S:a:1:b:c", "w:\x1b[31mS:\x1b]0;:x:\xff",
		"w:" + strings.Repeat("S", 9000) + ":a:1:b", "w:::::"} {
		state, process, lock, ok := remote.Awaited(what)
		for _, v := range []string{state, process, lock} {
			if event.Clean(v) != v || len(v) > 32 {
				t.Errorf("%q gave %q", what, v)
			}
		}
		if ok != (strings.Count(what, ":") == 4 && strings.HasPrefix(what, "w:")) {
			t.Errorf("%q was taken: %v", what, ok)
		}
	}
}
