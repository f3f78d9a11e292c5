package machines

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/config"
)

// String is the machine as a line of words.
func (e Entry) String() string {
	l := &line{e: Entry{Machine: config.Machine{Roles: e.Roles}}}
	where := e.IP
	if where == "" {
		where = e.Host
	}
	if strings.Contains(where, ":") && e.Port != "" {
		where = "[" + where + "]"
	}
	if e.User != "" {
		where = e.User + "@" + where
	}
	if e.Port != "" {
		where += ":" + e.Port
	}
	if first, _, _ := strings.Cut(e.Host, "."); e.Name != "" && !strings.EqualFold(first, e.Name) {
		l.said = append(l.said, sayOf("name", e.Name))
	}
	l.said = append(l.said, where)
	if e.Arch != "" {
		l.said = append(l.said, e.Arch)
	}
	if e.Key != "" {
		l.said = append(l.said, sayOf("key", e.Key))
	}
	if len(e.Bastions) > 0 {
		l.said = append(l.said, sayOf("bastion", HopsText(e.Bastions)))
	}
	if key := keyOfHops(e.Bastions); key != "" {
		l.said = append(l.said, sayOf("bastion-key", key))
	}
	return l.normal()
}

// Text are the lines of machines and of what was rejected, without passwords.
func (l List) Text() string {
	var out []string
	for _, e := range l.Entries {
		out = append(out, e.String())
	}
	return strings.TrimSpace(strings.Join(out, "\n") + "\n" + l.Rest())
}

// Rest are the lines that were rejected, as they can be read again.
func (l List) Rest() string {
	var out []string
	for _, r := range l.Rejected {
		if !r.Whole {
			out = append(out, r.Text)
		}
	}
	return strings.Join(out, "\n")
}

// Lookup finds the addresses of a host name.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// Names are the host names whose addresses have to be looked up, each once.
func (l List) Names() (out []string) {
	for _, e := range l.Entries {
		if e.Host != "" && e.IP == "" && !slices.Contains(out, e.Host) {
			out = append(out, e.Host)
		}
	}
	return out
}

// Resolve looks up the host names of the machines. One that has no address, or several of which none is the one, is
// rejected. Without lookup nothing is known of any.
func (l List) Resolve(ctx context.Context, lookup Lookup) List {
	type answer struct {
		addrs []netip.Addr
		err   error
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	found := map[string]answer{}
	places := make(chan struct{}, 16)
	if lookup == nil {
		lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no resolver") }
	}
	for _, name := range l.Names() {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			addrs, err := lookup(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			found[name] = answer{addrs, err}
		})
	}
	wg.Wait()
	entries := l.Entries
	l.Entries, l.Rejected = nil, slices.Clone(l.Rejected)
	for _, e := range entries {
		if e.Host == "" || e.IP != "" {
			l.Entries = append(l.Entries, e)
			continue
		}
		a := found[e.Host]
		ips := usable(a.addrs)
		switch {
		case a.err != nil && ctx.Err() == nil:
			l.Rejected = append(l.Rejected, Rejected{Line: e.Line, Text: e.String(),
				Why: *because("machines.lookup", "host", e.Host, "why",
					reasonOf(a.err))})
		case len(ips) == 0:
			l.Rejected = append(l.Rejected, Rejected{Line: e.Line, Text: e.String(),
				Why: *because("machines.lookup-none", "host", e.Host)})
		case len(ips) > 1:
			l.Rejected = append(l.Rejected, Rejected{Line: e.Line, Text: e.String(),
				Why: *because("machines.lookup-many", "host", e.Host,
					"count", strconv.Itoa(len(ips)), "first", ips[0].String(), "second", ips[1].String())})
		default:
			e.IP = ips[0].String()
			l.Entries = append(l.Entries, e)
		}
	}
	return l
}

// usable are the addresses by which other machines can reach one: IPv4 if there are any, each once, in their order.
func usable(addrs []netip.Addr) (out []netip.Addr) {
	for _, v4 := range []bool{true, false} {
		for _, a := range addrs {
			a = a.Unmap()
			if a.Is4() == v4 && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// reasonOf is the resolver's reason without the name and the server, which the message already has.
func reasonOf(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.Err
	}
	return strings.TrimSpace(err.Error())
}
