package operation

import (
	"context"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func failure(step string, class event.Class) engine.Failure {
	return engine.Failure{Step: &engine.Step{ID: step}, Fault: event.NewFault(class, "ssh.lost", nil)}
}

// What was decided on a board reaches the engine; the first answer counts, and what cannot change by another try asks
// nobody.
func TestDecisions(t *testing.T) {
	dir := t.TempDir()
	l := &local{asked: &asked{}, stop: make(chan struct{}), cancel: func() {}}
	srv, err := control.Serve(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	got := make(chan engine.Decision)
	go func() { got <- l.asked.Decide(t.Context(), failure("a", event.ClassFailed)) }()
	c := control.Client{Dir: dir}
	for c.Decide("a", event.TryAgain) != nil { // until it asks
	}
	if x := <-got; x != engine.TryAgain {
		t.Error(x)
	}
	if f := event.AsFault(c.Decide("a", event.Abort)); f == nil || f.Code != "control.not-asked" {
		t.Error(f)
	}
	if x := l.asked.Decide(t.Context(), failure("b", event.ClassPreflight)); x != engine.Abort {
		t.Error(x)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := l.asked.Decide(ctx, failure("c", event.ClassFailed)); x != engine.GoOn {
		t.Error(x)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	<-l.stop
}

type fakeClock struct{ slept time.Duration }

func (c *fakeClock) Now() time.Time { return time.Time{} }

func (c *fakeClock) Sleep(_ context.Context, d time.Duration) error {
	c.slept += d
	return nil
}

// A step is tried again as often as the request says; what another try cannot change is not.
func TestRetriesOfARequest(t *testing.T) {
	clock := &fakeClock{}
	var opts engine.Options
	decisions(request.OnFailure{Do: event.TryAgain, Retries: 2}, Deps{Clock: clock}, &asked{}, &opts)
	var got []engine.Decision
	for range 3 {
		got = append(got, opts.Decide(t.Context(), failure("a", event.ClassFailed)))
	}
	got = append(got, opts.Decide(t.Context(), failure("b", event.ClassAuth)))
	want := []engine.Decision{engine.TryAgain, engine.TryAgain, engine.Abort, engine.Abort}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if clock.slept != 2*pauseBetweenRounds {
		t.Error(clock.slept)
	}
	opts = engine.Options{}
	decisions(request.OnFailure{Do: event.LeaveOut}, Deps{}, &asked{}, &opts)
	if opts.Decide != nil || opts.OnFailure != engine.LeaveOut {
		t.Errorf("%+v", opts)
	}
}

// What is done about unknown host keys, by what was said and who is there.
func TestThePolicyForHostKeys(t *testing.T) {
	nobody, told, person := Deps{}, Deps{Asker: ask.Nobody{}, Unattended: true}, Deps{Asker: ask.Nobody{}}
	for _, c := range []struct {
		said string
		d    Deps
		want remote.Policy
	}{
		{"", nobody, remote.Strict}, {"", told, remote.Strict}, {"", person, remote.Ask},
		{"ask", told, remote.Ask}, {"strict", person, remote.Strict}, {"accept-new", nobody, remote.AcceptNew},
	} {
		if got, err := hostKeyPolicy(c.said, c.d); got != c.want || err != nil {
			t.Errorf("%+v: %v (%v)", c, got, err)
		}
	}
	if _, err := hostKeyPolicy("yes", person); event.AsFault(err).Code != "usage.host-keys" {
		t.Error(err)
	}
}
