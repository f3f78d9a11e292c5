package listen

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
)

// private are the networks that no site of the Internet is in. The CA may sign for all of them, so that it stays when
// the addresses of the host change.
func private() []*net.IPNet {
	var out []*net.IPNet
	for _, text := range []string{"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
		"100.64.0.0/10", "::1/128", "fc00::/7", "fe80::/10"} {
		if _, n, err := net.ParseCIDR(text); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// constrain has a CA sign for names and addresses, and for private networks.
func constrain(ca *x509.Certificate, names []string) {
	ca.PermittedDNSDomainsCritical = true
	ca.PermittedIPRanges = private()
	for _, name := range names {
		ip := net.ParseIP(name)
		switch {
		case name == "":
		case ip == nil:
			ca.PermittedDNSDomains = append(ca.PermittedDNSDomains, domain(name))
		case !within(ca.PermittedIPRanges, ip):
			bits := 8 * len(ip)
			if four := ip.To4(); four != nil {
				ip, bits = four, 32
			}
			ca.PermittedIPRanges = append(ca.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, bits)})
		}
	}
}

// domain is a name without the asterisk of a wildcard.
func domain(name string) string { return strings.ToLower(strings.TrimPrefix(name, "*.")) }

func within(list []*net.IPNet, ip net.IP) bool {
	return slices.ContainsFunc(list, func(n *net.IPNet) bool { return n.Contains(ip) })
}

// unbounded reports whether a CA may sign for any name, as those of earlier versions may.
func unbounded(ca *x509.Certificate) bool {
	return len(ca.PermittedDNSDomains) == 0 && len(ca.PermittedIPRanges) == 0
}

// covers reports whether a CA may sign for names. One that does not has to be replaced.
func covers(ca *x509.Certificate, names []string) bool {
	return unbounded(ca) || !slices.ContainsFunc(names, func(name string) bool {
		if ip := net.ParseIP(name); ip != nil {
			return !within(ca.PermittedIPRanges, ip)
		}
		return name != "" && !slices.ContainsFunc(ca.PermittedDNSDomains, func(d string) bool {
			return domain(name) == d || strings.HasSuffix(domain(name), "."+d)
		})
	})
}

// Unbounded reports whether the CA of the server may sign for any name: an earlier version has made it. It is used
// until it is removed: clients trust it.
func (c *Certificates) Unbounded() bool {
	if c.own == nil {
		return false
	}
	ca, err := c.own.load(CAFile, caKey)
	return err == nil && ca != nil && unbounded(ca.Leaf)
}
