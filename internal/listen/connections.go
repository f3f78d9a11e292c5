package listen

import (
	"net"
	"net/netip"
	"sync"
)

// loopbackReserve is how many connections only this host can have: when the others are taken, the administrator on the
// host, and a proxy there, still connect.
const loopbackReserve = 64

// limited is a listener that closes connections of which there are too many, in all or from one address, before
// anything is read from them. Connections of this host are counted only in all: a proxy on it has those of all users.
type limited struct {
	net.Listener
	all, own int // the most; own 0: no limit

	mu sync.Mutex
	n  int
	of map[netip.Prefix]int
}

func limit(l net.Listener, by Limits) net.Listener {
	return &limited{Listener: l, all: by.Connections, own: by.OfAddress, of: map[netip.Prefix]int{}}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if free := l.enter(from(c)); free != nil {
			return &counted{c, free}, nil
		}
		_ = c.Close() // its client sees that
	}
}

// enter counts a connection until free is called; nil: it is one too many.
func (l *limited) enter(at netip.Prefix) (free func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	local := at.IsValid() && at.Addr().IsLoopback()
	switch {
	case local && l.n >= l.all+loopbackReserve, !local && l.n >= l.all:
		return nil
	case !local && l.own > 0 && l.of[at] >= l.own:
		return nil
	}
	l.n++
	l.of[at]++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.n--
		if l.of[at]--; l.of[at] == 0 {
			delete(l.of, at)
		}
	})
}

// from is where a connection comes from: of IPv6 the network, whose addresses one machine can choose from.
func from(c net.Conn) netip.Prefix {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	a := at.Addr().Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() && !a.IsLoopback() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.free()
	return c.Conn.Close()
}
