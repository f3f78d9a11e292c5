package operation

import (
	"cmp"
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Through is a way into the network of a cluster: the SSH connections of its control planes. Nothing is locked or
// changed.
type Through struct {
	files Files
	conns Connections

	mu    sync.Mutex
	nodes []config.Node // the one that worked last first
}

// OpenThrough logs in to the first control plane that can be reached. Nobody looks on, so an unknown host key is
// refused whatever deploy.yaml says: the machines were logged in to before.
func OpenThrough(ctx context.Context, cluster string, d Deps) (*Through, error) {
	src, err := loadSource(ctx, request.OfCluster(cluster).Source, d)
	if err != nil {
		return nil, err
	}
	if err := ResolveSecrets(ctx, src.cluster, d.Asker); err != nil {
		return nil, err
	}
	t := &Through{nodes: slices.Clone(src.cluster.With(bundle.ControlPlane))}
	if t.files, err = d.Store.Read(ctx, cluster); err != nil {
		return nil, err
	}
	known := cmp.Or(src.cluster.Eggo.KnownHosts, filepath.Join(t.files.Dir(), "known_hosts"))
	alone := *src.cluster
	alone.Nodes = t.nodes
	t.conns, err = d.Dialer.Connections(Access{
		Cluster: &alone, HostKeys: remote.Strict, Asker: d.Asker, Emit: func(event.Event) {},
		KnownHosts: func() string { return known },
	})
	if err != nil {
		return nil, errors.Join(err, t.files.Close())
	}
	for _, n := range t.nodes {
		if _, err = t.conns.Dial(ctx, n); err == nil {
			t.first(n)
			return t, nil
		}
	}
	return nil, errors.Join(err, t.Close())
}

// Dial opens a connection from a control plane to addr.
func (t *Through) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	t.mu.Lock()
	nodes := slices.Clone(t.nodes)
	t.mu.Unlock()
	var why error
	for _, n := range nodes {
		h, err := t.conns.Dial(ctx, n)
		if err == nil {
			var c net.Conn
			if c, err = h.Dial(ctx, network, addr); err == nil {
				t.first(n)
				return c, nil
			}
		}
		why = cmp.Or(why, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, why
}

// first has a node asked before all others.
func (t *Through) first(n config.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, o := range t.nodes {
		if o.Name == n.Name {
			copy(t.nodes[1:i+1], t.nodes[:i])
			t.nodes[0] = n
		}
	}
}

// Close implements io.Closer.
func (t *Through) Close() error {
	return errors.Join(t.conns.Close(), t.files.Close())
}
