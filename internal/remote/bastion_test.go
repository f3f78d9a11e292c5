package remote_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// bastionOf makes the way through a server, itself behind via.
func bastionOf(t *testing.T, s *remotetest.Server, name string, via *remote.Bastion, o remote.Options) *remote.Bastion {
	t.Helper()
	o.Via = via
	b := remote.NewBastion(remote.Target{Name: name, Addr: s.IP, Port: s.Port, User: "hop", Password: "of the hop"}, o)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func hop(t *testing.T, opts ...remotetest.Option) *remotetest.Server {
	t.Helper()
	return remotetest.New(t, append(opts, remotetest.WithUser("hop", "of the hop"))...)
}

// Thirty nodes behind two bastions: one connection to each bastion, and every node works.
func TestManyNodesShareTheBastions(t *testing.T) {
	t.Parallel()
	outer, inner := hop(t), hop(t)
	var nodes []*remotetest.Server
	for range 30 {
		nodes = append(nodes, remotetest.New(t))
	}
	o := options(t, nodes[0])
	via := bastionOf(t, inner, "inner", bastionOf(t, outer, "outer", nil, o), o)
	o.Via, o.Shared = via, remote.NewShared(remote.Limits{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var bad []error
	var hosts []*remote.Host
	for i, n := range nodes {
		wg.Go(func() {
			own := o
			own.LockFile = n.Root + "/lock"
			h, err := remote.Dial(limit(t), remote.Target{Name: fmt.Sprintf("n%d", i), Addr: n.IP, Port: n.Port,
				Password: "secret"}, own)
			if err == nil {
				_, err = h.Run(limit(t), shell.Command{Script: "echo hello"})
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				bad = append(bad, err)
			}
			if h != nil {
				hosts = append(hosts, h)
			}
		})
	}
	wg.Wait()
	for _, h := range hosts {
		_ = h.Close()
	}
	for _, err := range bad {
		t.Error(err)
	}
	for name, s := range map[string]*remotetest.Server{"outer": outer, "inner": inner} {
		if got := s.Connections(); got != 1 {
			t.Errorf("%d connections to the %s bastion, want 1", got, name)
		}
		if got := s.Sessions(); got != 0 {
			t.Errorf("%d sessions on the %s bastion, want none", got, name)
		}
	}
}

// A bastion whose connections break is reached again, and so are the nodes behind it.
func TestBastionIsReachedAgain(t *testing.T) {
	b, n := hop(t), remotetest.New(t)
	o := options(t, n)
	o.Via = bastionOf(t, b, "b", nil, o)
	h := dial(t, target(n), o)
	if _, err := h.Run(limit(t), shell.Command{Script: "echo one"}); err != nil {
		t.Fatal(err)
	}
	b.Cut()
	// The command may find the connection lost under it; what is tried after that finds a new one.
	var err error
	for range 3 {
		if _, err = h.Run(limit(t), shell.Command{Script: "echo two"}); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Connections(); got != 2 {
		t.Errorf("%d connections to the bastion, want 2", got)
	}
}

// What goes wrong on a bastion is told with its name; what goes wrong behind it with the node's.
func TestBastionFaults(t *testing.T) {
	n := remotetest.New(t)
	closed := remotetest.New(t)
	closed.Down()
	noForward, good, unknown := hop(t, remotetest.WithoutForwarding()), hop(t), hop(t)
	for _, tc := range []struct {
		name, code, node string
		server           *remotetest.Server
		policy           remote.Policy
		password         string
		to               *remotetest.Server
		class            event.Class
	}{
		{name: "no forwarding", code: "ssh.forward-prohibited", node: "b", server: noForward, to: n,
			class: event.ClassFailed},
		{name: "wrong password", code: "ssh.auth", node: "b", server: good, password: "wrong", to: n,
			class: event.ClassAuth},
		{name: "unknown host key", code: "ssh.hostkey-unknown", node: "b", server: unknown, policy: remote.Strict,
			to: n, class: event.ClassAuth},
		{name: "down", code: "ssh.connect-refused", node: "b", server: closed, to: n, class: event.ClassFailed},
		{name: "the node is down", code: "ssh.behind-bastion", node: "n1", server: good, to: closed,
			class: event.ClassFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t, n)
			if tc.policy != "" {
				o.HostKeys = tc.policy
			}
			tg := remote.Target{Name: "b", Addr: tc.server.IP, Port: tc.server.Port, User: "hop",
				Password: "of the hop"}
			if tc.password != "" {
				tg.Password = tc.password
			}
			b := remote.NewBastion(tg, o)
			defer b.Close()
			o.Via = b
			_, err := remote.Dial(limit(t), target(tc.to), o)
			f := event.AsFault(err)
			if f == nil || f.Code != tc.code || f.Node != tc.node || f.Class != tc.class {
				t.Errorf("%+v, want %s on %s of class %s", f, tc.code, tc.node, tc.class)
			}
		})
	}
}

// A person who thinks about the bastion's host key is not hurried by the clocks of the nodes behind it, and is asked
// once.
func TestBastionAsksOnce(t *testing.T) {
	b := hop(t)
	nodes := []*remotetest.Server{remotetest.New(t), remotetest.New(t), remotetest.New(t)}
	o := options(t, nodes[0])
	for _, n := range nodes {
		o.HostKeys = remote.AcceptNew
		direct := dial(t, target(n), o) // their keys are known
		_ = direct.Close()
	}
	o.HostKeys = remote.Ask
	var mu sync.Mutex
	asked := 0
	o.Ask = func(_ context.Context, q remote.HostKeyQuestion) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return q.Node == "b" && q.Fingerprint == ssh.FingerprintSHA256(b.HostKey()), nil
	}
	o.Via = bastionOf(t, b, "b", nil, o)
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			own := o
			own.LockFile = n.Root + "/lock"
			h, err := remote.Dial(limit(t), target(n), own)
			if err != nil {
				t.Error(err)
				return
			}
			_ = h.Close()
		})
	}
	wg.Wait()
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}
