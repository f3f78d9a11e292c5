package listen

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

// conn is a connection from an address.
type conn struct {
	net.Conn
	at     string
	closed bool
}

func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.at)) }
func (c *conn) Close() error         { c.closed = true; return nil }

// arriving is a listener to which connections come one after the other.
type arriving struct {
	net.Listener
	all []*conn
}

func (a *arriving) Accept() (net.Conn, error) {
	if len(a.all) == 0 {
		return nil, net.ErrClosed
	}
	c := a.all[0]
	a.all = a.all[1:]
	return c, nil
}

// Few addresses do not take the connections of all: beyond a few, each gets at most as many as remain.
func TestFewAddressesLeaveConnections(t *testing.T) {
	l := limit(nil, Limits{Connections: 2048, OfAddress: 256}).(*limited)
	for i := range 20 {
		at := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 32)
		n := 0
		for l.enter(at) != nil {
			n++
		}
		if i < 4 && n != 256 || n < fewConnections {
			t.Errorf("address %d has %d connections", i, n)
		}
	}
	if l.n >= l.all {
		t.Error("twenty addresses have taken all")
	}
	l = limit(nil, Limits{Connections: 2048, OfAddress: 2000}).(*limited)
	for n := range 2000 {
		if l.enter(netip.MustParsePrefix("192.0.2.1/32")) == nil {
			t.Errorf("a proxy has %d connections", n)
			break
		}
	}
}

// Who opens more connections than an address may have loses those that are too many, at once. Others are served, also
// if one network of IPv6 shows a new address for each connection. This host is counted in all alone, and has a reserve.
func TestConnectionsAreLimited(t *testing.T) {
	for what, c := range map[string]struct {
		from []string // as they arrive; "-" and an address: its first connection ends
		want string   // y: served, n: closed
		all  int
	}{
		"one address": {[]string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1"}, "yyny", 100},
		"one that ended makes room": {[]string{"192.0.2.1:1", "192.0.2.1:2", "-192.0.2.1:1", "192.0.2.1:3",
			"192.0.2.1:4"}, "yyyn", 100},
		"an IPv4 address in IPv6": {[]string{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", "192.0.2.1:3"}, "yyn", 100},
		"a network of IPv6": {[]string{"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1",
			"[2001:db8:0:1::1]:1"}, "yyny", 100},
		"all": {[]string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"}, "yyn", 2},
		"this host": {[]string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "[::1]:1", "[::1]:2", "[::1]:3"}, "yyyyyy",
			100},
		"the reserve of this host": {[]string{"192.0.2.1:1", "192.0.2.2:1", "127.0.0.1:1"}, "yny", 1},
	} {
		t.Run(what, func(t *testing.T) {
			in, got, open := &arriving{}, "", map[string]net.Conn{}
			l := limit(in, Limits{Connections: c.all, OfAddress: 2})
			for _, at := range c.from {
				if at[0] == '-' {
					_ = open[at[1:]].Close()
					continue
				}
				came := &conn{at: at}
				in.all = append(in.all, came)
				served, err := l.Accept()
				if came.closed != errors.Is(err, net.ErrClosed) {
					t.Error(at, came.closed, err)
				}
				open[at] = served
				got += map[bool]string{true: "n", false: "y"}[came.closed]
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			for _, served := range open {
				if served != nil {
					_ = served.Close()
					_ = served.Close() // twice counts once
				}
			}
			if l := l.(*limited); l.n > 0 || len(l.of) > 0 {
				t.Error(l.n, l.of)
			}
		})
	}
}
