package main

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// The addresses of this machine, in any spelling, are no machine of a request. A cluster that has one is shown, and not
// logged in to.
func TestTheServerIsNoMachine(t *testing.T) {
	machine := remotetest.New(t)
	state := t.TempDir()
	s := startOn(t, ownAddresses, t.TempDir(), state)
	defer func() { s.end() }()
	token := s.administrator()
	forms := map[string]string{
		"127.0.0.1": "profile.special-address", "127.255.255.254": "profile.special-address",
		"::1": "profile.special-address", "::ffff:127.0.0.1": "profile.special-address",
		"::ffff:7f00:1": "profile.special-address", "::127.0.0.1": "profile.server",
		"0.0.0.0": "profile.special-address", "::": "profile.special-address",
		"169.254.169.254": "profile.special-address", "224.0.0.1": "profile.special-address",
		"255.255.255.255": "profile.special-address", "fe80::1": "profile.special-address",
		"ff02::1": "profile.special-address", "127.1": "profile.address", "2130706433": "profile.address",
		"0x7f.0.0.1": "profile.address", "0177.0.0.1": "profile.address", "::1%lo": "profile.address",
		"localhost": "profile.address",
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			forms[p.Addr().Unmap().String()] = "profile.server"
			if p.Addr().Is4() {
				forms["::ffff:"+p.Addr().String()] = "profile.server"
			}
		}
	}
	for address, want := range forms {
		node := fmt.Sprintf(`{"name":"w1","address":%q,"port":%d,"roles":["worker"]}`, address, machine.Port)
		balancer := fmt.Sprintf(`,"load_balancer":{"name":"lb","address":%q}`, address)
		bastion := fmt.Sprintf(`,"settings":{"eggo.bastion":"{host: '%s', port: %d}"}`, address, machine.Port)
		other := `{"name":"w1","address":"198.51.100.2","roles":["worker"]}`
		for what, body := range map[string]string{"node": node, "load balancer": other + "]" + balancer,
			"bastion": other + "]" + bastion} {
			if what == "node" {
				body += "]"
			}
			code := want
			if what == "bastion" && want == "profile.address" { // it may be a name
				code = "profile.special-address"
			}
			if what == "bastion" && strings.Contains(address, "%") {
				continue // deploy.yaml has no zones
			}
			body = `{"name":"one","server_address":"192.0.2.250","domain":"cluster.local",
				"ssh":{"user":"root","password":"secret","host_keys":"accept-new"},
				"bundles":{"amd64":"/srv/bundle.tar.gz"},"nodes":[
				{"name":"m1","address":"198.51.100.1","roles":["controlplane","etcd"]},` + body + "}"
			for _, route := range []string{"/check", "/clusters"} {
				status, answer, _ := s.call(token, "POST", "/api/v1"+route, body)
				if status != 422 || !strings.Contains(fmt.Sprint(answer), code) {
					t.Errorf("%s %s %s: %d %v, want %s", route, what, address, status, answer, code)
				}
			}
		}
	}
	byTheCommandLine(t, state, "rack", func(d *config.Draft) {
		d.Set("eggo.password-from", "prompt")
		d.Machines[0].IP, d.Machines[0].Port = machine.IP, fmt.Sprint(machine.Port)
		d.Machines[1].IP = "127.0.0.2"
	})
	const rack = "/api/v1/clusters/rack"
	is := s.becomes(token, rack, "there", func(map[string]any) bool { return true })
	if nodes, _ := is["nodes"].([]any); len(nodes) != 2 {
		t.Errorf("the cluster is not shown: %v", is)
	}
	for _, route := range []string{"/status", "/plan"} {
		_, answer, _ := s.call(token, "POST", rack+route, `{"secrets":{"password":"secret"}}`)
		if text := fmt.Sprint(answer); !strings.Contains(text, "ssh.own-address") {
			t.Errorf("%s: %s", route, text)
		}
	}
	if n := machine.Connections(); n != 0 {
		t.Errorf("%d connections to this machine", n)
	}
}
