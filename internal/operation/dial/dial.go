// Package dial makes the connections of operations: it is the Dialer over internal/remote. It knows which logins, keys
// and bastions a deploy.yaml names, and counts the file descriptors of all runs of the process.
//
// It may import operation, remote, config, engine and event.
package dial

import (
	"context"
	"sync"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options of SSH. The zero value uses no credentials but those that a deploy.yaml names.
type Options struct {
	// Home is the home directory of the user of the command line. Its keys are offered where deploy.yaml names neither
	// a key nor a password; "": never.
	Home string
	// Agent uses the SSH agent of that user: its keys are offered with those of Home, and it may hold a key that
	// deploy.yaml names.
	Agent bool
	// Own are addresses that are never logged in to, read for each login: those of the host of a server, which others
	// give nodes. nil: there are none.
	Own func() config.Addresses
}

// SSH dials over SSH. All runs of a process should have the same one.
type SSH struct {
	options Options
	files   func() int // that the process may have open

	mu       sync.Mutex
	reserved int           // descriptors for the connections of all runs
	dials    int           // that are going on
	freed    chan struct{} // closed when there is more for others
	ways     map[string]*way
}

var _ operation.Dialer = (*SSH)(nil)

// New makes a dialer.
func New(o Options) *SSH {
	return &SSH{options: o, files: openFiles, freed: make(chan struct{}), ways: map[string]*way{}}
}

// Connections implements operation.Dialer.
func (d *SSH) Connections(a operation.Access) (operation.Connections, error) {
	nodes, bastions := len(a.Cluster.Nodes), len(a.Cluster.Eggo.Bastions)
	for _, l := range a.Cluster.Eggo.Machines {
		if l.OwnBastions && bastions > 0 { // and for itself, where it has none
			bastions += max(1, len(l.Bastions))
		}
	}
	release, err := d.reserve(nodes, bastions)
	if err != nil {
		return nil, err
	}
	return &connections{
		dialer: d, access: a, shared: remote.NewShared(remote.Limits{}), release: release,
		hosts: map[string]*connection{}, last: map[string]*remote.Bastion{}, ways: map[string]*way{},
	}, nil
}

// connections are those of one run.
type connections struct {
	dialer  *SSH
	access  operation.Access
	shared  *remote.Shared // of the connections to all nodes
	release func()         // gives the descriptors back

	mu     sync.Mutex
	hosts  map[string]*connection
	closed bool
	// bastions to the nodes, each behind those that were made before it, and the last ones: by the node that has
	// bastions of its own, and "" of all others.
	bastions []*remote.Bastion
	last     map[string]*remote.Bastion
	ways     map[string]*way // instead of bastions and last, where chains are shared with others
	releases []func()        // of ways
}

// connection is that to one node.
type connection struct {
	turn chan struct{} // of who dials
	host *remote.Host  // nil until it is there
}

// Dial implements operation.Connections.
func (c *connections) Dial(ctx context.Context, n config.Node) (operation.Host, error) {
	k, err := c.connection(n.Name)
	if err != nil {
		return nil, err
	}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if k.host != nil {
		return k.host, nil
	}
	h, err := c.dial(ctx, n)
	ask.Tell(ctx, c.access.Asker, ask.LoggedIn{Err: err})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = h.Close()
		return nil, interrupted(n)
	}
	k.host = h
	return h, nil
}

// connection is the node's, dialled or not.
func (c *connections) connection(name string) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, interrupted(config.Node{Name: name})
	}
	k := c.hosts[name]
	if k == nil {
		k = &connection{turn: make(chan struct{}, 1)}
		c.hosts[name] = k
	}
	return k, nil
}

func interrupted(n config.Node) error {
	return event.NewFault(event.ClassInterrupted, "run.interrupted", nil).On(n.Name)
}

// dial dials a node when there is a place for it.
func (c *connections) dial(ctx context.Context, n config.Node) (*remote.Host, error) {
	done, err := c.dialer.place(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := c.allowed(n); err != nil {
		return nil, err
	}
	via, w := c.bastion(n)
	if w != nil {
		ctx = c.asking(ctx)
		if err := w.ready(ctx); err != nil {
			return nil, err
		}
	}
	return remote.Dial(ctx, c.target(n), c.options(via))
}

// Close implements io.Closer.
func (c *connections) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	defer c.release()
	for _, k := range c.hosts {
		if k.host != nil {
			_ = k.host.Close() // the node's own end of it is bounded by the lease
		}
	}
	closeAll(c.bastions)
	for _, release := range c.releases {
		release()
	}
	return nil
}

func (c *connections) options(via *remote.Bastion) remote.Options {
	a := c.access
	var also []string
	if a.AlsoKnown != nil {
		also = a.AlsoKnown()
	}
	return remote.Options{
		AlsoKnown: also, Dialer: c.dialer.direct(), Via: via,
		HostKeys: a.HostKeys, KnownHosts: a.KnownHosts(), Ask: c.hostKey, Added: a.Added,
		Accepted: a.Accepted, Step: engine.StepID,
		LegacyAlgorithms: a.Cluster.Eggo.SSHLegacyAlgorithms, Shared: c.shared, Emit: a.Emit,
	}
}

func (c *connections) hostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	keys := []ask.HostKey{ask.HostKey(q)}
	return ask.Trusts(ctx, c.asked(ctx).access.Asker, ask.HostKeys{Keys: keys, Known: KnownHosts})
}

// KnownHosts compares keys with a known_hosts file.
func KnownHosts(file string, keys []ask.HostKey) ([]ask.KeyCheck, error) {
	var asked []remote.HostKeyQuestion
	for _, k := range keys {
		asked = append(asked, remote.HostKeyQuestion{Node: k.Node, Addr: k.Addr, Type: k.Type,
			Fingerprint: k.Fingerprint})
	}
	matches, err := remote.CompareKeys(file, asked)
	var out []ask.KeyCheck
	for _, m := range matches {
		out = append(out, map[remote.KeyMatch]ask.KeyCheck{remote.KeyListed: ask.KeyVerified,
			remote.KeyDiffers: ask.KeyDiffers}[m])
	}
	return out, err
}
