package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// A run that is not begun leaves no run: no directory, no log, no space held for it, and the lock is free.
func TestARunThatIsNotBegunLeavesNothing(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
	text := strings.Replace(operationtest.Nobody, "eggo: {password-from: prompt}", "password: x", 1)
	must(t, os.WriteFile(file, []byte(text), 0o600))
	no := errors.New("no")
	d := local.Deps(local.Options{Root: state})
	d.Opened = func(operation.Run) error { return no }
	source := request.Source{File: file}
	if _, err := operation.Start(t.Context(), request.Deploy{Common: request.Common{Source: source}},
		d); !errors.Is(err, no) {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "away", "runs", "*")); len(left) > 0 {
		t.Error("left:", left)
	}
	store, err := journal.Open(state, "away")
	must(t, err)
	lock, err := store.Lock(whoami("test"))
	must(t, err)
	must(t, lock.Unlock())
}

// A process that does not get what was asked says so to whoever started it.
func TestAProcessWithoutAnswersSaysWhy(t *testing.T) {
	t.Parallel()
	self, err := exec.LookPath("eggo-tui")
	must(t, err)
	said, saying, err := os.Pipe()
	must(t, err)
	defer said.Close()
	cmd := exec.Command(self, operation.DetachedVerb, "deploy")
	cmd.Stdin, cmd.ExtraFiles = strings.NewReader("{"), []*os.File{saying}
	_ = cmd.Run()
	saying.Close()
	var r struct{ Fault *event.Fault }
	must(t, json.NewDecoder(said).Decode(&r))
	if r.Fault == nil || r.Fault.Code != "launch.process" || r.Fault.Class != event.ClassFailed ||
		r.Fault.Cause == "" || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%+v, exit code %d", r.Fault, cmd.ProcessState.ExitCode())
	}
}
