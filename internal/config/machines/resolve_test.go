package machines

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

func TestHostNamesAreLookedUp(t *testing.T) {
	known := map[string][]string{"a.example.com": {"10.0.0.1"}, "self": {"127.0.1.1"}, "six": {"fd00::1"},
		"both": {"fe80::1", "fd00::2", "::ffff:10.0.0.3", "10.0.0.3"}, "many": {"10.0.0.4", "10.0.0.5"}}
	l := Read("a.example.com\nself\nsix\nboth\nmany\nnobody\nbroken\n10.0.0.9 plain.example.com\n10.0.0.8 b")
	var asked atomic.Int32
	l = l.Resolve(t.Context(), func(_ context.Context, host string) ([]netip.Addr, error) {
		asked.Add(1)
		if host == "broken" {
			return nil, errors.New("the network is down")
		}
		var out []netip.Addr
		for _, a := range known[host] {
			out = append(out, netip.MustParseAddr(a))
		}
		if out == nil {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return out, nil
	})
	want := strings.TrimSpace(`
a 10.0.0.1
six fd00::1
both 10.0.0.3
plain.example.com 10.0.0.9
b 10.0.0.8`)
	if got := said(l.Entries); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := reasons(l.Rejected), strings.TrimSpace(`
2 lookup-none self
5 lookup-many 10.0.0.5 many 10.0.0.4 2
6 lookup no such host nobody
7 lookup the network is down broken`); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := asked.Load(); n != 7 {
		t.Errorf("%d names were asked for", n)
	}
	if l.Entries[0].Host != "a.example.com" {
		t.Error("the host name is forgotten")
	}
}

func TestNamesAreLookedUpOnce(t *testing.T) {
	if got := Read("ops@web1\nroot@web1:2222\n10.0.0.1 name=x").Names(); len(got) != 1 || got[0] != "web1" {
		t.Errorf("%v", got)
	}
}
