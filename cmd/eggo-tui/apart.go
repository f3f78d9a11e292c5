package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// A run that was begun on the screen is a process of its own, in a session of its own: this program, called with apartVerb and a usual
// command line. It reads what it needs to know but no command line may show from stdin, says on apartFD which run it is, and then speaks by
// its event log alone.
const (
	apartVerb = "__apart"
	apartFD   = 3
	apartLog  = "process.log" // of the run's directory: what the program says when it breaks
)

// apartInput is what the process reads.
type apartInput struct {
	Secrets map[string]string `json:"secrets,omitempty"` // by the asker's id
}

// apartReport is what the process says, once.
type apartReport struct {
	Cluster string       `json:"cluster,omitempty"`
	Run     string       `json:"run,omitempty"`
	Fault   *event.Fault `json:"fault,omitempty"` // there is no run, and why
}

// runApart is the process.
func runApart(ctx context.Context, signals *interrupts) int {
	report := os.NewFile(apartFD, "report")
	var in apartInput
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&in); err != nil {
		return int(exitcode.Of(usageFault(err)))
	}
	said := false
	say := func(r apartReport) error {
		said = true
		return errors.Join(json.NewEncoder(report).Encode(r), report.Close())
	}
	env := &environment{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: os.Stderr, Args: append(os.Args[:1:1], os.Args[2:]...),
		P: i18n.NewPrinter(i18n.FromEnv()), Getenv: os.Getenv, Interrupts: signals, Ask: kept(in.Secrets),
	}
	env.Opened = func(cluster, run, dir string) error {
		if err := redirect(filepath.Join(dir, apartLog)); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		_ = say(apartReport{Cluster: cluster, Run: run}) // whoever began it may be gone already: it goes on
		return nil
	}
	err := execute(ctx, env)
	if !said && err != nil {
		_ = say(apartReport{Fault: event.AsFault(err)})
	}
	printError(env, err)
	return int(exitcode.Of(err))
}

// redirect makes a file of what goes to stdout and stderr, panics too.
func redirect(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, fd := range []int{1, 2} {
		if err := syscall.Dup3(int(f.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// kept answers with what was asked before the process began.
type kept map[string]string

func (k kept) secret(_ context.Context, id string, _ event.Msg) (string, error) {
	v, ok := k[id]
	if !ok {
		return "", errors.New("nobody is there to ask")
	}
	return v, nil
}

func (k kept) hostKey(context.Context, remote.HostKeyQuestion) (bool, error) { return false, nil }
