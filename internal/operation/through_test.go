package operation

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// sshOnly are nodes of which some cannot be logged in to, and some cannot reach what lies behind.
type sshOnly struct {
	access        Access
	down, blind   map[string]bool
	logins, calls []string
	closed        bool
}

func (s *sshOnly) Connections(a Access) (Connections, error) { s.access = a; return s, nil }
func (s *sshOnly) Close() error                              { s.closed = true; return nil }

func (s *sshOnly) Dial(_ context.Context, n config.Node) (Host, error) {
	s.logins = append(s.logins, n.Name)
	if s.down[n.Name] {
		return nil, event.NewFault(event.ClassFailed, "ssh.connect", nil).On(n.Name)
	}
	return sshHost{of: s, name: n.Name}, nil
}

type sshHost struct {
	node.Host
	of   *sshOnly
	name string
}

func (h sshHost) Close() error                       { return nil }
func (h sshHost) Lock(context.Context, string) error { return errors.New("locked") }

func (h sshHost) Dial(_ context.Context, network, addr string) (net.Conn, error) {
	h.of.calls = append(h.of.calls, h.name+" "+network+" "+addr)
	if h.of.blind[h.name] {
		return nil, event.NewFault(event.ClassFailed, "ssh.forward-failed", nil).On(h.name)
	}
	here, there := net.Pipe()
	_ = there.Close()
	return here, nil
}

const threeMasters = `cluster-id: one
username: root
password: x
eggo: {host-keys: accept-new}
masters:
- {name: m1, ip: 192.0.2.1, port: 22, arch: amd64}
- {name: m2, ip: 192.0.2.2, port: 22, arch: amd64}
- {name: m3, ip: 192.0.2.3, port: 22, arch: amd64}
nodes: [{name: w1, ip: 192.0.2.9, port: 22, arch: amd64}]
etcds: [{name: m1, ip: 192.0.2.1, port: 22, arch: amd64}]
loadbalance: {name: lb, ip: 192.0.2.5, port: 22, arch: amd64, bind-port: 8443}
package-src: {type: tar.gz, x86src: /no/such/bundle.tar.gz}
`

// The way into a cluster leads through the first control plane that lets us in, and through the next one when that
// one cannot reach what is asked for.
func TestThroughTheControlPlanes(t *testing.T) {
	f := &fakes{root: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(f.root, "one"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.root, "one", "deploy.yaml"), []byte(threeMasters), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := &sshOnly{down: map[string]bool{"m1": true}, blind: map[string]bool{"m2": true}}
	d := f.deps()
	d.Dialer = nodes
	way, err := OpenThrough(t.Context(), "one", d)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(f.root, "one", "known_hosts"); nodes.access.KnownHosts() != want {
		t.Errorf("host keys of %s", nodes.access.KnownHosts())
	}
	if nodes.access.HostKeys != remote.Strict {
		t.Errorf("unknown host keys: %v", nodes.access.HostKeys)
	}
	if len(nodes.access.Cluster.Nodes) != 3 {
		t.Errorf("room for %d nodes, there are 3 control planes", len(nodes.access.Cluster.Nodes))
	}
	for range 2 {
		c, err := way.Dial(t.Context(), "tcp", "192.0.2.5:8443")
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	if want := []string{"m2 tcp 192.0.2.5:8443", "m3 tcp 192.0.2.5:8443", "m3 tcp 192.0.2.5:8443"}; !slices.Equal(
		nodes.calls, want) {
		t.Errorf("%q, want %q", nodes.calls, want)
	}
	if err := way.Close(); err != nil || !nodes.closed {
		t.Error("not closed", err)
	}

	nodes.down = map[string]bool{"m1": true, "m2": true, "m3": true}
	nodes.closed = false
	_, err = OpenThrough(t.Context(), "one", d)
	if f := event.AsFault(err); f == nil || f.Code != "ssh.connect" || !nodes.closed {
		t.Errorf("%v, closed %v", err, nodes.closed)
	}
	if _, err := OpenThrough(t.Context(), "none", d); err == nil {
		t.Error("a way into a cluster that is not there")
	}
}
