package facts

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
)

// Firewall that is active on a machine, as far as what it lets in can be told.
type Firewall struct {
	Name   string // firewalld, ufw, nftables: a packet filter that refuses what no rule lets in
	Open   []PortRange
	All    bool       // it lets everything in
	Unsure bool       // it has rules whose effect is not told here
	Zone   string     // of firewalld: where the node's address is
	Kept   *Firewall  // of firewalld: what the zone lets in after it is restarted
	Chains []chainRef // of a packet filter: those that refuse
}

// chainRef is a chain whose policy is to drop, in the words of the records of rules in it: "nft inet filter input",
// "iptables INPUT".
type chainRef struct {
	Name    string
	Forward bool
}

// PortRange of one protocol, tcp or udp; "" is both.
type PortRange struct {
	From, To int
	Proto    string
}

func (p PortRange) String() string {
	s := strconv.Itoa(p.From)
	if p.To != p.From {
		s += "-" + strconv.Itoa(p.To)
	}
	return s + "/" + p.Proto
}

// firewallScript prints what an active firewall says of itself, each line with its name before it. Both front ends show
// as packet filter rules too, so that those are asked for only where neither runs.
//
//go:embed firewall.sh
var firewallScript string

// firewall is the one of that name; it is noted when it first says something.
func (f *Facts) firewall(name string) *Firewall {
	for i := range f.Firewalls {
		if f.Firewalls[i].Name == name {
			return &f.Firewalls[i]
		}
	}
	f.Firewalls = append(f.Firewalls, Firewall{Name: name})
	return &f.Firewalls[len(f.Firewalls)-1]
}

// read takes in one line of what the firewall says.
func (w *Firewall) read(line string) {
	switch w.Name {
	case "firewalld":
		w.readFirewalld(line)
	case "ufw":
		w.readUFW(line)
	default:
		f := strings.Fields(line)
		switch {
		case len(f) == 5:
			w.Chains = append(w.Chains, chainRef{strings.Join(f[:4], " "), f[4] == "forward"})
		case len(f) == 2:
			w.Chains = append(w.Chains, chainRef{line, f[1] == "FORWARD"})
		}
	}
}

// readFirewalld reads a line of firewall-cmd --list-all of the zone that the node's address is in: " ports: 6443/tcp
// 2379-2380/tcp". Sources and rich rules may refuse or let in what ports does not list; a service may let it in, and
// opening it beside that does no harm.
func (w *Firewall) readFirewalld(line string) {
	line = strings.TrimSpace(line)
	if w.Kept == nil {
		w.Kept = &Firewall{}
	}
	if rest, ok := strings.CutPrefix(line, "permanent "); ok {
		w.Kept.readFirewalld(rest)
		return
	}
	key, rest, _ := strings.Cut(line, ":")
	switch key {
	case "zone":
		w.Zone = strings.TrimSpace(rest)
	case "target":
		w.All = w.All || strings.TrimSpace(rest) == "ACCEPT"
	case "ports":
		for _, p := range strings.Fields(rest) {
			if r, ok := parsePorts(p, "-"); ok {
				w.Open = append(w.Open, r)
			}
		}
	case "sources", "protocols":
		w.Unsure = w.Unsure || strings.TrimSpace(rest) != ""
	default:
		w.Unsure = w.Unsure || strings.HasPrefix(line, "rule ")
	}
}

// readUFW reads a line of ufw status verbose: "6443/tcp ALLOW IN Anywhere", "2379:2380,10250/tcp (Own) ALLOW IN
// 192.0.2.0/24".
func (w *Firewall) readUFW(line string) {
	if rest, ok := strings.CutPrefix(line, "Default: "); ok {
		w.All = strings.HasPrefix(rest, "allow (incoming)")
		return
	}
	to, _, allow := strings.Cut(line, " ALLOW")
	if !allow || strings.Contains(line, "ALLOW OUT") || strings.Contains(line, "ALLOW FWD") ||
		strings.Contains(to, "(v6)") {
		return
	}
	w.Unsure = w.Unsure || strings.Contains(to, " on ")
	words := strings.Fields(to)
	if len(words) == 0 {
		return
	}
	ports, proto, given := strings.Cut(words[0], "/")
	for _, p := range strings.Split(ports, ",") {
		if given {
			p += "/" + proto
		}
		if r, ok := parsePorts(p, ":"); ok {
			w.Open = append(w.Open, r)
		} else {
			w.Unsure = true // an address, Anywhere, or an application's profile
		}
	}
}

// parsePorts reads 6443/tcp, 2379-2380/tcp with the separator of ranges, or a port of both protocols without one.
func parsePorts(s, sep string) (PortRange, bool) {
	s, proto, _ := strings.Cut(s, "/")
	from, to, isRange := strings.Cut(s, sep)
	if !isRange {
		to = from
	}
	a, err := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	return PortRange{a, b, proto}, err == nil && err2 == nil && a <= b
}

// Lets says whether the firewall lets all of want in, with one rule or several.
func (w *Firewall) Lets(want PortRange) bool {
	for port := want.From; port <= want.To; port++ {
		if !slices.ContainsFunc(w.Open, func(o PortRange) bool {
			return o.From <= port && port <= o.To && (o.Proto == "" || o.Proto == want.Proto)
		}) {
			return w.All
		}
	}
	return true
}

func (w *Firewall) Rules(ports []PortRange, pods []string, all bool) []string {
	var out []string
	port := func(p PortRange) string { return strconv.Itoa(p.From) + "/" + p.Proto }
	switch w.Name {
	case "firewalld":
		for _, p := range ports {
			if all || !w.Lets(p) {
				out = append(out, "firewalld runtime "+w.Zone+" port "+port(p))
			}
			if all || !w.Kept.Lets(p) {
				out = append(out, "firewalld permanent "+w.Zone+" port "+port(p))
			}
		}
		// What comes from pods is forwarded and let in by the zone that trusts them; what goes to them follows a
		// connection, or comes by address translation, or from another node's pods.
		for _, net := range pods {
			out = append(out, "firewalld runtime trusted source "+net, "firewalld permanent trusted source "+net)
		}
	case "ufw":
		for _, p := range ports {
			if all || !w.Lets(p) {
				out = append(out, "ufw allow "+port(p))
			}
		}
		for _, net := range pods {
			out = append(out, "ufw allow from "+net, "ufw route allow from "+net, "ufw route allow to "+net)
		}
	default:
		for _, c := range w.Chains {
			if c.Forward {
				for _, net := range pods {
					out = append(out, c.Name+" saddr "+net, c.Name+" daddr "+net)
				}
				continue
			}
			for _, p := range ports {
				out = append(out, c.Name+" port "+port(p))
			}
			for _, net := range pods {
				out = append(out, c.Name+" saddr "+net)
			}
		}
	}
	return out
}

// Closed are those of the ports that the firewall does not let in; of a packet filter's rules nothing is known, and its
// ports are not named.
func (w *Firewall) Closed(ports []PortRange) []string {
	var out []string
	for _, p := range ports {
		if !w.Lets(p) {
			out = append(out, p.String())
		}
	}
	return out
}
