package remote

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Dial opens a connection from the node to addr, through the SSH connection.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	k, err := h.connected(ctx)
	if err != nil {
		return nil, h.fault(err)
	}
	c, err := k.client.DialContext(ctx, network, addr)
	var oc *ssh.OpenChannelError
	switch {
	case err == nil:
		return &forwarded{Conn: c}, nil
	case ctx.Err() != nil:
		return nil, h.fault(ctxFault(ctx))
	case errors.As(err, &oc) && oc.Reason == ssh.Prohibited:
		return nil, h.fault(failed("ssh.forward-prohibited", false, err, "addr", addr))
	case errors.As(err, &oc):
		return nil, h.fault(failed("ssh.forward-failed", true, err, "addr", addr))
	}
	return nil, h.fault(lostFault(err))
}

// forwarded gives a channel the deadlines that it does not have, and that TLS, HTTP and gRPC set: what is late is
// closed.
type forwarded struct {
	net.Conn
	mu    sync.Mutex
	timer [2]*time.Timer // reading, writing
	shut  bool
}

func (f *forwarded) SetDeadline(t time.Time) error {
	f.arm(0, t)
	f.arm(1, t)
	return nil
}

func (f *forwarded) SetReadDeadline(t time.Time) error  { f.arm(0, t); return nil }
func (f *forwarded) SetWriteDeadline(t time.Time) error { f.arm(1, t); return nil }

func (f *forwarded) arm(i int, t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer[i] != nil {
		f.timer[i].Stop()
		f.timer[i] = nil
	}
	if !t.IsZero() && !f.shut {
		f.timer[i] = time.AfterFunc(time.Until(t), func() { _ = f.Conn.Close() })
	}
}

// Close ends the connection and its clocks.
func (f *forwarded) Close() error {
	f.mu.Lock()
	f.shut = true
	f.mu.Unlock()
	f.arm(0, time.Time{})
	f.arm(1, time.Time{})
	return f.Conn.Close()
}
