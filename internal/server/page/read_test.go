package page

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

// What a request is refused for stands at the field that it comes from.
func TestWhichFieldIsMeant(t *testing.T) {
	x := typed{registries: []int{0, 3}}
	for location, want := range map[string]string{
		"body.name": "name", "body.ssh.key": "key", "body.options.on_failure": "on_failure",
		"body.nodes[2].address": "nodes", "body.nodes[2].host_keys[0]": "known_hosts",
		"body.ssh.known_hosts": "known_hosts", "body.load_balancer.host_keys[0]": "known_hosts",
		"body.load_balancer": "lb:name", "body.load_balancer.bind_port": "lb:bind_port",
		"body.settings.service.cidr": "s:service.cidr", "body.settings.addons[1]": "s:addons",
		"body.bundles.arm64": "bundle:arm64", "body.registries": "registry:0:host",
		"body.registries[1].ca": "registry:3:ca", "body.registries[1]": "registry:3:host",
		"body.login:2:who": "login:2:who",
	} {
		if got := x.fieldAt(location); got != want {
			t.Errorf("%s: %q, want %q", location, got, want)
		}
	}
}

// The passwords of a form have the names that the API asks for them by.
func TestSecretsOfAForm(t *testing.T) {
	got := secretsOf(url.Values{"secret:password": {"a"}, "secret:sudo": {""}, "login:0:who": {"w1"},
		"login:0:password": {"b"}, "login:0:sudo": {"c"}, "login:1:who": {"ops@b.example"}, "login:1:password": {"d"},
		"login:2:who": {"ops@[2001:db8::1]:2222"}, "login:2:password": {"e"}, "login:3:password": {"nobody's"},
		"login:99:password": {"too many"}, "login:x:password": {"none"}})
	want := map[string]string{"password": "a", "password w1": "b", "sudo w1": "c", "bastion ops@b.example:22": "d",
		"bastion ops@[2001:db8::1]:2222": "e"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if secretsOf(url.Values{"name": {"x"}}) != nil {
		t.Error("there is none")
	}
}

// A bastion of a list becomes the new cluster's, without the key that is a file of the browser's machine; nodes that
// join are reached as the cluster's deploy.yaml says.
func TestBastionsOfAList(t *testing.T) {
	x := typed{}
	x.Settings = map[string]string{}
	x.nodes(url.Values{"nodes": {"bastion_host: {address: 192.0.2.1, user: ops, ssh_key_path: ~/.ssh/b}\nnodes:\n" +
		"- {address: 10.0.0.1, role: [etcd]}\n"}})
	keys := func() (out []string) {
		for _, m := range x.told {
			out = append(out, m.Key)
		}
		return out
	}
	if got := x.Settings["eggo.bastion"]; got != `"ops@192.0.2.1"` ||
		!slices.Equal(keys(), []string{"machines.bastion", "page.nodes.keys"}) {
		t.Errorf("%s, told %v", got, keys())
	}
	if x = x.ownLogin(); !slices.Equal(keys(), []string{"page.nodes.keys", "machines.bastion-dropped"}) {
		t.Errorf("of nodes that join, %v is told", keys())
	}
}

// Host keys are those of the node that their line begins with; the others are known hosts.
func TestHostKeysOfAForm(t *testing.T) {
	x := typed{}
	x.Nodes = []clusterspec.Node{{Name: "m1", Address: "192.0.2.1"}, {Name: "m2", Address: "2001:db8::2"}}
	x.LoadBalancer = &clusterspec.Balancer{Name: "lb", Address: "192.0.2.9"}
	x.readHostKeys(url.Values{"known_hosts": {"m1 ssh-ed25519 A\r\n\r\n192.0.2.1 ssh-rsa B\nb.example ssh-rsa C\n" +
		"lb ssh-rsa D"},
		"accept": {"m1 ssh-ed25519 A", "m2 ssh-rsa E"}})
	if len(x.Nodes[0].HostKeys) != 1 || x.Nodes[0].HostKeys[0] != "ssh-ed25519 A" || len(x.Nodes[1].HostKeys) != 1 ||
		len(x.LoadBalancer.HostKeys) != 1 || x.SSH.KnownHosts != "192.0.2.1 ssh-rsa B\nb.example ssh-rsa C\n" {
		t.Errorf("%+v", x.Cluster)
	}
	x.SSH.KnownHosts = "192.0.2.1 ssh-rsa B\n[2001:db8::2]:22 ssh-rsa C\n# remark\nb.example ssh-rsa D\n"
	x.onlyNodes()
	if len(x.Nodes[0].HostKeys) != 2 || len(x.Nodes[1].HostKeys) != 2 || len(x.bad) != 1 ||
		x.bad[0].Fault.Code != "page.host-key" || x.bad[0].Fault.Args["name"] != "b.example" {
		t.Errorf("%+v %v", x.Nodes, x.bad)
	}
}
