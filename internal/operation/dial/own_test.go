package dial

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// loopback are the addresses that a server of these tests does not log in to.
func loopback() config.Addresses {
	return config.Addresses{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::/96")}
}

// An address of its own is not connected to: not as a node, not as a bastion in any spelling, and not behind a bastion.
func TestOwnAddressesAreNotLoggedInTo(t *testing.T) {
	s := remotetest.New(t)
	for what, c := range map[string]struct {
		node    string
		bastion []string
		who     string // is refused
	}{
		"a node":                       {"127.0.0.1", nil, "n1"},
		"a node, mapped":               {"::ffff:127.0.0.1", nil, "n1"},
		"a node behind a bastion":      {"127.0.0.1", []string{"192.0.2.9"}, "n1"},
		"a bastion":                    {"192.0.2.1", []string{"127.0.0.1"}, "127.0.0.1"},
		"a bastion, mapped":            {"192.0.2.1", []string{"::ffff:127.0.0.1"}, "::ffff:127.0.0.1"},
		"a bastion, short":             {"192.0.2.1", []string{"127.1"}, "127.1"},
		"a bastion, decimal":           {"192.0.2.1", []string{"2130706433"}, "2130706433"},
		"a bastion, hexadecimal":       {"192.0.2.1", []string{"0x7f000001"}, "0x7f000001"},
		"a bastion, octal":             {"192.0.2.1", []string{"0177.0.0.1"}, "0177.0.0.1"},
		"a bastion by its name":        {"192.0.2.1", []string{"localhost"}, "localhost"},
		"a bastion of IPv6":            {"192.0.2.1", []string{"::1"}, "::1"},
		"a bastion behind another one": {"192.0.2.1", []string{"192.0.2.9", "127.0.0.1"}, "127.0.0.1"},
	} {
		x := &config.Cluster{Nodes: []config.Node{{Name: "n1", IP: netip.MustParseAddr(c.node), Port: s.Port}}}
		x.SSH = config.SSH{User: "root", Password: "secret"}
		for _, host := range c.bastion {
			x.Eggo.Bastions = append(x.Eggo.Bastions, config.Bastion{Host: host, Port: s.Port})
		}
		_, err := open(t, New(Options{Own: loopback}), x).Dial(t.Context(), x.Nodes[0])
		if f := event.AsFault(err); f == nil || f.Code != "ssh.own-address" || f.Node != c.who ||
			f.Class != event.ClassAuth {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if n := s.Connections(); n != 0 {
		t.Error("connections:", n)
	}
}

// The address that a name has come to is compared with the own addresses when the connection is opened.
func TestTheAddressOfANameIsChecked(t *testing.T) {
	s := remotetest.New(t)
	c, err := New(Options{Own: loopback}).direct()(t.Context(), "tcp", s.Addr)
	if err == nil {
		c.Close()
	}
	if f := event.AsFault(err); s.Connections() != 0 || f == nil {
		t.Error("connected to", s.Addr)
	}
	if New(Options{}).direct() != nil {
		t.Error("something is refused where nothing is to be")
	}
}

// Keys of the user, and those of an agent, are for deploy.yaml files that name no credential, and for the command line.
func TestWhatIsOffered(t *testing.T) {
	type login = config.Login
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id_rsa", "id_ecdsa"} {
		if err := os.WriteFile(filepath.Join(home, ".ssh", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		cluster config.SSH
		machine login
		bastion *config.Bastion
		refused string // on the server: the machine
	}{
		"nothing":              {refused: "n1"},
		"a password":           {cluster: config.SSH{Password: "x"}},
		"a key":                {cluster: config.SSH{PrivateKeyPath: "/k"}},
		"of the machine":       {machine: login{Password: "x"}},
		"a key of the machine": {machine: login{PrivateKeyPath: "/k"}},
		"of a bastion alone":   {bastion: &config.Bastion{Host: "b1", Password: "x"}, refused: "n1"},
		"of the machine alone": {machine: login{Password: "x"}, bastion: &config.Bastion{Host: "b1"}, refused: "b1"},
		"of all":               {cluster: config.SSH{Password: "x"}, bastion: &config.Bastion{Host: "b1"}},
	} {
		x := &config.Cluster{Nodes: []config.Node{{Name: "n1", IP: netip.MustParseAddr("192.0.2.1"), Port: 22}}}
		x.SSH, x.Eggo.Machines = c.cluster, map[string]config.Login{"n1": c.machine}
		if c.bastion != nil {
			x.Eggo.Bastions = []config.Bastion{*c.bastion}
		}
		of := func(o Options) *connections { return open(t, New(o), x).(*connections) }
		err := of(Options{}).allowed(x.Nodes[0])
		f := event.AsFault(err)
		if (err != nil) != (c.refused != "") || err != nil && (f.Code != "ssh.not-named" || f.Node != c.refused ||
			f.Class != event.ClassAuth) {
			t.Errorf("%s, by the server: %v", what, err)
		}
		here := of(Options{Home: home, Agent: true})
		if err := here.allowed(x.Nodes[0]); err != nil {
			t.Errorf("%s, by the command line: %v", what, err)
		}
		_, way := here.hops(x.Nodes[0])
		for _, to := range append(way, here.target(x.Nodes[0])) {
			named := slices.Equal(to.Keys, []string{"/k"}) || to.Password != ""
			own := slices.Equal(to.Keys, []string{filepath.Join(home, ".ssh/id_ecdsa")})
			if others := to.Agent == remote.AgentOffers; others == named || own == named ||
				(c.refused == to.Name) == named {
				t.Errorf("%s: %s gets %+v", what, to.Name, to)
			}
		}
	}
}
