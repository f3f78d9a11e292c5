package dial

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// target is how a node is reached.
func (c *connections) target(n config.Node) remote.Target {
	l := c.access.Cluster.LoginOf(n.Name)
	t := remote.Target{Name: n.Name, Addr: n.IP.String(), Port: n.Port, User: l.User, SudoPassword: l.SudoPassword}
	return c.credentials(t, l.PrivateKeyPath, l.Password)
}

// credentials gives a target the key and the password that deploy.yaml names for it. Where it names neither, the target
// gets the first key of the user of the command line and those of the agent.
func (c *connections) credentials(t remote.Target, key, password string) remote.Target {
	o := c.dialer.options
	t.Password, t.Passphrase = password, c.passphrase
	if o.Agent {
		t.Agent = remote.AgentHolds
	}
	switch {
	case key != "":
		t.Keys = []string{key}
	case password == "":
		own := Keys(o.Home)
		t.Keys = own[:min(1, len(own))]
		if o.Agent {
			t.Agent = remote.AgentOffers
		}
	}
	return t
}

func (c *connections) passphrase(ctx context.Context, file string) (string, error) {
	return ask.ForSecret(ctx, c.asked(ctx).access.Asker, ask.Secret{
		ID: operation.KeyQuestion(file), From: "prompt", What: event.M("ask.passphrase", "file", file),
	})
}

// Keys are the private keys that a user has by the usual names; none without a home directory.
func Keys(home string) []string {
	var out []string
	if home == "" {
		return nil
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		p := filepath.Join(home, ".ssh", name)
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// serves is how many nodes are behind bastions: those of one node, or of all that have none of their own.
func (c *connections) serves(of string) int {
	if of != "" || c.access.Serves > 0 {
		return max(1, c.access.Serves)
	}
	n := 0
	for _, node := range c.access.Cluster.Nodes {
		if !c.access.Cluster.LoginOf(node.Name).OwnBastions {
			n++
		}
	}
	return n
}

// hops are the bastions to a node, the first of them first, and the node that they belong to: "" is all that have none
// of their own, which share the cluster's.
func (c *connections) hops(n config.Node) (of string, out []remote.Target) {
	login := c.access.Cluster.LoginOf(n.Name)
	if login.OwnBastions {
		of = n.Name
	} else {
		login = c.access.Cluster.LoginOf("")
	}
	for _, b := range login.Bastions {
		key, password := b.PrivateKeyPath, b.Password
		if key == "" && password == "" { // one with a key or a password of its own is not offered the machines'
			key, password = login.PrivateKeyPath, login.Password
		}
		t := remote.Target{Name: b.Host, Addr: b.Host, Port: b.Port, User: cmp.Or(b.User, login.User)}
		out = append(out, c.credentials(t, key, password))
	}
	return of, out
}

// bastion is the last of those to a node, with their chain if others share it; nil if there is none. All nodes share
// the cluster's.
func (c *connections) bastion(n config.Node) (last *remote.Bastion, shared *way) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, hops := c.hops(n)
	if c.access.ShareBastions && len(hops) > 0 && !c.closed {
		if c.ways[of] == nil {
			for i := range hops {
				hops[i].Serves = c.serves(of)
			}
			c.ways[of] = c.way(hops)
		}
		w := c.ways[of]
		return w.bastions[len(w.bastions)-1], w
	}
	last, made := c.last[of]
	if made {
		return last, nil
	}
	for _, t := range hops {
		t.Serves = c.serves(of)
		last = remote.NewBastion(t, c.options(last))
		c.bastions = append(c.bastions, last)
	}
	c.last[of] = last
	return last, nil
}

// allowed refuses a node that is one of the dialer's own addresses or behind a bastion that is, and one for which
// deploy.yaml names no credentials if those of the user are not used.
func (c *connections) allowed(n config.Node) error {
	_, way := c.hops(n)
	for _, t := range append(way, c.target(n)) {
		if err := c.dialer.refuses(t); err != nil {
			return event.AsFault(err).On(t.Name)
		}
	}
	return nil
}

// refuses returns why a target is not logged in to.
func (d *SSH) refuses(t remote.Target) error {
	o := d.options
	if o.Own != nil && o.Own().HasHost(t.Addr) {
		return ownAddress(t.Addr)
	}
	if len(t.Keys) == 0 && t.Password == "" && o.Home == "" && !o.Agent {
		return event.NewFault(event.ClassAuth, "ssh.not-named", nil, "user", cmp.Or(t.User, "root"))
	}
	return nil
}

func ownAddress(addr string) error {
	return event.NewFault(event.ClassAuth, "ssh.own-address", nil, "addr", addr)
}

// direct returns what opens the connections that no bastion opens. It compares the address that a name has come to with
// the dialer's own, so that no response of a name server leads around that. nil: there is nothing to refuse.
func (d *SSH) direct() func(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.options.Own == nil {
		return nil
	}
	control := func(_ context.Context, _, addr string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(addr)
		if err == nil && d.options.Own().Has(to.Addr()) {
			err = ownAddress(to.Addr().String())
		}
		return err
	}
	return (&net.Dialer{ControlContext: control}).DialContext
}
