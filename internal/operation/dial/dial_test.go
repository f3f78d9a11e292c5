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
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// at is a server as a node of a cluster.
func at(s *remotetest.Server, name string) config.Node {
	return config.Node{Name: name, IP: netip.MustParseAddr(s.IP), Port: s.Port}
}

// open makes the connections of a cluster in a directory of its own.
func open(t *testing.T, d *SSH, c *config.Cluster) operation.Connections {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known_hosts")
	conns, err := d.Connections(operation.Access{
		Cluster: c, HostKeys: remote.AcceptNew, KnownHosts: func() string { return known },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conns.Close() })
	return conns
}

// A node is connected to once, also when several want it at once, and not any more when the run is over.
func TestANodeIsDialledOnce(t *testing.T) {
	s := remotetest.New(t)
	d := New(Options{Home: t.TempDir()})
	c := &config.Cluster{Nodes: []config.Node{at(s, "n1")}}
	c.SSH = config.SSH{User: "root", Password: "secret"}
	conns := open(t, d, c)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			h, err := conns.Dial(t.Context(), c.Nodes[0])
			if err != nil {
				t.Error(err)
				return
			}
			if r, err := h.Run(t.Context(), shell.Command{Script: "echo here"}); err != nil ||
				string(r.Stdout) != "here\n" {
				t.Error(string(r.Stdout), err)
			}
		})
	}
	all.Wait()
	if n := s.Connections(); n != 1 {
		t.Error("connections:", n)
	}
	for range 2 {
		if err := conns.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := conns.Dial(t.Context(), c.Nodes[0])
	if f := event.AsFault(err); f == nil || f.Class != event.ClassInterrupted || f.Node != "n1" {
		t.Error("dialled after the end:", err)
	}
	if d.reserved != 0 || d.dials != 0 {
		t.Errorf("%d descriptors and %d dials are left", d.reserved, d.dials)
	}
}

// Machines of a pool are logged in to each in its own way; the cluster's password goes to none that has its own.
func TestLoginsPerMachine(t *testing.T) {
	first := remotetest.New(t)
	sudo := remotetest.Sudo{Password: "for-sudo"}
	second := remotetest.New(t, remotetest.WithUser("ops", "pools-own"), remotetest.WithSudo(sudo))
	c := &config.Cluster{Nodes: []config.Node{at(first, "n1"), at(second, "n2")}}
	c.SSH = config.SSH{User: "root", Password: "secret"}
	c.Eggo.Machines = map[string]config.Login{"n2": {User: "ops", PasswordFrom: "prompt", SudoPasswordFrom: "prompt"}}
	asked := asker{"password n2": "pools-own", "sudo n2": "for-sudo"}
	if err := operation.ResolveSecrets(t.Context(), c, asked); err != nil {
		t.Fatal(err)
	}
	conns := open(t, New(Options{Home: t.TempDir()}), c)
	for _, n := range c.Nodes {
		if _, err := conns.Dial(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	if got := second.SudoPasswords(); len(got) != 1 || got[0] != "for-sudo" {
		t.Error(got)
	}
}

// asker has secrets by the ID of their question.
type asker map[string]string

func (a asker) Ask(_ context.Context, q ask.Question) (ask.Answer, error) {
	if s, is := q.(ask.Secret); is {
		return ask.Answer{Secret: a[s.ID]}, nil
	}
	return ask.Answer{}, ask.ErrNobody
}
