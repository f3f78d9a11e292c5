package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// A run that is begun on the screen is a process of its own: it gets the password that was asked for, and neither its
// command line nor what it leaves on the disk has it; its log says how it ended, and the menu finds it.
func TestARunOfItsOwn(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
	if err := os.WriteFile(file, []byte(operationtest.Nobody), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &environment{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Args: []string{"eggo-tui"}, P: i18n.NewPrinter(i18n.English), Getenv: os.Getenv, Clock: operationtest.Swift{},
		State: state}
	d := env.host()
	who := &operationtest.User{}
	start := backend.Start{Request: request.Deploy{Common: request.OfFile(file)}}
	ref, err := d.Launch(t.Context(), start, who)
	if err != nil {
		t.Fatal(err)
	}
	if len(who.Asked) != 1 || ref.Cluster != "away" {
		t.Errorf("asked %v, began %v", who.Asked, ref)
	}
	open, err := d.Open(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var end *event.RunEnded
	for deadline := time.Now().Add(time.Minute); end == nil && time.Now().Before(deadline); {
		list, err := open.Feed.Take(100)
		for _, r := range list {
			if e, ok := r.Event.(event.RunEnded); ok {
				end = &e
			}
		}
		if errors.Is(err, io.EOF) && end == nil {
			t.Fatal("the log ends without an end of the run")
		} else if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	if end == nil || end.Exit == 0 {
		t.Fatalf("it ended with %+v", end)
	}
	err = filepath.WalkDir(state, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		i, gone := e.Info()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(gone, fs.ErrNotExist) {
			// the run gives its lock back after its last word
			return nil
		}
		if strings.Contains(string(text), "open sesame") {
			t.Errorf("%s has the password", path)
		}
		if i.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, i.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	all, err := d.Clusters(t.Context())
	if err != nil || len(all) != 1 || len(all[0].Runs) != 1 || all[0].Runs[0].Ref != ref {
		t.Errorf("%+v, %v", all, err)
	} else if c := all[0]; c.File != "" || c.Tried == "" || c.Tried != c.Runs[0].File ||
		!exists(filepath.Join(state, "away", "runs", ref.Run, store.ConfigName)) {
		t.Errorf("a run that touched nothing: its deploy.yaml is %q of %+v", c.Tried, c.Runs[0])
	}
	// The lock's answer comes back to who would begin another.
	runs, err := journal.Open(state, "away")
	if err != nil {
		t.Fatal(err)
	}
	var lock *journal.Lock
	for lock == nil { // the process gives its own back after the last record
		lock, _ = runs.Lock(whoami("test"))
	}
	defer lock.Unlock()
	again := backend.Start{Request: request.Deploy{Common: request.OfFile(file)}}
	if _, err = d.Launch(t.Context(), again, who); event.AsFault(err) == nil ||
		event.AsFault(err).Code != "lock.cluster-held" {
		t.Error(err)
	}
}

// A process that does not start is a fault that says why.
func TestARunWhoseProcessDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	env := &environment{Args: []string{"eggo-tui"}, P: i18n.NewPrinter(i18n.English)}
	l := env.launcher(t.TempDir())
	command := l.Command
	l.Command = func(args ...string) (*exec.Cmd, error) {
		cmd, err := command(args...)
		cmd.Dir = dir
		return cmd, err
	}
	h, err := l.Launch(request.Deploy{}, request.Answers{})
	if f := event.AsFault(err); h != nil || f == nil || f.Code != "launch.process" || !strings.Contains(f.Cause, dir) {
		t.Errorf("%+v %v", h, err)
	}
}
