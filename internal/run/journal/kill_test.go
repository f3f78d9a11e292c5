package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestMain is also the tool that the stories below kill: a child of the test gets its part by the environment.
func TestMain(m *testing.M) {
	switch os.Getenv("EGGO_TEST_PART") {
	case "":
		os.Exit(m.Run())
	case "hold":
		os.Exit(hold(os.Getenv("EGGO_TEST_STATE")))
	case "deploy":
		kill, _ := strconv.ParseUint(os.Getenv("EGGO_TEST_KILL"), 10, 64)
		os.Exit(deploy(os.Getenv("EGGO_TEST_STATE"), kill))
	}
}

func child(t *testing.T, part, state string, kill uint64) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "EGGO_TEST_PART="+part, "EGGO_TEST_STATE="+state,
		fmt.Sprintf("EGGO_TEST_KILL=%d", kill))
	cmd.Stderr = os.Stderr
	return cmd
}

func hold(state string) int {
	c, err := Open(state, "c")
	if err != nil {
		return 1
	}
	if _, err := c.Lock(Holder{PID: os.Getpid(), User: "alice", Host: "jump-1", Verb: "deploy",
		Since: t0}); err != nil {
		return 1
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func TestTheLockNamesItsHolderAndDiesWithIt(t *testing.T) {
	state := t.TempDir()
	cmd := child(t, "hold", state, 0)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	c, err := Open(state, "c")
	if err != nil {
		t.Fatal(err)
	}
	me := Holder{PID: 1, User: "bob", Host: "jump-2", Verb: "cleanup", Since: t0}
	_, err = c.Lock(me)
	f := event.AsFault(err)
	if f == nil || f.Code != "lock.cluster-held" || f.Class != event.ClassLocked || f.Args["user"] != "alice" ||
		f.Args["host"] != "jump-1" ||
		f.Args["pid"] != strconv.Itoa(cmd.Process.Pid) || f.Args["verb"] != "deploy" ||
		f.Args["since"] != "2026-11-21T10:15:30Z" {
		t.Fatalf("%+v", f)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	l, err := c.Lock(me)
	if err != nil {
		t.Fatal("free when its holder is dead:", err)
	}
	me.Run = noRun
	if h, err := c.Holder(); err != nil || h != me {
		t.Error(h, err)
	}
	if _, err := c.Lock(me); codeOf(err) != "lock.cluster-held" {
		t.Error("not even twice in one process:", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = c.Lock(me); err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
}

// killer is a sink that ends the process after a record, as a power cut would.
type killer uint64

func (k killer) Emit(r event.Record) error {
	if r.Seq == uint64(k) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

// deploy runs a plan over three "nodes", directories in which each step adds a line to its file and writes to a log of
// what it did.
func deploy(state string, kill uint64) int {
	c, err := Open(state, "c")
	if err != nil {
		return 1
	}
	lock, err := c.Lock(Holder{PID: os.Getpid(), Verb: "deploy", Since: time.Now()})
	if err != nil {
		return 11
	}
	defer func() { _ = lock.Unlock() }()
	p, err := c.Resume("deploy", "cfg")
	if err != nil {
		return 1
	}
	w, err := c.NewRun("deploy", time.Now())
	if err != nil {
		return 1
	}
	defer func() { _ = w.Close() }()
	bus := event.NewBus(nil, w, killer(kill))
	plan := &engine.Plan{Phases: []engine.Phase{{ID: "p"}},
		Hosts: []event.Host{{Name: "n0"}, {Name: "n1"}, {Name: "n2"}}}
	for i := range 3 {
		for h := range 3 {
			s := &engine.Step{ID: fmt.Sprintf("s%d/n%d", i, h), Phase: "p", Host: fmt.Sprintf("n%d", h)}
			s.Apply = func(ctx context.Context) error {
				if err := bus.Emit(event.Change{Host: s.Host, Step: s.ID}); err != nil {
					return err
				}
				f, err := os.OpenFile(filepath.Join(state, s.Host), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(f, engine.StepID(ctx))
				return errors.Join(err, f.Close())
			}
			if i > 0 {
				s.Needs = []string{fmt.Sprintf("s%d/n%d", i-1, h), fmt.Sprintf("s%d/n%d", i-1, (h+1)%3)}
			}
			plan.Steps = append(plan.Steps, s)
		}
	}
	if bus.Emit(event.RunStarted{Run: w.ID(), Verb: "deploy", Config: "cfg", Resumed: p.Run != ""}) != nil {
		return 1
	}
	_, err = engine.Run(context.Background(), plan, engine.Options{Emit: bus.Emit, Done: p.Done})
	if err != nil || bus.Emit(event.RunEnded{Outcome: event.Changed}) != nil {
		return 1
	}
	return 0
}

func TestKilledWithSIGKILLAfterEveryRecord(t *testing.T) {
	killed := 0
	for k := uint64(1); ; k++ {
		state := t.TempDir()
		err := child(t, "deploy", state, k).Run()
		if err == nil {
			break // k is beyond the last record
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("record %d: %v", k, err)
		}
		killed++
		c, err := At(state, "c")
		if err != nil {
			t.Fatal(err)
		}
		id, err := c.Latest("deploy")
		if err != nil {
			t.Fatal(err)
		}
		if l, err := readLog(c.RunDir(id)); err == nil && l.finished {
			continue // after the end: the next deploy is a run of its own, for which steps have their Check
		}
		if err := child(t, "deploy", state, 0).Run(); err != nil {
			t.Fatalf("record %d: the second run: %v", k, err)
		}
		for h := range 3 {
			text, err := os.ReadFile(filepath.Join(state, fmt.Sprintf("n%d", h)))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Fields(string(text))
			if len(lines) > 4 {
				t.Errorf("record %d: n%d repeated more than one step: %v", k, h, lines)
			}
			for i := range 3 {
				if !strings.Contains(string(text), fmt.Sprintf("s%d/", i)) {
					t.Errorf("record %d: n%d lacks step %d: %v", k, h, i, lines)
				}
			}
		}
	}
	if killed < 30 { // 9 steps of 3 records, the plan, the phase
		t.Errorf("killed only %d times", killed)
	}
}
