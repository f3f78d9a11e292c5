package remote

import (
	"context"
	"net"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// bastionDials is how many connections are opened through one bastion at the same time. Its sshd may take hundreds of
// them, but what it looks up and logs for each is slow on a small machine.
const bastionDials = 8

// Bastion is a machine that only forwards: one connection, opened when the first node is reached through it, kept,
// shared by all nodes behind it and reopened when it was lost. No session is opened on it and nothing is run there,
// so it needs no sudo and no shell.
//
// Faults on the way to it have its name as their node.
type Bastion struct {
	host  *Host
	turns chan struct{}
}

// NewBastion makes the way to a bastion; nothing is connected yet. Bastions behind each other are each other's
// Options.Via.
func NewBastion(t Target, o Options) *Bastion {
	if t.User == "" {
		t.User = "root"
	}
	if t.Port == 0 {
		t.Port = 22
	}
	if emit := o.Emit; emit != nil {
		o.Emit = func(e event.Event) { // a bastion is no node of the run: its states are reported as the nodes' faults
			if n, is := e.(event.Notice); is && n.Host == "" {
				emit(e)
			}
		}
	}
	o.fill()
	return &Bastion{host: &Host{target: t, opt: o, dialing: make(chan struct{}, 1)},
		turns: make(chan struct{}, bastionDials)}
}

// Ready connects, once for all who ask. A person may be asked for a host key or a passphrase meanwhile, so that no
// clock runs but ctx.
func (b *Bastion) Ready(ctx context.Context) error {
	_, err := b.host.connected(ctx)
	return b.host.fault(err)
}

// Dial opens a connection from the bastion to addr.
func (b *Bastion) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case b.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, b.host.fault(ctxFault(ctx))
	}
	defer func() { <-b.turns }()
	c, err := b.host.Dial(ctx, network, addr)
	if f := event.AsFault(err); f != nil && f.Code == "ssh.forward-failed" {
		// Said as what it is for the node: the bastion does not reach it.
		return nil, failed("ssh.behind-bastion", true, f.Err, "addr", addr, "bastion", b.host.target.Name)
	}
	return c, err
}

// Close ends the connection, and with it every connection through it.
func (b *Bastion) Close() error {
	h := b.host
	h.mu.Lock()
	h.closed = true
	k := h.link
	h.mu.Unlock()
	if k != nil {
		k.drop(nil)
	}
	return nil
}
