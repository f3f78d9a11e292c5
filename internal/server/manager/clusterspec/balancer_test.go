package clusterspec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

func bundled() Cluster {
	c := right()
	c.Bundles = map[string]string{"amd64": "/b.tar.gz"}
	return c
}

// What is wrong with a load balancer is said where it is, by the rules of this package or by those of deploy.yaml.
func TestABalancer(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*Balancer)
		want   string
	}{
		{"a machine by itself", func(*Balancer) {}, ""},
		{"a node", func(b *Balancer) { b.Name, b.Address = "w1", "192.0.2.2" }, ""},
		{"no name", func(b *Balancer) { b.Name = "" }, "load_balancer.name node-empty"},
		{"no address", func(b *Balancer) { b.Address = "" }, "load_balancer.address node-empty"},
		{"a host name", func(b *Balancer) { b.Address = "lb.example" }, "load_balancer.address address"},
		{"C7", func(b *Balancer) { b.Address = "192.0.2.250" }, "server_address server-address"},
		{"C5 address", func(b *Balancer) { b.Address = "192.0.2.2" }, "load_balancer.address same-address"},
		{"C5 name", func(b *Balancer) { b.Name = "w1" }, "load_balancer.name same-name"},
		{"a host key", func(b *Balancer) { b.HostKeys = []string{"x"} }, "load_balancer.host_keys[0] host-key"},
		{"a bad name", func(b *Balancer) { b.Name = "a b" }, "load_balancer.name config.name"},
		{"a port of another", func(b *Balancer) { b.Name, b.Address, b.BindPort = "m1", "192.0.2.1", 6443 },
			"load_balancer.bind_port"},
		{"a kind of machine", func(b *Balancer) { b.Arch = "mips" }, "load_balancer.arch config"},
	} {
		x := bundled()
		x.LoadBalancer = &Balancer{Name: "lb", Address: "192.0.2.5", BindPort: 9443}
		c.change(x.LoadBalancer)
		list := (Rules{}).Create(x)
		if len(list) == 0 {
			var err error
			if _, list, err = (Rules{}).Deploy(x, Files{Key: "/k"}, "/deploy.yaml"); err != nil {
				t.Fatal(err)
			}
		}
		if got := said(list); len(got) > 1 || (c.want == "") != (len(got) == 0) ||
			!strings.HasPrefix(strings.Join(got, ""), c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := said((Rules{Shared: true}).Balancer(&Balancer{Name: "lb", Address: "192.0.2.250"}, nil,
		"192.0.2.250")); len(got) > 0 {
		t.Error(got)
	}
}

// The load balancer of a request is in its deploy.yaml, is read back, and stays when the other machines are replaced.
func TestABalancerThereAndBack(t *testing.T) {
	for _, lb := range []*Balancer{nil, {Name: "lb", Address: "192.0.2.5", Arch: "amd64", Port: 2222, BindPort: 9443},
		{Name: "w1", Address: "192.0.2.2", Arch: "amd64", Port: 22, BindPort: 8443}} {
		c := bundled()
		c.LoadBalancer = lb
		text, list, err := Rules{}.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
		if err != nil || len(list) > 0 {
			t.Fatal(said(list), err)
		}
		made, problems := config.Load(text, "/deploy.yaml")
		if made == nil {
			t.Fatal(problems)
		}
		if got := BalancerOf(made); !reflect.DeepEqual(got, lb) || len(Of(made)) != 2 {
			t.Errorf("%+v of\n%s", got, text)
		}
		to := Machines{Nodes: []Node{node("m7", "192.0.2.7", ControlPlane, Etcd), node("w1", "192.0.2.2", Worker)}}
		text, list, err = Rules{}.Replaced(text, to, "/deploy.yaml")
		if made, _ = config.Load(text, "/deploy.yaml"); err != nil || made == nil || len(list) > 0 {
			t.Fatalf("%v %v\n%s", said(list), err, text)
		}
		if got := BalancerOf(made); !got.Same(lb) || !strings.Contains(string(text), "192.0.2.7") {
			t.Errorf("%+v of\n%s", got, text)
		}
		to.Balancer = &Balancer{Name: "lb2", Address: "192.0.2.6"}
		text, _, _ = Rules{}.Replaced(text, to, "/deploy.yaml")
		if made, _ = config.Load(text, "/deploy.yaml"); made == nil || !BalancerOf(made).Same(to.Balancer) {
			t.Errorf("%s", text)
		}
	}
}

// An update leaves the load balancer as it is, and its machine becomes no node.
func TestAnUpdateBesideABalancer(t *testing.T) {
	was := right().Nodes
	lb := &Balancer{Name: "lb", Address: "192.0.2.5"}
	more := func(name, address string) []Node { return append(slices.Clone(was), node(name, address, Worker)) }
	for _, c := range []struct {
		what      string
		now       []Node
		has, said *Balancer
		want      string
	}{
		{"none", more("x", "192.0.2.9"), nil, nil, ""},
		{"the same", more("x", "192.0.2.9"), lb, &Balancer{Name: "lb", Address: "192.0.2.5", BindPort: 8443}, ""},
		{"another", was, lb, &Balancer{Name: "lb", Address: "192.0.2.6"}, "load_balancer balancer-changed"},
		{"a new one", was, nil, lb, "load_balancer balancer-changed"},
		{"a node of it", more("x", "192.0.2.5"), lb, nil, "nodes[2].address balancer-node"},
		{"its name", more("lb", "192.0.2.9"), lb, nil, "nodes[2].name same-name"},
		{"a node is it", was, &Balancer{Name: "w1", Address: "192.0.2.2"}, nil, ""},
	} {
		if got := strings.Join(said((Rules{}).Beside(was, c.now, c.has, c.said)), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// A host key is a line of a file that ssh-keygen has made.
func TestHostKeys(t *testing.T) {
	for text, good := range map[string]bool{
		hostKey: true, hostKey + " root@n1": true, "": false, "ssh-ed25519": false, hostKey + "\n" + hostKey: false,
		"ssh-rsa" + strings.TrimPrefix(hostKey, "ssh-ed25519"): false, "* " + hostKey: false,
		"SHA256:uNiVztksCsDhcc0u9e8BrvbWvGqd7y0eX5aHbqZkPKo": false, "ssh-ed25519 AAAAC3Nz": false,
		"ssh-ed25519 /////w==": false, "ssh-dss AAAAB3NzaC1kc3MAAAA=": false,
	} {
		c := bundled()
		c.Nodes[1].HostKeys = []string{text}
		want := []string{}
		if !good {
			want = []string{"nodes[1].host_keys[0] host-key"}
		}
		if got := said((Rules{}).Create(c)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
