package clients

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Peers reaches an address of the cluster's own network.
func (r *Clients) Peers() Dialer { return peerWay{r} }

// PeersAndRemoved also reaches members on nodes that are removed, through themselves.
func (r *Clients) PeersAndRemoved() Dialer { return leavingWay{r} }

// dialLimit bounds the try of one way, so that a machine that just died costs seconds and not the step.
const dialLimit = 5 * time.Second

// apiWay reaches the API server of any control plane that lives, whatever address is asked for: the one that answered
// last first, and when it is gone the next. No control plane is above the others.
type apiWay struct{ r *Clients }

// Dial opens a connection to an API server on its own machine.
func (w apiWay) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	names := w.r.livingFrom(bundle.ControlPlane)
	err := error(event.NewFault(event.ClassFailed, "kube.no-control-plane", nil))
	for _, name := range names {
		var c net.Conn
		if c, err = DialFrom(ctx, w.r.Node(name), network, "127.0.0.1:6443"); err == nil {
			w.r.mu.Lock()
			w.r.lastAPI = name
			w.r.mu.Unlock()
			return c, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// livingFrom are the connected nodes of a role, the one whose API server answered last first.
func (r *Clients) livingFrom(role bundle.Role) []string {
	var names []string
	for _, n := range r.Cluster.With(role) {
		if r.Node(n.Name) != nil {
			names = append(names, n.Name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(names, r.lastAPI); i > 0 {
		names = append(append([]string{}, names[i:]...), names[:i]...)
	}
	return names
}

// peerWay reaches an address of the cluster's own network: through the machine that carries it, for it needs no
// firewall's leave there; an address that no connected machine carries through any that is connected.
type peerWay struct{ r *Clients }

// Dial opens a connection to addr.
func (w peerWay) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	var others []*node.Node
	for _, n := range w.r.Cluster.Nodes {
		nd := w.r.Node(n.Name)
		if n.IP.String() == host && nd != nil {
			return DialFrom(ctx, nd, network, addr)
		}
		if nd != nil {
			others = append(others, nd)
		}
	}
	err = event.NewFault(event.ClassFailed, "kube.no-control-plane", nil)
	for _, nd := range others {
		var c net.Conn
		if c, err = DialFrom(ctx, nd, network, addr); err == nil || ctx.Err() != nil {
			return c, err
		}
	}
	return nil, err
}

// leavingWay reaches members on machines that leave through themselves, and the others as peerWay does.
type leavingWay struct{ r *Clients }

// Dial opens a connection to addr.
func (w leavingWay) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for _, n := range w.r.Removing {
		if nd := w.r.Node(n.Name); nd != nil && addr == strings.TrimPrefix(layout.ClientURL(n), "https://") {
			return DialFrom(ctx, nd, network, addr)
		}
	}
	return peerWay(w).Dial(ctx, network, addr)
}

// DialFrom opens a connection from a node.
func DialFrom(ctx context.Context, nd *node.Node, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return nd.Dial(ctx, network, addr)
}
