package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// A run is a process of its own, in a session of its own: this program, called with apartVerb and a usual command line.
// It reads what it needs to know but no command line may show from stdin, says on apartFD which run it is, and then
// speaks by its event log alone.
const (
	apartVerb = "__apart"
	apartFD   = 3
	apartLog  = "process.log" // of the run's directory: what the program says besides
)

// answers are what the process reads: what was asked before it began, for it has nobody to ask.
type answers struct {
	Secrets   map[string]string `json:"secrets,omitempty"`    // by the asker's id
	Confirmed bool              `json:"confirmed,omitempty"`  // what --yes says
	HostKeys  string            `json:"host_keys,omitempty"`  // in place of --host-keys: what could be asked was
	OnFailure string            `json:"on_failure,omitempty"` // in place of --on-failure
}

// over gives the options with what the answers have in place of flags.
func (a *answers) over(o runOptions) runOptions {
	if a != nil {
		o.hostKeys, o.failure = cmp.Or(a.HostKeys, o.hostKeys), cmp.Or(a.OnFailure, o.failure)
	}
	return o
}

// request are the answers as an operation takes them.
func (a *answers) request() (request.Answers, error) {
	out := request.Answers{Secrets: a.Secrets, HostKeys: a.HostKeys}
	if a.OnFailure != "" {
		o, err := request.ParseOnFailure(a.OnFailure)
		if err != nil {
			return out, err
		}
		out.OnFailure = &o
	}
	return out, nil
}

// apartReport is what the process says: first which run it is or why there is none, and at its end what went wrong that
// no log has.
type apartReport struct {
	Cluster string       `json:"cluster,omitempty"`
	Run     string       `json:"run,omitempty"`
	Dir     string       `json:"dir,omitempty"`
	Fault   *event.Fault `json:"fault,omitempty"`
}

// runApart is the process.
func runApart(ctx context.Context, signals *interrupts) int {
	syscall.CloseOnExec(apartFD)
	report := json.NewEncoder(os.NewFile(apartFD, "report"))
	var in answers
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&in); err != nil {
		fault := event.NewFault(event.ClassFailed, "launch.process", fmt.Errorf("what was asked did not arrive: %w", err))
		if report.Encode(apartReport{Fault: fault}) != nil {
			fmt.Fprintln(os.Stderr, fault) // nobody is there to hear
		}
		return int(exitcode.OfClass(fault.Class))
	}
	env := &environment{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: os.Stderr, Args: append(os.Args[:1:1], os.Args[2:]...),
		P: i18n.NewPrinter(i18n.FromEnv()), Getenv: os.Getenv, Interrupts: signals, Ask: kept(in.Secrets), Answers: &in,
	}
	env.Opened = func(cluster, run, dir string) error {
		if err := redirect(filepath.Join(dir, apartLog)); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		// Whoever began it may be gone already: the run continues.
		_ = report.Encode(apartReport{Cluster: cluster, Run: run, Dir: dir})
		return nil
	}
	err := execute(ctx, env)
	if err != nil && !errors.As(err, new(errReported)) && report.Encode(apartReport{Fault: event.AsFault(err)}) != nil {
		printError(env, err) // nobody is there to hear
	}
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
		return "", errNobody
	}
	return v, nil
}

func (k kept) signer(context.Context, backend.Signer) (bool, error) { return false, errNobody }

func (k kept) hostKey(context.Context, remote.HostKeyQuestion) (bool, error) { return false, nil }
