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
	out := config.Addresses{}
	for _, special := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
		"::/96", "fe80::/10", "ff00::/8", // ::/96 is unspecified, loopback, and IPv4 as it is not written any more
	} {
		out = append(out, netip.MustParsePrefix(special))
	}
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
