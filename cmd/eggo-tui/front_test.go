package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	states "github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// silent is a node that takes connections and says nothing, until it is let go: then it closes them. So a run is at
// work for as long as a test wants.
type silent struct {
	net.Listener
	gone chan struct{}
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &silent{l, make(chan struct{})}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { <-s.gone; c.Close() }()
		}
	}()
	return s
}

// letGo ends the run: the node refuses from now on.
func (s *silent) letGo() { s.Listener.Close(); close(s.gone) }

// stage is a run of deploy on the command line, its front end, and what it has on the disk.
type stage struct {
	t      *testing.T
	node   *silent
	cmd    *exec.Cmd
	state  string
	stdout *os.File // the end that the front end writes to
	out    *os.File // the end that is read
	said   bytes.Buffer
	ended  chan error
}

// play starts deploy. full fills the pipe of its stdout first, so that it takes nothing.
func play(t *testing.T, full bool, flags ...string) *stage {
	t.Helper()
	return playWith(t, "password: x", full, flags...)
}

// playWith is play with what deploy.yaml says of the password.
func playWith(t *testing.T, password string, full bool, flags ...string) *stage {
	t.Helper()
	self, err := exec.LookPath("eggo-tui")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, node: newSilent(t), state: t.TempDir(), ended: make(chan error, 1)}
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	_, port, _ := net.SplitHostPort(s.node.Addr().String())
	text := strings.NewReplacer("port: 1,", "port: "+port+",", "eggo: {password-from: prompt}",
		password).Replace(operationtest.Nobody)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.out, s.stdout, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if full {
		s.fill()
	}
	s.cmd = exec.Command(self, append([]string{"deploy", "-f", file, "--state-dir", s.state}, flags...)...)
	s.cmd.Env = append(os.Environ(), "LANG=C", "HOME="+t.TempDir())
	s.cmd.Stdout, s.cmd.Stderr = s.stdout, &s.said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.stdout.Close()
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(s.over)
	return s
}

func (s *stage) fill() {
	fd := int(s.stdout.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		s.t.Fatal(err)
	}
	for page := make([]byte, 4096); ; {
		if _, err := unix.Write(fd, page); err != nil {
			break
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		s.t.Fatal(err)
	}
}

// over leaves nothing behind.
func (s *stage) over() {
	_ = s.cmd.Process.Kill()
	if h, ok := s.holder(); ok && s.store().Busy() {
		_ = syscall.Kill(h.PID, syscall.SIGKILL)
	}
	s.out.Close()
}

func (s *stage) store() *journal.Cluster {
	c, err := journal.At(s.state, "away")
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *stage) holder() (journal.Holder, bool) {
	h, err := s.store().Holder()
	return h, err == nil && h.PID > 0
}

// waitFor reads the run's log until an event is there, and gives it; none is a failure.
func waitFor[E event.Event](s *stage) E {
	s.t.Helper()
	return waitUntil(s, func(E) bool { return true })
}

func waitUntil[E event.Event](s *stage, is func(E) bool) E {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	var none E
	run := ""
	eventually(s.t, func() bool {
		run, _ = s.store().Latest("")
		return run != "" && exists(filepath.Join(s.store().RunDir(run), "events.jsonl"))
	})
	for rec, err := range journal.Follow(ctx, s.store().RunDir(run), func() bool { return true }) {
		if err != nil {
			break
		}
		if e, ok := rec.Event.(E); ok && is(e) {
			return e
		}
	}
	s.t.Fatalf("no %T came; stderr: %s", none, s.said.String())
	return none
}

// eventually waits until something is so.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it does not come to be so")
		}
	}
}

// code waits for the end of the front end, and gives its exit code; -1 is a signal.
func (s *stage) code() int {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		// As a shell says it: a signal may come when everything is said and the program no longer waits for any.
		if end, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && end.Signaled() {
			return 128 + int(end.Signal())
		}
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		s.t.Fatal("the front end does not end")
	}
	return 0
}

// signal sends a signal; one that comes when the process has already ended is none: its exit code is asked for later.
func (s *stage) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
}

// firstLine waits until the front end has shown the first line: it knows the run then, which may be in the log before.
func (s *stage) firstLine() {
	s.t.Helper()
	if line, err := bufio.NewReader(s.out).ReadString('\n'); err != nil {
		s.t.Fatal(line, err)
	}
}

// says waits until the front end has said something on stderr. It may be asked only after the end.
func (s *stage) says(words ...string) {
	s.t.Helper()
	for _, w := range words {
		if !strings.Contains(s.said.String(), w) {
			s.t.Errorf("%q is not in:\n%s", w, s.said.String())
		}
	}
}

// outputs are the ways in which a run is shown.
func outputs(t *testing.T, test func(t *testing.T, flags ...string)) {
	for name, flags := range map[string][]string{"plain": nil, "json": {"--output", "json"},
		"foreground": {"--foreground"}, "foreground json": {"--foreground", "--output", "json"}} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, flags...) })
	}
}

// Whoever reads the first line and closes the pipe ends no run: it comes to its end, and the exit code is its own.
func TestAClosedStdoutEndsNoRun(t *testing.T) {
	t.Parallel()
	outputs(t, func(t *testing.T, flags ...string) {
		s := play(t, false, flags...)
		s.firstLine()
		s.out.Close()
		s.node.letGo()
		end := waitFor[event.RunEnded](s)
		if code := s.code(); code != end.Exit || code == 0 {
			t.Errorf("exit code %d, of the run %d", code, end.Exit)
		}
		s.says("eggo-tui attach --id away --state-dir " + s.state)
	})
}

// A stdout that takes nothing delays no run: its events come, it ends, and so does the front end, with its exit code
// and a word about what was not shown. That it does not wait for long is the interrupt's doing here.
func TestAStalledStdoutDelaysNoRun(t *testing.T) {
	t.Parallel()
	outputs(t, func(t *testing.T, flags ...string) {
		s := play(t, true, flags...)
		waitFor[event.StepStarted](s)
		s.node.letGo()
		end := waitFor[event.RunEnded](s)
		eventually(t, func() bool { return !s.store().Busy() }) // the process is at its very end
		s.signal(syscall.SIGINT)
		if code := s.code(); code != end.Exit || code == 0 {
			t.Errorf("exit code %d, of the run %d", code, end.Exit)
		}
	})
}

// Two interrupts abort a run whose stdout takes nothing.
func TestTwoInterruptsAbortBehindAStalledStdout(t *testing.T) {
	t.Parallel()
	outputs(t, func(t *testing.T, flags ...string) {
		s := play(t, true, flags...)
		waitFor[event.StepStarted](s)
		s.signal(syscall.SIGINT) // two of a kind may come as one
		s.signal(syscall.SIGTERM)
		if end := waitFor[event.RunEnded](s); end.Outcome != event.Interrupted || end.Exit != 130 {
			t.Errorf("%+v", end)
		}
		s.signal(syscall.SIGINT)
		if code := s.code(); code != 130 {
			t.Errorf("exit code %d", code)
		}
	})
}

// stopped stops the process of the run while a step of n1 is at work; then it does nothing that it is asked for. It
// gives the process's number.
func (s *stage) stopped() int {
	s.t.Helper()
	waitUntil(s, func(e event.StepStarted) bool { return strings.HasSuffix(e.Step, "/n1") })
	h, ok := s.holder()
	if !ok || h.PID == s.cmd.Process.Pid {
		s.t.Fatalf("%+v is no process of its own", h)
	}
	if err := syscall.Kill(h.PID, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	return h.PID
}

// A run that answers nothing is killed by the third interrupt; the front end says what is not known.
func TestTheThirdInterruptKills(t *testing.T) {
	t.Parallel()
	s := play(t, true)
	s.stopped()
	eventually(t, func() bool { // some may come as one
		s.signal(syscall.SIGINT)
		return !s.store().Busy()
	})
	s.signal(syscall.SIGINT) // what was not shown is not waited for
	if code := s.code(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	s.says("run.killed", "n1", "eggo-tui deploy -f")
}

// taken waits until the process has taken its signals: those of a kind that wait become one.
func (s *stage) taken() {
	s.t.Helper()
	eventually(s.t, func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
		if err != nil { // it has ended
			return true
		}
		return strings.Contains(string(text), "ShdPnd:\t0000000000000000") &&
			strings.Contains(string(text), "SigPnd:\t0000000000000000")
	})
}

// A process that dies without a word is told of: what was at work, where the log is, and how to resume.
func TestARunThatDiesIsToldOf(t *testing.T) {
	t.Parallel()
	s := play(t, false)
	go func() { _, _ = io.Copy(io.Discard, s.out) }()
	if err := syscall.Kill(s.stopped(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := s.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	s.says("run.died", "signal: killed", "n1", "process.log", "eggo-tui deploy -f")
}

// A hangup ends the front end and not the run. A run in the foreground has no other process: it goes on.
func TestAHangupEndsNoRun(t *testing.T) {
	t.Parallel()
	outputs(t, func(t *testing.T, flags ...string) {
		s := play(t, false, flags...)
		s.firstLine()
		waitFor[event.StepStarted](s)
		s.signal(syscall.SIGHUP)
		s.taken()
		inside := len(flags) > 0 && flags[0] == "--foreground"
		if !inside {
			if code := s.code(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			s.says("attach --id away")
		}
		s.node.letGo()
		end := waitFor[event.RunEnded](s)
		if end.Outcome != event.Failed {
			t.Errorf("%+v", end)
		}
		if inside {
			if code := s.code(); code != end.Exit {
				t.Errorf("exit code %d, of the run %d", code, end.Exit)
			}
		}
	})
}

// What is shown is what the log has, to its last line.
func TestTheFrontEndShowsTheLog(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--output", "json"}, {"--output", "json", "--foreground"}} {
		s := play(t, false, flags...)
		s.node.letGo()
		got, err := io.ReadAll(s.out)
		if err != nil {
			t.Fatal(err)
		}
		s.code()
		run, err := s.store().Latest("")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(s.store().RunDir(run), "events.jsonl"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v %v: shown\n%s\nlogged\n%s", flags, err, got, want)
		}
	}
}

// A run that was killed is dead, also when its process number is another's: here it is this test's. Whoever follows it
// comes to an end.
func TestADeadRunIsDeadWhoeverHasItsNumber(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store, err := journal.Open(root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := store.Lock(whoami("deploy"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := event.NewBus(time.Now, log).Emit(event.RunStarted{Run: log.ID(), Cluster: "rack",
		Verb: "deploy"}); err != nil {
		t.Fatal(err)
	}
	log.Close()
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	for name, holder := range map[string]any{
		"of this version":     journal.Holder{PID: os.Getpid(), Verb: "deploy", Since: time.Now(), Run: log.ID()},
		"of an older version": map[string]any{"pid": os.Getpid(), "verb": "deploy"},
	} {
		text, err := json.Marshal(holder)
		if err == nil {
			err = os.WriteFile(filepath.Join(store.Path(), "lock.json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := operation.Clusters(t.Context(), states.Dir{Root: root})
		if err != nil || len(all) != 1 || all[0].Status != "interrupted" {
			t.Errorf("%s: %+v %v", name, all, err)
		}
		h := (&environment{Getenv: os.Getenv, State: root}).host()
		if on, err := h.Clusters(t.Context()); err != nil || on[0].Status != "interrupted" ||
			on[0].Runs[0].Status != "interrupted" {
			t.Errorf("%s: the menu: %+v %v", name, on, err)
		}
		board, err := h.Open(t.Context(), request.Ref{Cluster: "rack", Run: log.ID()}, 0)
		if err != nil || board.Control != nil {
			t.Errorf("%s: the board speaks to it: %v", name, err)
		}
		for err == nil {
			_, err = board.Feed.Take(100)
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: the board: %v", name, err)
		}
		board.Close()
		if c, err := operation.FindLogged(t.Context(), states.Dir{Root: root}, "", "", "interrupted"); err != nil ||
			c.LastRun != log.ID() {
			t.Errorf("%s: resume: %+v %v", name, c, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var out bytes.Buffer
		if err := logs(ctx, &environment{P: i18n.NewPrinter(i18n.English), Stdout: &out, Getenv: os.Getenv,
			State: root}, logOptions{follow: true, output: "json"}, ""); err != nil {
			t.Errorf("%s: logs -F: %v", name, err)
		}
		cancel()
	}
}
