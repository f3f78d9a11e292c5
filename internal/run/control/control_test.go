package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

type asked struct {
	mu   sync.Mutex
	what []string
}

func (a *asked) note(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what = append(a.what, s)
}

func (a *asked) Decide(step string, d event.Decision) error {
	a.note(step + "=" + string(d))
	if step == "b" {
		return event.NewFault(event.ClassUsage, "control.not-asked", nil, "step", step)
	}
	return nil
}
func (a *asked) Stop()  { a.note("stop") }
func (a *asked) Abort() { a.note("abort") }

// A board decides, stops and aborts over the socket, also where the directory's name is longer than a socket's may be;
// only its owner can.
func TestAskAndAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &asked{}
	s, err := Serve(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := os.Lstat(filepath.Join(dir, "control")); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", i, err)
	}
	c := Client{dir}
	for _, err := range []error{c.Decide("a", event.TryAgain), c.Stop(), c.Abort()} {
		if err != nil {
			t.Error(err)
		}
	}
	code := func(err error) string {
		var f *event.Fault
		errors.As(err, &f)
		if f == nil {
			return ""
		}
		return f.Code
	}
	if got := code(c.Decide("b", event.Abort)); got != "control.not-asked" {
		t.Error(got)
	}
	if got := code(c.Decide("a", "perhaps")); got != "control.request" {
		t.Error(got)
	}
	if got := strings.Join(h.what, " "); got != "a=retry stop abort b=abort" {
		t.Error(got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := code(c.Stop()); got != "control.gone" {
		t.Error(got)
	}
	// Somebody's directory is in the socket's place, or the run's directory is gone.
	for name, make := range map[string]func(dir string) error{
		"taken": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "control", "x"), 0o700) },
		"gone":  func(string) error { return nil },
	} {
		at := filepath.Join(t.TempDir(), "run")
		if err := make(at); err != nil {
			t.Fatal(err)
		}
		_, err := Serve(at, h)
		if f := event.AsFault(err); f == nil || f.Code != "control.serve" || f.Args["path"] != at {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What a killed process left is no obstacle.
	if err := os.WriteFile(filepath.Join(dir, "control"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := code(c.Stop()); got != "control.gone" {
		t.Error(got)
	}
	if s, err = Serve(dir, h); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Stop(), s.Close()); err != nil {
		t.Error(err)
	}
}
