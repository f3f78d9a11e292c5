package operation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// The process of a launched run is this test binary again, by a variable of its environment.
const (
	labVariable  = "EGGO_TEST_LAB"  // the lab's directory
	playVariable = "EGGO_TEST_PLAY" // what is to go wrong
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(labVariable); dir != "" {
		os.Exit(detachedProcess(dir, os.Getenv(playVariable)))
	}
	os.Exit(m.Run())
}

// detachedProcess is what a program does for its runs.
func detachedProcess(dir, play string) int {
	never := make(chan struct{})
	if play == "words" {
		fmt.Fprintln(os.Stderr, "no such luck")
		return 1
	}
	err := RunDetached(context.Background(), os.Stdin, os.NewFile(ReportFD, "report"), func(e Envelope) (Deps, error) {
		if play == "early" {
			<-never
		}
		lab, err := phasestest.OpenLab(dir)
		if err != nil {
			return Deps{}, err
		}
		d := fakesOf(lab).deps()
		d.Version = e.Version
		if play == "step" {
			d.Sink = sinkFunc(func(r event.Record) error {
				if _, is := r.Event.(event.StepStarted); is {
					<-never
				}
				return nil
			})
		}
		return d, nil
	}, func(*Handle) func() { return func() {} }, func(err error) { fmt.Fprintln(os.Stderr, err) })
	if err != nil {
		return 1
	}
	return 0
}

// launcher launches this binary for a lab.
func launcher(t *testing.T, f *fakes, play string) (l Launcher, args func() []string) {
	t.Helper()
	var used []string
	return Launcher{Root: f.root, Lang: "en", Version: "v9", Command: func(args ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), labVariable+"="+f.lab.Dir, playVariable+"="+play)
		used = cmd.Args
		return cmd, err
	}}, func() []string { return used }
}

// A launched run gets its request and its secrets by a pipe; the handle knows how it ended.
func TestALaunchedRun(t *testing.T) {
	f, _ := simulate(t, phasestest.Shape{Masters: 1})
	l, args := launcher(t, f, "")
	h, err := l.Launch(deployOf(f), request.Answers{Secrets: map[string]string{"password": "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := h.Started(t.Context())
	if err != nil || run.Cluster != "sim" || run.Dir == "" {
		t.Fatalf("%+v %v", run, err)
	}
	if strings.Contains(strings.Join(args(), " "), "hunter2") || args()[1] != DetachedVerb || args()[2] != "deploy" {
		t.Error(args())
	}
	var first event.RunStarted
	for rec, err := range h.Events(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if e, is := rec.Event.(event.RunStarted); is {
			first = e
		}
	}
	res, err := h.Wait(t.Context())
	if err != nil || !res.Logged || res.Outcome != event.Changed || first.Version != "v9" {
		t.Errorf("%+v %v %+v", res, err, first)
	}
}

// What is refused before there is a run comes back to who launched it.
func TestALaunchedRunThatIsRefused(t *testing.T) {
	f, _ := simulate(t, phasestest.Shape{Masters: 1})
	l, _ := launcher(t, f, "")
	nowhere := request.Common{Source: request.Source{File: "/nowhere.yaml"}}
	h, err := l.Launch(request.Deploy{Common: nowhere}, request.Answers{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Started(t.Context()); code(err) != "config.no-file" {
		t.Error(err)
	}
	if res, err := h.Wait(t.Context()); code(err) != "config.no-file" || res.Logged {
		t.Errorf("%+v %v", res, err)
	}
}

// A process that ends without a report: its own words are the cause, unless it was asked to end.
func TestAProcessThatSaysNothing(t *testing.T) {
	f, _ := simulate(t, phasestest.Shape{Masters: 1})
	l, _ := launcher(t, f, "words")
	h, err := l.Launch(deployOf(f), request.Answers{})
	if err == nil {
		_, err = h.Started(t.Context())
	}
	if got := event.AsFault(err); got.Code != "launch.process" || got.Cause != "no such luck" {
		t.Error(err)
	}
	l, _ = launcher(t, f, "early")
	if h, err = l.Launch(deployOf(f), request.Answers{}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Started(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := h.Started(t.Context()); code(err) != "run.interrupted" {
		t.Error(err)
	}
}

// A run whose process was killed: what it was at is known from its log.
func TestAProcessThatIsKilled(t *testing.T) {
	f, _ := simulate(t, phasestest.Shape{Masters: 1})
	l, _ := launcher(t, f, "step")
	h, err := l.Launch(deployOf(f), request.Answers{})
	if err != nil {
		t.Fatal(err)
	}
	for rec := range h.Events(t.Context(), 1) {
		if _, is := rec.Event.(event.StepStarted); is {
			break
		}
	}
	if err := h.Kill(); err != nil {
		t.Error(err)
	}
	res, err := h.Wait(t.Context())
	if !errors.Is(err, ErrDied) || res.How != "signal: killed" || len(res.Active) == 0 || res.Logged {
		t.Errorf("%+v %v", res, err)
	}
}

// An envelope of another version of the program is refused.
func TestAnEnvelopeOfAnotherFormat(t *testing.T) {
	for _, in := range []string{"", `{"format":2}`, `{"format":1,"request":{"verb":"reboot"}}`} {
		if _, err := readEnvelope(strings.NewReader(in)); code(err) != "launch.process" {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// JSON has no bytes that are no UTF-8: a path with some would be another one in the process of the run.
func TestPathsThatJSONHasNot(t *testing.T) {
	const bad = "/srv/\xe9t\xe9"
	at := request.OfFile("/deploy.yaml")
	signers, hooks := at, at
	signers.Trust.Signers, hooks.Hooks.After = bad, []string{"/ok", bad + ",worker"}
	for what, e := range map[string]Envelope{
		"root":     {Root: bad, Request: request.Deploy{Common: at}},
		"file":     {Request: request.Deploy{Common: request.OfFile(bad)}},
		"signers":  {Request: request.Deploy{Common: signers}},
		"hooks":    {Request: request.Cleanup{Common: hooks}},
		"list":     {Request: request.Join{Common: at, List: bad}},
		"out":      {Request: request.Snapshot{Common: at, Out: bad}},
		"snapshot": {Request: request.Restore{Common: at, Snapshot: bad}},
	} {
		if _, err := e.encode(); code(err) != "launch.path" || event.AsFault(err).Args["path"] == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	l := Launcher{Root: bad}
	if _, err := l.Launch(request.Deploy{Common: at}, request.Answers{}); code(err) != "launch.path" {
		t.Error(err)
	}
	if _, err := (Envelope{Root: "/srv/été", Request: request.Deploy{Common: at}}).encode(); err != nil {
		t.Error(err)
	}
}
