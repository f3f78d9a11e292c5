package listen

import (
	"net"
	"net/netip"
	"sync"
)

// loopbackReserve is how many connections only this host can have: when the others are taken, the administrator on the
// host, and a proxy there, still connect.
const loopbackReserve = 64

const (
	// fewConnections is how many connections an address has in any case: a browser opens six.
	fewConnections = 8
	// ofTheRest is how many times more connections than those of an address remain for others.
	ofTheRest = 4
)

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
	case !local && l.own > 0 && l.tooMany(l.of[at]+1):
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

// tooMany reports whether an address cannot have so many connections: they are more than its limit, or too large a part
// of what would remain for others, so that few addresses do not take the connections of all. A limit that is a larger
// part of all than usual is for a proxy.
func (l *limited) tooMany(n int) bool {
	proxied := l.own > max(l.all/8, fewConnections)
	return n > l.own || !proxied && n > fewConnections && n*ofTheRest > l.all-l.n-1
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
