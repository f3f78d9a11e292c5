package clusterspec

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// No machine of a request is the server: not a node, a load balancer or a bastion, in any spelling, whatever roles the
// server allows. The addresses are read for each request.
func TestNoMachineIsTheServer(t *testing.T) {
	var own config.Addresses
	for _, p := range []string{"127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/8", "::/96", "fe80::/10",
		"ff00::/8", "192.0.2.7/32", "2001:db8::7/128"} {
		own = append(own, netip.MustParsePrefix(p))
	}
	none := true
	rules := Rules{Own: func() config.Addresses {
		if none {
			return nil
		}
		return own
	}}
	const server, special, address = "server", "special-address", "address"
	for text, want := range map[string]string{
		"192.0.2.7": server, "::ffff:192.0.2.7": server, "2001:db8::7": server, "2001:DB8:0::7": server,
		"127.0.0.1": special, "127.0.0.2": special, "::1": special, "::ffff:127.0.0.1": special, "::": special,
		"0.0.0.0": special, "169.254.169.254": special, "fe80::1": special, "224.0.0.1": special, "ff02::1": special,
		"127.1": address, "2130706433": address, "0x7f000001": address, "0177.0.0.1": address, "fe80::1%lo": address,
		"::1%lo": address, "localhost": address, "192.0.2.8": "", "2001:db8::8": "",
	} {
		for _, shared := range []bool{false, true} {
			rules.Shared = shared
			found := func(list []Finding, at string) {
				t.Helper()
				got := slices.DeleteFunc(said(list), func(s string) bool { return s == "nodes same-address" })
				wanted := at + " " + want
				if want != "" && !slices.Contains(got, wanted) || want == "" && len(got) > 0 {
					t.Errorf("%s, shared %v: %q, want %q", text, shared, got, wanted)
				}
			}
			none = false
			c := right()
			c.Nodes[1].Address = text
			found(rules.Create(c), "nodes[1].address")
			found(rules.Update(nil, c.Nodes, ""), "nodes[1].address")
			c = right()
			c.LoadBalancer = &Balancer{Name: "lb", Address: text}
			found(rules.Create(c), "load_balancer.address")
			none = true
			if got := said(rules.Create(c)); want != address && len(got) > 0 {
				t.Errorf("%s is refused without addresses of the server: %q", text, got)
			}
		}
	}
	none, rules.Shared = false, false
	for host, want := range map[string]string{"127.1": special, "2130706433": special, "0x7f.1": special,
		"localhost": special, "x.localhost": special, "127.0.0.1": special, "[::ffff:127.0.0.1]": special,
		"[::1]": special, "192.0.519": server, "192.0.2.7": server, "192.0.2.8": "", "bastion.example": ""} {
		for key, value := range map[string]string{"eggo.bastion": "ops@" + host + ":2222",
			"eggo.machines": "{w1: {bastion: 'ops@" + host + "'}}"} {
			c := bundled()
			c.Settings = map[string]string{key: value}
			_, list, err := rules.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
			got := said(list)
			if wanted := "settings." + key + " " + want; err != nil || want == "" && len(got) > 0 ||
				want != "" && !slices.Equal(got, []string{wanted}) {
				t.Errorf("%s: %q %v, want %q", value, got, err, wanted)
			}
		}
	}
}

// A secret of blanks and line breaks is none.
func TestABlankSecretIsNone(t *testing.T) {
	for _, blank := range []string{"\n", "\r\n", " ", "\t"} {
		c := bundled()
		c.SSH.Password, c.SSH.SudoPassword = blank, blank
		want := []string{"ssh.password empty", "ssh.sudo_password empty"}
		if got := said((Rules{}).Create(c)); !slices.Equal(got, want) {
			t.Errorf("%q beside a key: %q", blank, got)
		}
		c.SSH.Key = ""
		if got := said((Rules{}).Create(c)); !slices.Contains(got, "ssh.password empty") {
			t.Errorf("%q: %q", blank, got)
		}
		login := &SSH{User: "root", Password: blank}
		if got := said(login.Wrong()); !slices.Equal(got, []string{"ssh.password empty"}) {
			t.Errorf("%q in place of another login: %q", blank, got)
		}
		c = bundled()
		c.Registries = []Registry{{Host: "registry.example", Username: "u", Password: blank}}
		files := Files{Key: "/k", Registries: []RegistryFiles{{Password: "/p"}}}
		_, list, err := Rules{}.Deploy(c, files, "/deploy.yaml")
		if got := said(list); err != nil || !slices.Equal(got, []string{"registries[0].password empty"}) {
			t.Errorf("%q of a registry: %q %v", blank, got, err)
		}
	}
}
