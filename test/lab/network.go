package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Subnet is the /24 of a lab: .1 is this machine, .254 the default gateway of the nodes that leads nowhere,
// nK has .10+K.
type Subnet struct{ netip.Prefix }

func subnetAt(third byte) Subnet {
	return Subnet{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 99, third, 0}), 24)}
}

func (s Subnet) at(last int) string {
	a := s.Addr().As4()
	a[3] = byte(last)
	return netip.AddrFrom4(a).String()
}

// Host is the address of the machine that the lab runs on.
func (s Subnet) Host() string { return s.at(1) }

// Gateway is where nodes send what is not for the subnet; nothing leaves it.
func (s Subnet) Gateway() string { return s.at(254) }

// Node is the address of nK.
func (s Subnet) Node(k int) string { return s.at(10 + k) }

// mac is fixed per node: with a random one a node made again is unreachable until the ARP caches forget the old.
func (s Subnet) mac(k int) string {
	a := s.Addr().As4()
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", a[0], a[1], a[2], 10+k)
}

// chooseSubnet gives the default lab 10.99.0.0/24 and another one a subnet beside it that depends on its name
// alone, unless that one is taken.
func chooseSubnet(name string, taken []netip.Prefix) (Subnet, error) {
	start := 0
	if name != DefaultName {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		start = 1 + int(h.Sum32()%255)
	}
	for i := range 256 {
		s := subnetAt(byte(start + i))
		if !slices.ContainsFunc(taken, s.Overlaps) {
			return s, nil
		}
	}
	return Subnet{}, fmt.Errorf("every subnet of 10.99.0.0/16 is taken on this machine")
}

// takenSubnets are the networks of this machine's links and of the other labs. A default route overlaps
// nothing here: only links count.
func (l *Lab) takenSubnets() ([]netip.Prefix, error) {
	var taken []netip.Prefix
	links, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if link.Name == l.hostLink() {
			continue
		}
		addresses, err := link.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				taken = append(taken, p.Masked())
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(l.root, "labs", "*", "lab.json"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var other struct {
			Name   string
			Subnet Subnet
		}
		if json.Unmarshal(text, &other) == nil && other.Name != l.name && other.Subnet.IsValid() {
			taken = append(taken, other.Subnet.Prefix)
		}
	}
	return taken, nil
}

// netUp makes the switch: a bridge in a namespace of its own, so that the machine's packet filter never sees
// a node's frames, joined to the machine by one link. It does nothing when the switch is there.
func (l *Lab) netUp(ctx context.Context) error {
	sw, link := l.switchNetns(), l.hostLink()
	if netnsExists(sw) {
		out, err := program(ctx, "ip", "-o", "addr", "show", "dev", link).output()
		if err == nil && strings.Contains(out, " "+l.HostAddress()+"/24 ") {
			return nil
		}
		if err := l.netDown(ctx); err != nil {
			return err
		}
	}
	steps := []string{
		"ip netns add " + sw,
		"ip -n " + sw + " link set lo up",
		"ip -n " + sw + " link add br0 type bridge",
		// The nodes' default gateway: it answers, so the nodes have a default route as everywhere, and this
		// namespace has no other link and forwards nothing.
		"ip -n " + sw + " addr add " + l.subnet.Gateway() + "/24 dev br0",
		"ip -n " + sw + " link set br0 up",
		"ip link add " + link + " type veth peer name host netns " + sw,
		"ip -n " + sw + " link set host master br0 up",
		"ip addr add " + l.HostAddress() + "/24 dev " + link,
		"ip link set " + link + " up",
	}
	for _, step := range steps {
		f := strings.Fields(step)
		if err := program(ctx, f[0], f[1:]...).run(); err != nil {
			return fmt.Errorf("making the network: %w", err)
		}
	}
	return l.closeForwarding(ctx)
}

// closeForwarding keeps this machine from routing for a node that names it as a router: a setting of the lab's
// own link, not of the machine. Node frames must not meet a packet filter in the switch either.
func (l *Lab) closeForwarding(ctx context.Context) error {
	for _, family := range []string{"ipv4", "ipv6"} {
		f := "/proc/sys/net/" + family + "/conf/" + l.hostLink() + "/forwarding"
		if _, err := os.Stat(f); err != nil {
			continue // no IPv6 on this machine
		}
		if err := os.WriteFile(f, []byte("0"), 0o644); err != nil {
			return err
		}
	}
	return program(ctx, "ip", "netns", "exec", l.switchNetns(), "sh", "-c",
		`echo 0 > /proc/sys/net/ipv4/ip_forward
		for f in /proc/sys/net/bridge/bridge-nf-call-*; do [ ! -e "$f" ] || echo 0 > "$f"; done`).run()
}

// netDown removes every link and namespace that carries the lab's name. Nodes must be off.
func (l *Lab) netDown(ctx context.Context) error {
	if _, err := net.InterfaceByName(l.hostLink()); err == nil {
		if err := program(ctx, "ip", "link", "del", l.hostLink()).run(); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir("/run/netns")
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), l.name+"-")
		if _, err := nodeNumber(rest); ours && (err == nil || rest == "sw") {
			if err := program(ctx, "ip", "netns", "del", e.Name()).run(); err != nil {
				return err
			}
		}
	}
	return nil
}

func netnsExists(name string) bool {
	_, err := os.Stat("/run/netns/" + name)
	return err == nil
}

// Cut pulls the node's cable: its link loses the carrier. It stays pulled over a reboot, until Reconnect.
func (l *Lab) Cut(ctx context.Context, node string) error { return l.cable(ctx, node, false) }

// Reconnect plugs the node's cable in again.
func (l *Lab) Reconnect(ctx context.Context, node string) error { return l.cable(ctx, node, true) }

func (l *Lab) cable(ctx context.Context, node string, in bool) error {
	if err := l.mustRun(node); err != nil {
		return err
	}
	if err := l.mark(node, "cut", !in); err != nil {
		return err
	}
	return l.kind(node).plug(ctx, node, in)
}

// port switches the node's port of the switch on or off.
func (l *Lab) port(ctx context.Context, node string, on bool) error {
	state := map[bool]string{true: "up", false: "down"}[on]
	return program(ctx, "ip", "-n", l.switchNetns(), "link", "set", l.netns(node), state).run()
}
