package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

const (
	publicZone = `firewalld=
firewalld=public (active)
firewalld=  target: default
firewalld=  icmp-block-inversion: no
firewalld=  interfaces: eth0
firewalld=  sources: 
firewalld=  services: dhcpv6-client ssh
firewalld=  protocols: 
`
	ufwHead = `ufw=Status: active
ufw=Logging: on (low)
ufw=Default: deny (incoming), allow (outgoing), disabled (routed)
ufw=New profiles: skip
ufw=
ufw=To                         Action      From
ufw=--                         ------      ----
ufw=22/tcp (OpenSSH)           ALLOW IN    Anywhere
`
)

func TestCheckOfFirewalls(t *testing.T) {
	const all = "10250/tcp, 10256/tcp, 8472/udp"
	for name, c := range map[string]struct {
		node        config.Node
		says, extra string
		want, ports string
	}{
		"none":      {worker, "", "", "", ""},
		"firewalld": {worker, publicZone, "", "opens", all},
		"firewalld, some open": {worker, publicZone + "firewalld=  ports: 10250-10256/tcp", "", "opens",
			"8472/udp"},
		"firewalld, all open": {worker, publicZone + "firewalld=  ports: 10250/tcp 8472/udp 10256/tcp", "", "",
			""},
		"firewalld, of a master": {master, publicZone +
			"firewalld=  ports: 10250-10256/tcp 8472/udp 2379/tcp 6443/udp", "", "opens", "2380/tcp, 6443/tcp"},
		"firewalld, etcd port by port": {etcdOnly, publicZone + "firewalld=  ports: 2379/tcp 2380/tcp", "", "", ""},
		"firewalld, a trusted zone":    {worker, "firewalld=trusted (active)\nfirewalld=  target: ACCEPT", "", "", ""},
		"firewalld, a rich rule": {worker, publicZone +
			"firewalld=  rich rules: \nfirewalld=\trule family=\"ipv4\" source address=\"192.0.2.0/24\" accept", "",
			"warning preflight.firewall-unsure", all},
		"firewalld, a zone of sources": {worker, publicZone + "firewalld=sources: 192.0.2.0/24", "",
			"warning preflight.firewall-unsure", all},
		"firewalld, a service": {worker, publicZone + "firewalld=  services: ssh kubelet-worker", "", "opens", all},
		"ufw":                  {worker, ufwHead, "", "opens", all},
		"ufw that denies one": {worker, ufwHead +
			"ufw=10250,10256/tcp ALLOW IN Anywhere\nufw=8472/udp  DENY IN  Anywhere", "", "opens", "8472/udp"},
		"ufw, all open": {worker, ufwHead +
			"ufw=10250:10260/tcp  ALLOW IN  192.0.2.0/24\nufw=8472  ALLOW IN  Anywhere\n", "", "", ""},
		"ufw, only for IPv6": {worker, ufwHead + "ufw=10250:10260/tcp (v6)  ALLOW IN  Anywhere (v6)\n", "",
			"opens", all},
		"ufw, only outwards": {worker, ufwHead + "ufw=10250:10260/tcp  ALLOW OUT  Anywhere\n", "", "opens", all},
		"ufw, all from a network": {worker, ufwHead + "ufw=Anywhere  ALLOW IN  192.0.2.0/24\n", "",
			"warning preflight.firewall-unsure", all},
		"ufw that lets all in": {worker, "ufw=Status: active\nufw=Default: allow (incoming), allow (outgoing)", "", "",
			""},
		"nftables": {worker, "nftables=nft inet filter input input", "", "opens", all},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts.Parse(c.says + "\n" + c.extra)
			r := newInput()
			got := findingsOf(t, r, checkFirewall(), c.node, f)
			if c.want == "opens" {
				if closed := strings.Join(f.Firewalls[0].Closed(r.Inbound(c.node)), ", "); got != nil ||
					closed != c.ports {
					t.Errorf("closed %s, %+v", closed, got)
				}
				return
			}
			if c.want == "" {
				if got != nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if !slices.Equal(nodestest.Codes(got), []string{c.want}) || got[0].Fault.Args["ports"] != c.ports {
				t.Errorf("%+v", got)
			}
		})
	}
}

func FuzzFirewalls(f *testing.F) {
	f.Add(publicZone)
	f.Add(ufwHead + "ufw=1:70000/tcp ALLOW IN Anywhere")
	f.Fuzz(func(t *testing.T, s string) {
		for _, g := range findingsOf(t, newInput(), checkFirewall(), worker, facts.Parse(s)) {
			if g.Severity != event.Error && g.Severity != event.Warning {
				t.Error(g)
			}
		}
	})
}
