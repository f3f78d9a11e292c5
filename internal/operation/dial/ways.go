package dial

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// way is a chain of bastions that several Connections share, as long as one of them is open. A server bounds how many
// connections it takes that have not logged in yet, and drops the others.
type way struct {
	bastions []*remote.Bastion
	users    int           // guarded by SSH.mu
	turn     chan struct{} // of who connects
	refused  error         // the login or the host key; it is the same for all that share the chain
}

// wayKey identifies a chain by all that decides whether it can be shared: the logins and the host keys.
func (c *connections) wayKey(hops []remote.Target) string {
	h, a := sha256.New(), c.access
	also := []string(nil)
	if a.AlsoKnown != nil {
		also = a.AlsoKnown()
	}
	fmt.Fprintf(h, "%v %q %q %v\n", a.HostKeys, a.KnownHosts(), also, a.Cluster.Eggo.SSHLegacyAlgorithms)
	for _, t := range hops {
		fmt.Fprintf(h, "%q %d %q %q %q %v\n", t.Addr, t.Port, t.User, t.Keys, t.Password, t.Agent)
	}
	return string(h.Sum(nil))
}

// way returns the chain that others of this process may use already, and keeps it until Close. c.mu is held.
func (c *connections) way(hops []remote.Target) *way {
	key, d := c.wayKey(hops), c.dialer
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.ways[key]
	if w == nil {
		w = &way{turn: make(chan struct{}, 1)}
		var last *remote.Bastion
		for _, t := range hops {
			last = remote.NewBastion(t, c.options(last))
			w.bastions = append(w.bastions, last)
		}
		d.ways[key] = w
	}
	w.users++
	c.releases = append(c.releases, func() {
		d.mu.Lock()
		w.users--
		last := w.users == 0
		if last {
			delete(d.ways, key)
		}
		d.mu.Unlock()
		if last {
			closeAll(w.bastions)
		}
	})
	return w
}

// ready connects to the chain, unless its login was refused to another one that shares it.
func (w *way) ready(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.refused != nil {
		return w.refused
	}
	err := w.bastions[len(w.bastions)-1].Ready(ctx)
	if f := event.AsFault(err); f != nil && f.Class == event.ClassAuth && ctx.Err() == nil {
		w.refused = err
	}
	return err
}

// closeAll ends connections, each before the one that it goes through.
func closeAll(bastions []*remote.Bastion) {
	for i := len(bastions) - 1; i >= 0; i-- {
		bastions[i].Close()
	}
}

type askingKey struct{}

// asking marks who connects to a shared chain: its questions are answered by the one that waits for it.
func (c *connections) asking(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, c)
}

// asked returns the connections whose asker answers questions in ctx.
func (c *connections) asked(ctx context.Context) *connections {
	if o, is := ctx.Value(askingKey{}).(*connections); is {
		return o
	}
	return c
}
