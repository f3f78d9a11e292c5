package main

import (
	"net"
	"net/netip"

	"github.com/eggo-k8s/eggo/internal/config"
)

// ownAddresses returns the addresses that lead to this host and those that belong to no machine in a network. The
// server does not log in to them, and none of them is a node, a bastion or a load balancer of a request. They are read
// each time, because a host gets addresses while the server runs. If they cannot be read, all addresses are refused.
func ownAddresses() config.Addresses {
	out := config.SpecialAddresses()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return append(out, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own := p.Addr().Unmap().WithZone("")
			out = append(out, netip.PrefixFrom(own, own.BitLen()))
		}
	}
	return out
}
