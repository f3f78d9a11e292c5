package clusterspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// A key that is not settable is refused, and its value does not come into the deploy.yaml.
func TestWhichKeysCanBeSet(t *testing.T) {
	refused := 0
	for _, s := range config.Settings() {
		if config.Settable(s.Key) {
			continue
		}
		refused++
		c := right()
		c.Settings = map[string]string{s.Key: "file:/etc/shadow"}
		text, list, err := Rules{}.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
		if err != nil || !slices.Contains(said(list), "settings."+s.Key+" setting") ||
			strings.Contains(string(text), "shadow") {
			t.Errorf("%s: %q %v\n%s", s.Key, said(list), err, text)
		}
	}
	if refused == 0 {
		t.Error("every key is settable")
	}
}

// Machines and bastions may have logins of their own, and no files and passwords.
func TestLoginsOfMachines(t *testing.T) {
	for key, values := range map[string]map[string]string{
		"eggo.bastion": {
			"[{host: b.example, user: ops}]": "", "[{host: b.example, password-from: prompt}]": "",
			"[{host: b.example, private-key-path: /root/.ssh/id}]":   "eggo.bastion[0].private-key-path",
			"[{host: b.example, password-from: 'file:/etc/shadow'}]": "eggo.bastion[0].password-from",
			"[{host: b.example, password: hunter2}]":                 "eggo.bastion[0].password",
		},
		"eggo.machines": {
			"{w1: {user: ops}}":                                  "",
			"{w1: {private-key-path: /root/.ssh/id}}":            "eggo.machines.w1.private-key-path",
			"{w1: {sudo-password-from: 'env:SECRET'}}":           "eggo.machines.w1.sudo-password-from",
			"{w1: {user: ops, sudo-password: hunter2}}":          "eggo.machines.w1.sudo-password",
			"{w1: {bastion: [{host: b.example, password: x1}]}}": "eggo.machines.w1.bastion[0].password",
		},
	} {
		for value, want := range values {
			c := right()
			c.Bundles, c.Settings = map[string]string{"amd64": "/b.tar.gz"}, map[string]string{key: value}
			_, list, err := Rules{}.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
			got := ""
			for _, f := range list {
				got += f.Fault.Args["key"]
			}
			if err != nil || got != want {
				t.Errorf("%s: %q %q %v, want %q", value, got, said(list), err, want)
			}
		}
	}
}

const someCA = `-----BEGIN CERTIFICATE-----
MIIBUzCB+6ADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMTAmNhMB4XDTI2
-----END CERTIFICATE-----
`

// The secrets of registries are in files; what is wrong with a registry is said where it is.
func TestRegistries(t *testing.T) {
	c := right()
	c.Bundles = map[string]string{"amd64": "/b.tar.gz"}
	c.Registries = []Registry{{Host: "registry.example.com:5000", Username: "eggo", Password: "hunter2"}}
	files := Files{Key: "/k", Registries: []RegistryFiles{{Password: "/d/pw"}}}
	text, list, err := Rules{}.Deploy(c, files, "/deploy.yaml")
	if err != nil || len(list) > 0 || strings.Contains(string(text), "hunter2") {
		t.Fatalf("%q %v\n%s", said(list), err, text)
	}
	made, problems := config.Load(text, "/deploy.yaml")
	if made == nil {
		t.Fatal(problems)
	}
	if r := made.Eggo.Registries["registry.example.com:5000"]; r.Username != "eggo" || r.PasswordFrom != "file:/d/pw" {
		t.Errorf("%+v", r)
	}
	c.Registries = append(c.Registries, c.Registries[0], Registry{Host: "other.example", CA: someCA},
		Registry{Host: "bad host", Username: "x"}, Registry{Username: "x"},
		Registry{Host: "z.example", Username: "a b"})
	_, list, err = Rules{}.Deploy(c, Files{Key: "/k", Registries: make([]RegistryFiles, 6)}, "/deploy.yaml")
	for _, want := range []string{"registries[1].host same-registry", "registries[2].ca registry-ca",
		"registries[3].host config.registry-host", "registries[4].host empty"} {
		if err != nil || !slices.Contains(said(list), want) {
			t.Errorf("%q lacks %q (%v)", said(list), want, err)
		}
	}
	for _, field := range []string{"registries[0].host config.missing", "registries[5].username config.account"} {
		if !slices.Contains(said(list), field) {
			t.Errorf("%q lacks %q", said(list), field)
		}
	}
}

// edge is a label of a worker, there and back.
func TestEdge(t *testing.T) {
	c := right()
	c.Bundles = map[string]string{"amd64": "/b.tar.gz"}
	c.Nodes[1].Roles = []string{Worker, Edge}
	if got := said(Rules{}.Create(c)); len(got) > 0 {
		t.Error(got)
	}
	text, list, err := Rules{}.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
	if err != nil || len(list) > 0 {
		t.Fatal(said(list), err)
	}
	made, problems := config.Load(text, "/deploy.yaml")
	if made == nil {
		t.Fatal(problems)
	}
	if _, is := made.Eggo.Nodes["w1"].Labels["node-role.kubernetes.io/edge"]; !is {
		t.Errorf("%s", text)
	}
	was := Of(made)
	i := slices.IndexFunc(was, func(n Node) bool { return n.Name == "w1" })
	if !was[i].Has(Edge) || was[i].Labels != nil {
		t.Errorf("%+v", was)
	}
	if got := said(Rules{}.Update(was, c.Nodes, "")); len(got) > 0 {
		t.Error(got)
	}
	c.Nodes[1].Roles = []string{Worker}
	if got := said(Rules{}.Update(was, c.Nodes, "")); !slices.Equal(got, []string{"nodes[1].roles roles-changed"}) {
		t.Error(got)
	}
}
