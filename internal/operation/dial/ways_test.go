package dial

import (
	"context"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// keyed is an asker that hands questions about host keys to a function.
type keyed struct {
	asker
	trusts func(ctx context.Context, k ask.HostKey) (bool, error)
}

func (k keyed) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	keys, is := q.(ask.HostKeys)
	if !is {
		return k.asker.Ask(ctx, q)
	}
	yes, err := k.trusts(ctx, keys.Keys[0])
	return ask.Answer{Trusted: []bool{yes}}, err
}

// behindOne is a cluster of one machine behind a bastion, as the wizard probes it.
func behindOne(node, bastion *remotetest.Server, password string) *config.Cluster {
	c := &config.Cluster{Nodes: []config.Node{{Name: "n1", IP: netip.MustParseAddr(node.IP), Port: node.Port}}}
	c.SSH = config.SSH{User: "root", Password: "secret"}
	c.Eggo.Bastions = []config.Bastion{{Host: bastion.IP, Port: bastion.Port, User: "root", Password: password}}
	return c
}

// probes dials one machine by many Connections at once, which end at the end of the test, and returns their errors.
func probes(t *testing.T, d *SSH, c *config.Cluster, count int) (errs []error, closeAll func()) {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known_hosts")
	errs = make([]error, count)
	open := make([]operation.Connections, count)
	var all sync.WaitGroup
	for i := range count {
		conns, err := d.Connections(operation.Access{Cluster: c, HostKeys: remote.AcceptNew, ShareBastions: true,
			KnownHosts: func() string { return known }})
		if err != nil {
			t.Fatal(err)
		}
		open[i] = conns
		all.Go(func() { _, errs[i] = conns.Dial(t.Context(), c.Nodes[0]) })
	}
	all.Wait()
	return errs, func() {
		for _, c := range open {
			c.Close()
		}
	}
}

// Probes that run at the same time open one connection to their bastion, and the last one of them ends it.
func TestProbesShareABastion(t *testing.T) {
	node, bastion := remotetest.New(t), remotetest.New(t)
	d := New(Options{Home: t.TempDir()})
	c := behindOne(node, bastion, "secret")
	for round := range int64(2) {
		errs, end := probes(t, d, c, 16)
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		if n := bastion.Connections(); n != round+1 {
			t.Errorf("round %d: %d connections to the bastion", round, n)
		}
		end()
		if len(d.ways) > 0 || d.reserved != 0 || d.dials != 0 {
			t.Errorf("%d chains, %d descriptors and %d dials are left", len(d.ways), d.reserved, d.dials)
		}
	}
	if n := node.Connections(); n != 32 {
		t.Errorf("%d connections to the node", n)
	}
	other := behindOne(node, bastion, "secret")
	other.Eggo.Bastions[0].User = "ops"
	_, end := probes(t, d, c, 1)
	defer end()
	errs, endOther := probes(t, d, other, 1)
	defer endOther()
	if f := event.AsFault(errs[0]); f == nil || f.Class != event.ClassAuth {
		t.Error("another login uses the same connection:", errs[0])
	}
}

// A bastion that refuses the login is tried once for all probes that wait for it.
func TestARefusedBastionIsTriedOnce(t *testing.T) {
	node, bastion := remotetest.New(t), remotetest.New(t)
	d := New(Options{Home: t.TempDir()})
	c := behindOne(node, bastion, "wrong")
	known := filepath.Join(t.TempDir(), "known_hosts")
	var open []operation.Connections
	for range 5 {
		conns, err := d.Connections(operation.Access{Cluster: c, HostKeys: remote.AcceptNew, ShareBastions: true,
			KnownHosts: func() string { return known }})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conns)
		defer conns.Close()
	}
	// The chain has users before the first of them fails: each has dialled nothing else yet.
	first := open[0].(*connections)
	if _, w := first.bastion(c.Nodes[0]); w == nil {
		t.Fatal("no chain")
	}
	for _, conns := range open {
		_, err := conns.Dial(t.Context(), c.Nodes[0])
		if f := event.AsFault(err); f == nil || f.Class != event.ClassAuth || f.Node != bastion.IP {
			t.Error(err)
		}
	}
	if n := bastion.PasswordTries(); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// The question for the key of a shared bastion goes to the probe that waits for the answer, not to one that has ended.
func TestTheProbeThatWaitsIsAsked(t *testing.T) {
	node, bastion := remotetest.New(t), remotetest.New(t)
	d := New(Options{Home: t.TempDir()})
	c := behindOne(node, bastion, "secret")
	known := filepath.Join(t.TempDir(), "known_hosts")
	connect := func(trusts func(context.Context, ask.HostKey) (bool, error)) operation.Connections {
		conns, err := d.Connections(operation.Access{Cluster: c, HostKeys: remote.Ask, ShareBastions: true,
			KnownHosts: func() string { return known }, Asker: keyed{trusts: trusts}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conns.Close() })
		return conns
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := connect(func(ctx context.Context, _ ask.HostKey) (bool, error) {
		cancel()
		<-ctx.Done()
		return false, ctx.Err()
	})
	if _, err := gone.Dial(ctx, c.Nodes[0]); err == nil {
		t.Error("dialled though the user has left")
	}
	var asked []string
	stays := connect(func(_ context.Context, q ask.HostKey) (bool, error) {
		asked = append(asked, q.Addr)
		return true, nil
	})
	if _, err := stays.Dial(t.Context(), c.Nodes[0]); err != nil || len(asked) != 2 {
		t.Errorf("asked about %q: %v", asked, err)
	}
}
