package remote_test

import (
	"context"
	"testing"

	"github.com/gofrs/flock"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/remotetest"
)

// A first contact whose known_hosts another process has locked says what it waits for, and can be cancelled.
func TestKnownHostsThatAnotherProcessHolds(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	said := make(chan event.Notice, 1)
	o.Emit = func(e event.Event) {
		if n, ok := e.(event.Notice); ok {
			said <- n
		}
	}
	o.Step = func(context.Context) string { return "the step" }
	lock := flock.New(o.KnownHosts + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	ctx, cancel := context.WithCancel(limit(t))
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := remote.Dial(ctx, target(s), o)
		got <- err
	}()
	select {
	case n := <-said:
		if n.Host != "n1" || n.Step != "the step" || n.Text.Key != "notice.known-hosts-locked" || n.Text.Args["file"] != o.KnownHosts+".lock" {
			t.Errorf("%+v", n)
		}
	case <-limit(t).Done():
		t.Fatal("it says nothing")
	}
	cancel()
	wantFault(t, <-got, "ssh.cancelled")
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	dial(t, target(s), o)
}
