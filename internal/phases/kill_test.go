package phases_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// TestMain is also the installer that the stories below kill: a child of the test gets its lab by the environment.
func TestMain(m *testing.M) {
	if dir := os.Getenv("EGGO_TEST_LAB"); dir != "" {
		kill, _ := strconv.ParseUint(os.Getenv("EGGO_TEST_KILL"), 10, 64)
		if err := work(dir, kill); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	phases.Quiet()
	code := m.Run()
	if kits.dir != "" {
		_ = os.RemoveAll(kits.dir)
	}
	os.Exit(code)
}

// killer is a sink that ends the process after a record, as a power cut of the jump host would; before it keeps each
// record in a file.
type killer struct {
	after uint64
	out   *os.File
}

func (k killer) Emit(r event.Record) error {
	line, err := event.Encode(r)
	if err != nil {
		return err
	}
	if _, err := k.out.Write(append(line, '\n')); err != nil {
		return err
	}
	if r.Seq == k.after {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

// work deploys to the lab in dir, or purges it.
func work(dir string, kill uint64) error {
	l, err := phasestest.OpenLab(dir)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(os.Getenv("EGGO_TEST_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	bus := event.NewBus(nil, killer{kill, out})
	o := quick(&book{})
	o.Emit = bus.Emit
	plan := phases.Deploy
	if os.Getenv("EGGO_TEST_VERB") == "purge" {
		plan = purge
	}
	_, err = engine.Run(context.Background(), plan(l.Env(bus.Emit)), o)
	return err
}

// child runs a verb in a process group of its own, whose scripts end with it, as internal/remote ends them when the
// jump host is gone. It returns what happened, and whether the child was killed.
func child(t *testing.T, verb, dir, name string, kill uint64) (log []event.Record, killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	path := filepath.Join(dir, name)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "EGGO_TEST_LAB="+dir, "EGGO_TEST_VERB="+verb,
		"EGGO_TEST_LOG="+path, fmt.Sprintf("EGGO_TEST_KILL=%d", kill))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	err := cmd.Wait()
	_ = syscall.Kill(-group, syscall.SIGKILL)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		killed = true
	} else if err != nil {
		t.Fatalf("%s, to be killed after record %d: %v", name, kill, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range splitLines(data) {
		r, err := event.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, r)
	}
	return log, killed
}

func splitLines(data []byte) []json.RawMessage {
	var out []json.RawMessage
	start := 0
	for i, b := range data {
		if b == '\n' {
			out = append(out, data[start:i])
			start = i + 1
		}
	}
	return out
}

// killPoints chooses the records to kill after: all of them when EGGO_LONG is set, else some, spread over the whole run
// and over the kinds of records that stand around work.
func killPoints(log []event.Record, want int) []uint64 {
	if testing.Short() {
		want = min(want, 2)
	}
	var all []uint64
	for _, r := range log {
		switch r.Event.(type) {
		case event.StepStarted, event.Change, event.StepEnded:
			all = append(all, r.Seq)
		default:
			if os.Getenv("EGGO_LONG") != "" {
				all = append(all, r.Seq)
			}
		}
	}
	if os.Getenv("EGGO_LONG") != "" || len(all) <= want {
		return all
	}
	var out []uint64
	for i := range want {
		out = append(out, all[(2*i+1)*len(all)/(2*want)])
	}
	return out
}

// repeated are the steps that changed a machine in both runs, by host and lane.
func repeated(first, second []event.Record) map[string][]string {
	lanes := map[string]string{}
	changed := func(log []event.Record) map[string]bool {
		out := map[string]bool{}
		for _, r := range log {
			switch e := r.Event.(type) {
			case event.PlanMade:
				for _, s := range e.Steps {
					lanes[s.ID] = s.Host + "/" + s.Lane
				}
			case event.Change:
				out[e.Step] = true
			}
		}
		return out
	}
	a, b := changed(first), changed(second)
	out := map[string][]string{}
	for s := range a {
		if b[s] {
			out[lanes[s]] = append(out[lanes[s]], s)
		}
	}
	return out
}

// ended are the steps that came to a good end.
func ended(log []event.Record) map[string]bool {
	out := map[string]bool{}
	for _, r := range log {
		if e, ok := r.Event.(event.StepEnded); ok && e.Outcome.Done() {
			out[e.Step] = true
		}
	}
	return out
}

func TestADeployKilledAnywhereIsFinishedByTheNextOne(t *testing.T) {
	long(t)
	t.Parallel()
	whole := newLab(t, 1)
	log, _ := child(t, "deploy", whole.Dir, "whole.jsonl", 0)
	want := tree(t, whole)
	for _, k := range killPoints(log, 5) {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			first, killed := child(t, "deploy", l.Dir, "first.jsonl", k)
			if !killed && k < uint64(len(log))-10 { // two runs differ by some records
				t.Fatal("not killed")
			}
			second, _ := child(t, "deploy", l.Dir, "second.jsonl", 0)
			if diff := cmp.Diff(want, tree(t, l)); diff != "" {
				t.Errorf("killed after %+v: other than uninterrupted: %s", first[len(first)-1].Event, diff)
			}
			done := ended(first)
			for lane, steps := range repeated(first, second) {
				if len(steps) > 1 {
					t.Errorf("%s repeated %v", lane, steps)
				}
				for _, s := range steps {
					if done[s] {
						t.Errorf("%s had ended and was applied again", s)
					}
				}
			}
		})
	}
}

func TestCleanupAfterADeployThatWasKilledRestoresTheMachines(t *testing.T) {
	long(t)
	t.Parallel()
	log, _ := child(t, "deploy", newLab(t, 1).Dir, "whole.jsonl", 0)
	for _, k := range killPoints(log, 4) {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			before := tree(t, l)
			first, _ := child(t, "deploy", l.Dir, "first.jsonl", k)
			cleanup(t, l, purge)
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Errorf("killed after %+v: left by cleanup: %s", first[len(first)-1].Event, diff)
			}
			if b := cleanup(t, l, purge); len(of[event.Change](b)) > 0 {
				t.Error("a second cleanup changed", of[event.Change](b))
			}
		})
	}
}

func TestACleanupKilledAnywhereIsFinishedByTheNextOne(t *testing.T) {
	t.Parallel()
	whole := deployed(t, workers(0))
	log, _ := child(t, "purge", whole.Dir, "whole.jsonl", 0)
	for _, k := range killPoints(log, 3) {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			before := tree(t, newLab(t, 0))
			l := deployed(t, workers(0))
			first, _ := child(t, "purge", l.Dir, "first.jsonl", k)
			child(t, "purge", l.Dir, "second.jsonl", 0)
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Errorf("killed after %+v: left: %s", first[len(first)-1].Event, diff)
			}
			if b := cleanup(t, l, purge); len(of[event.Change](b)) > 0 {
				t.Error("a third cleanup changed", of[event.Change](b))
			}
		})
	}
}
