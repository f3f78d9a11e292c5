package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// turnstile is a file that its readers wait at, one after the other.
type turnstile struct {
	t    *testing.T
	path string
}

func newTurnstile(t *testing.T) turnstile {
	t.Helper()
	g := turnstile{t, filepath.Join(t.TempDir(), "password")}
	if err := unix.Mkfifo(g.path, 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

// reader waits for the next reader, who waits until the function returned is called. Whoever opens the file after this
// is another reader.
func (g turnstile) reader() (pass func()) {
	g.t.Helper()
	f, err := os.OpenFile(g.path, os.O_WRONLY, 0)
	if err == nil {
		err = unix.Mkfifo(g.path+".next", 0o600)
	}
	if err == nil {
		err = os.Rename(g.path+".next", g.path)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return func() {
		_, _ = f.WriteString("x\n")
		f.Close()
	}
}

// early is a run whose process was started and does not say yet which run it is; pass lets it.
func early(t *testing.T) (s *stage, pass func()) {
	t.Helper()
	g := newTurnstile(t)
	s = playWith(t, "eggo: {password-from: 'file:"+g.path+"'}", false)
	g.reader()() // the front end, which reads what can be asked about
	return s, g.reader()
}

// A hangup that comes after the run's process was started, and before it says which run it is, ends the front end and
// not the run.
func TestAHangupBeforeARunSaysItsName(t *testing.T) {
	t.Parallel()
	s, pass := early(t)
	s.signal(syscall.SIGHUP)
	if code := s.code(); code != 130 {
		t.Errorf("exit code %d: %s", code, s.said.String())
	}
	pass()
	waitFor[event.StepStarted](s)
	s.node.letGo()
	if end := waitFor[event.RunEnded](s); end.Outcome != event.Failed {
		t.Errorf("%+v", end)
	}
}

// Interrupts end a process that does not say yet which run it is; there is none.
func TestInterruptsBeforeARunSaysItsName(t *testing.T) {
	t.Parallel()
	s, pass := early(t)
	defer pass()
	ended := false
	eventually(t, func() bool { // some may come as one
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-s.ended:
			ended = true
		default:
		}
		return ended
	})
	// One that comes while it ends may end it: a shell says 130 of that, too.
	status, _ := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if code := status.ExitStatus(); code != 130 && status.Signal() != syscall.SIGINT {
		t.Errorf("exit code %d, %v: %s", code, status.Signal(), s.said.String())
	}
	if run, _ := s.store().Latest(""); run != "" {
		t.Error("there is the run", run)
	}
}
