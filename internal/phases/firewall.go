package phases

import (
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// Firewall that is active on a machine, as far as what it lets in can be told.
type Firewall struct {
	Name   string // firewalld, ufw, nftables
	Open   []PortRange
	All    bool // it lets everything in
	Unsure bool // it has rules whose effect is not told here
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

// firewallScript prints what an active firewall says of itself, each line with its name before it. Both front ends show as packet filter
// rules too, so that those are asked for only where neither runs.
const firewallScript = `
fw=''
if command -v firewall-cmd >/dev/null 2>&1 && systemctl is-active --quiet firewalld >/dev/null 2>&1; then
  fw=firewalld
  kv firewalld ''
  dev=$(ip -o addr show 2>/dev/null | awk '{sub("/.*","",$4)} $4=="@IP@" {print $2; exit}')
  zone=$({ firewall-cmd --get-zone-of-interface="$dev" 2>/dev/null || firewall-cmd --get-default-zone 2>/dev/null || true; } | tail -n 1)
  { LC_ALL=C firewall-cmd --zone="$zone" --list-all 2>/dev/null || echo 'sources: unknown'; } | sed 's/^/firewalld=/'
  LC_ALL=C firewall-cmd --get-active-zones 2>/dev/null | sed -n 's/^ *sources:/firewalld=sources:/p'
fi
if command -v ufw >/dev/null 2>&1 && LC_ALL=C ufw status 2>/dev/null | grep -qx 'Status: active'; then
  fw=ufw
  LC_ALL=C ufw status verbose 2>/dev/null | sed 's/^/ufw=/'
fi
if [ -z "$fw" ] && command -v nft >/dev/null 2>&1 && nft list ruleset 2>/dev/null | grep -q 'hook input .*policy drop'; then kv nftables drop; fi
`

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
		w.Unsure = true
	}
}

// readFirewalld reads a line of firewall-cmd --list-all of the zone that the node's address is in: "  ports: 6443/tcp 2379-2380/tcp".
// Sources, rich rules and services of the field may open what ports does not list.
func (w *Firewall) readFirewalld(line string) {
	line = strings.TrimSpace(line)
	key, rest, _ := strings.Cut(line, ":")
	switch key {
	case "target":
		w.All = w.All || strings.TrimSpace(rest) == "ACCEPT"
	case "ports":
		for _, p := range strings.Fields(rest) {
			if r, ok := parsePorts(p, "-"); ok {
				w.Open = append(w.Open, r)
			}
		}
	case "services":
		for _, s := range strings.Fields(rest) {
			w.Unsure = w.Unsure || !slices.Contains([]string{"ssh", "dhcpv6-client", "dhcp", "mdns", "cockpit", "samba-client", "http", "https"}, s)
		}
	case "sources", "protocols":
		w.Unsure = w.Unsure || strings.TrimSpace(rest) != ""
	default:
		w.Unsure = w.Unsure || strings.HasPrefix(line, "rule ")
	}
}

// readUFW reads a line of ufw status verbose: "6443/tcp   ALLOW IN    Anywhere", "2379:2380,10250/tcp (Own)  ALLOW IN  192.0.2.0/24".
func (w *Firewall) readUFW(line string) {
	if rest, ok := strings.CutPrefix(line, "Default: "); ok {
		w.All = strings.HasPrefix(rest, "allow (incoming)")
		return
	}
	to, _, allow := strings.Cut(line, " ALLOW")
	if !allow || strings.Contains(line, "ALLOW OUT") || strings.Contains(line, "ALLOW FWD") || strings.Contains(to, "(v6)") {
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

// lets says whether the firewall lets all of want in, with one rule or several.
func (w *Firewall) lets(want PortRange) bool {
	for port := want.From; port <= want.To; port++ {
		if !slices.ContainsFunc(w.Open, func(o PortRange) bool {
			return o.From <= port && port <= o.To && (o.Proto == "" || o.Proto == want.Proto)
		}) {
			return w.All
		}
	}
	return true
}

// inbound are the ports on which others come to the components of the node's roles.
func (r *run) inbound(n config.Node) []PortRange {
	var p []PortRange
	if n.Has(bundle.Etcd) {
		p = append(p, PortRange{2379, 2380, "tcp"})
	}
	if n.Has(bundle.ControlPlane) {
		p = append(p, PortRange{6443, 6443, "tcp"})
	}
	if isKubelet(n) {
		p = append(p, PortRange{10250, 10250, "tcp"}, PortRange{10256, 10256, "tcp"})
		if r.Cluster.NetworkPlugin == "flannel" {
			p = append(p, PortRange{8472, 8472, "udp"}) // VXLAN
		}
	}
	return p
}

// judgeFirewall finds ports that a firewall closes. Where that cannot be told, and where the node is in the cluster already, it only warns:
// what works is not refused.
func (r *run) judgeFirewall(n config.Node, f *Facts) []event.Finding {
	var out []event.Finding
	for _, w := range f.Firewalls {
		var closed []string
		for _, p := range r.inbound(n) {
			if !w.lets(p) {
				closed = append(closed, p.String())
			}
		}
		if len(closed) == 0 {
			continue
		}
		ports := strings.Join(closed, ", ")
		switch {
		case w.Unsure:
			out = append(out, finding(event.Warning, n.Name, "firewall-unsure", "firewall", w.Name, "ports", ports))
		case f.Joined && f.Cluster == r.Cluster.Name:
			out = append(out, finding(event.Warning, n.Name, "firewall", "firewall", w.Name, "ports", ports))
		default:
			out = append(out, finding(event.Error, n.Name, "firewall", "firewall", w.Name, "ports", ports))
		}
	}
	return out
}
