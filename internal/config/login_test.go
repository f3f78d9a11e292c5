package config

import (
	"reflect"
	"strings"
	"testing"
)

const pool = `cluster-id: pool
package-src: {x86src: b.tar.gz}
username: ops
password: clusters-own-1
masters: [{name: m1, ip: 192.0.2.1, arch: amd64}]
nodes: [{name: w1, ip: 192.0.2.2, arch: amd64}, {name: w2, ip: 192.0.2.3, arch: amd64}]
eggo:
  sudo-password: clusters-sudo-1
  bastion: b1
  machines:
    w1: {user: admin, password-from: env:POOL, bastion: []}
    w2: {private-key-path: /keys/pool, sudo-password: machines-sudo-1, bastion: "hop@b2:2222"}
`

// What a machine does not say of its login is the cluster's; the cluster's secrets go to none that has its own.
func TestLoginOfAMachine(t *testing.T) {
	c, problems := Load([]byte(pool), "deploy.yaml")
	if c == nil {
		t.Fatal(problems)
	}
	b1 := []Bastion{{Host: "b1", Port: 22}}
	want := map[string]Login{
		"m1": {User: "ops", Password: "clusters-own-1", SudoPassword: "clusters-sudo-1", Bastions: b1},
		"w1": {User: "admin", PasswordFrom: "env:POOL", OwnBastions: true},
		"w2": {
			User: "ops", PrivateKeyPath: "/keys/pool", SudoPassword: "machines-sudo-1", OwnBastions: true,
			Bastions: []Bastion{{Host: "b2", Port: 2222, User: "hop"}},
		},
	}
	for name, l := range want {
		if got := c.LoginOf(name); !reflect.DeepEqual(got, l) {
			t.Errorf("%s: %+v\nwant %+v", name, got, l)
		}
	}
	w1 := c.Eggo.Machines["w1"]
	w1.Password = "machines-own-1"
	c.Eggo.Machines["w1"] = w1
	if got := c.LoginOf("w1"); got.SudoPassword != "machines-own-1" {
		t.Errorf("%+v", got)
	}
	if secretKey(&Cluster{Eggo: Eggo{Machines: c.Eggo.Machines}}) != "eggo.machines" {
		t.Error("the password of a machine is no secret")
	}
}

// What is wrong with a login is reported where it stands; a machine that leaves takes its own with it.
func TestLoginsOfMachines(t *testing.T) {
	for _, c := range []struct{ was, is, key, code string }{
		{"w1: {user: admin", "w3: {user: admin", "eggo.machines.w3", "config.login-unknown"},
		{"user: admin", "user: \"-o\"", "eggo.machines.w1.user", "config.user"},
		{"user: admin", "usr: admin", "eggo.machines.w1.usr", "config.misspelt-key"},
		{"user: admin", "password: two-secrets-1", "eggo.machines.w1.password-from", "config.two-secrets"},
		{"bastion: []", "bastion: -o", "eggo.machines.w1.bastion", "config.bastion"},
		{"w1: {user: admin, password-from: env:POOL, bastion: []}", "w1: admin", "eggo.machines.w1", "config.want-map"},
	} {
		_, problems := Load([]byte(strings.Replace(pool, c.was, c.is, 1)), "deploy.yaml")
		if len(problems) != 1 || problems[0].Code != c.code || problems[0].Key != c.key {
			t.Errorf("%s: %+v", c.is, problems)
		}
		rendered(t, problems)
	}
	text, problems, err := RemoveNodes([]byte(pool), "deploy.yaml", []string{"w2"})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	if s := string(text); strings.Contains(s, "machines-sudo-1") || !strings.Contains(s, "env:POOL") {
		t.Error(s)
	}
}

// A machine that joins with a login of its own has it in eggo.machines, beside those that are there.
func TestAddLogins(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"no eggo": {"masters:\n- {name: m1, ip: 192.0.2.1}\nnodes:\n- {name: w1, ip: 192.0.2.2}\n# end\n",
			"eggo:\n  machines:\n    w1: {user: ops, private-key-path: /keys/w1}\n# end\n"},
		"no machines": {"masters: [{name: m1, ip: 192.0.2.1}]\nnodes: [{name: w1, ip: 192.0.2.2}]\neggo:\n" +
			"  hostname: set # why\n", "eggo:\n  hostname: set # why\n  machines:\n    w1: {user: ops"},
		"an empty map": {"masters: [{name: m1, ip: 192.0.2.1}]\nnodes: [{name: w1, ip: 192.0.2.2}]\n" +
			"eggo: {machines: {}}\n", "w1: {user: ops"},
		"others": {"masters: [{name: m1, ip: 192.0.2.1}]\nnodes: [{name: w1, ip: 192.0.2.2}]\n" +
			"eggo:\n  machines:\n    m1: {user: admin}\n", "    m1: {user: admin}\n    w1: {user: ops"},
	} {
		text := "cluster-id: c\nprivate-key-path: /k\npackage-src: {x86src: /b.tar.gz}\n" + c.file
		out, problems, err := AddLogins([]byte(text), "deploy.yaml", map[string]Login{"w1": {User: "ops",
			PrivateKeyPath: "/keys/w1"}})
		if err != nil || problems.HasErrors() || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v %v\n%s", name, err, problems, out)
			continue
		}
		is, _ := Load(out, "deploy.yaml")
		if l := is.LoginOf("w1"); l.User != "ops" || l.PrivateKeyPath != "/keys/w1" {
			t.Errorf("%s: %+v", name, l)
		}
	}
	_, problems, err := AddLogins([]byte(pool), "deploy.yaml", map[string]Login{"m1": {User: "-o"}})
	if err != nil || !problems.HasErrors() {
		t.Errorf("a user that is none: %v %v", problems, err)
	}
}
