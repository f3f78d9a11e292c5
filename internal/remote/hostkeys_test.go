package remote_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
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
		if n.Host != "n1" || n.Step != "the step" || n.Text.Key != "notice.known-hosts-locked" ||
			n.Text.Args["file"] != o.KnownHosts+".lock" {
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

// A key that the file marks as revoked is refused under every policy, with the line that says so; it is not asked
// about.
func TestARevokedHostKey(t *testing.T) {
	s := remotetest.New(t)
	o := options(t, s)
	line := "# a key that was stolen\n@revoked * " + string(ssh.MarshalAuthorizedKey(s.HostKey()))
	if err := os.WriteFile(o.KnownHosts, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Ask = func(context.Context, remote.HostKeyQuestion) (bool, error) {
		t.Error("asked")
		return true, nil
	}
	for _, p := range []remote.Policy{remote.Strict, remote.AcceptNew, remote.Ask} {
		o.HostKeys = p
		f := wantFault(t, dialFails(t, target(s), o), "ssh.hostkey-revoked")
		if f.Class != event.ClassAuth || f.Retry || f.Args["fingerprint"] != ssh.FingerprintSHA256(s.HostKey()) ||
			f.Args["line"] != o.KnownHosts+":2" {
			t.Errorf("%s: %+v", p, f)
		}
	}
}

// A file that cannot be read any more while a connection is made refuses it.
func TestAHostKeyThatCannotBeChecked(t *testing.T) {
	s := remotetest.New(t)
	o := options(t, s)
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err := os.Mkdir(o.KnownHosts, 0o700); err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	f := wantFault(t, dialFails(t, target(s), o), "ssh.hostkey")
	if f.Class != event.ClassAuth || f.Retry || !strings.Contains(f.Cause, o.KnownHosts) || f.Args["addr"] != s.Addr {
		t.Errorf("%+v", f)
	}
}

// A host key that was compared elsewhere is accepted for its address, also by a policy that asks nobody, and is known
// from then on. It takes the place of no other key.
func TestAHostKeyThatIsAccepted(t *testing.T) {
	s := remotetest.New(t)
	o := options(t, s)
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.HostKey())))
	o.HostKeys, o.Accepted = remote.Strict, map[string][]string{"192.0.2.1:22": {key}}
	f := wantFault(t, dialFails(t, target(s), o), "ssh.hostkey-unknown")
	if f.Args["key"] != key {
		t.Errorf("%+v", f)
	}
	if _, err := os.Stat(o.KnownHosts); err == nil {
		t.Error("it was added for another address")
	}
	o.Accepted = map[string][]string{s.Addr: {"ssh-ed25519", "ssh-ed25519 AAAA", key + " root@n1"}}
	dial(t, target(s), o)
	o.Accepted = nil
	dial(t, target(s), o)
	s.ChangeHostKey()
	o.Accepted = map[string][]string{s.Addr: {strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.HostKey())))}}
	wantFault(t, dialFails(t, target(s), o), "ssh.hostkey-changed")
}

// A node is asked for a key of the kind that is accepted, for it may have others.
func TestTheKindOfAnAcceptedHostKey(t *testing.T) {
	s := remotetest.New(t)
	o := options(t, s)
	o.Accepted = map[string][]string{s.Addr: {"ssh-rsa AAAA"}}
	f := wantFault(t, dialFails(t, target(s), o), "ssh.hostkey-changed")
	if !strings.Contains(f.Args["known"], "rsa-sha2-512") {
		t.Errorf("%+v", f)
	}
}

// A key that was accepted is made safe before the connection is used, and what could not be made safe ends it and is
// tried again by the next one.
func TestAnAcceptedKeyIsMadeSafe(t *testing.T) {
	t.Parallel()
	for _, policy := range []remote.Policy{remote.AcceptNew, remote.Ask} {
		s := remotetest.New(t)
		o := options(t, s)
		o.HostKeys, o.Shared = policy, remote.NewShared(remote.Limits{})
		o.Ask = func(context.Context, remote.HostKeyQuestion) (bool, error) { return true, nil }
		var calls, sessions int
		var fault error = os.ErrPermission
		o.Added = func(context.Context) error {
			calls++
			sessions = int(s.Sessions())
			return fault
		}
		_, err := remote.Dial(limit(t), target(s), o)
		wantFault(t, err, "state.write")
		if calls != 1 || sessions != 0 {
			t.Errorf("%s: called %d times, after %d commands", policy, calls, sessions)
		}
		fault = nil
		for range 2 {
			dial(t, target(s), o)
		}
		if calls != 2 {
			t.Errorf("%s: called %d times", policy, calls)
		}
	}
}
