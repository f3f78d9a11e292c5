package config

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Addresses are ranges of addresses, such as those that lead to this host.
type Addresses []netip.Prefix

// SpecialAddresses returns the ranges that belong to no machine in a network: unspecified, loopback, link-local,
// multicast and broadcast.
func SpecialAddresses() Addresses {
	var out Addresses
	for _, special := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
		"::/96", "fe80::/10", "ff00::/8", // ::/96 is unspecified, loopback, and IPv4 as it is not written any more
	} {
		out = append(out, netip.MustParsePrefix(special))
	}
	return out
}

// Has reports whether an address is in one of the ranges. An IPv4 address that is written as an IPv6 address is the
// same address, and a zone does not make it another one. An IPv6 address that a gateway translates to one in a range is
// in it, too.
func (l Addresses) Has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	b := translated(a)
	return slices.ContainsFunc(l, func(p netip.Prefix) bool { return p.Contains(a) || p.Contains(b) })
}

// translated returns the IPv4 address that an IPv6 address comes to by NAT64 (64:ff9b::/96, and 64:ff9b:1::/48 as far
// as its last 32 bits are one), SIIT (::ffff:0:0:0/96) or 6to4 (2002::/16); others as they are.
func translated(a netip.Addr) netip.Addr {
	in := func(text string) bool { return netip.MustParsePrefix(text).Contains(a) }
	b := a.As16()
	switch {
	case in("64:ff9b::/96"), in("64:ff9b:1::/48"), in("::ffff:0:0:0/96"):
		return netip.AddrFrom4([4]byte(b[12:]))
	case in("2002::/16"):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// HasHost reports whether a host is an address in one of the ranges, in any spelling. A name that has to be looked up
// is not: what it leads to is known when a connection is opened.
func (l Addresses) HasHost(host string) bool {
	a, is := HostAddress(host)
	return is && l.Has(a)
}

// HostAddress returns the address that a host is, in each spelling that a resolver takes without a lookup: 127.0.0.1,
// 127.1, 2130706433, 0x7f.0.0.1, 0177.0.0.1, ::1, [::1%lo], ::ffff:127.0.0.1, localhost.
func HostAddress(host string) (netip.Addr, bool) {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().WithZone(""), true
	}
	if name, _, _ := strings.Cut(host, ".localdomain"); slices.Contains([]string{"localhost", "ip6-localhost",
		"ip6-loopback"}, name) || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	return classful(host)
}

// classful reads an IPv4 address as inet_aton(3) does: one to four numbers, decimal, octal or hexadecimal, of which the
// last one fills the bytes that are left.
func classful(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint32
	for i, part := range parts {
		bits, shift := 8, 24-8*i
		if i == len(parts)-1 {
			bits, shift = 32-8*i, 0
		}
		n, err := strconv.ParseUint(part, 0, bits) // 0x and a leading 0 as in C, and no sign
		if err != nil || strings.Contains(part, "_") || strings.HasPrefix(part, "0o") || strings.HasPrefix(part, "0b") {
			return netip.Addr{}, false
		}
		all |= uint32(n) << shift //nolint:gosec // n has as many bits as are left
	}
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], all)
	return netip.AddrFrom4(out), true
}
