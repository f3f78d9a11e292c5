package config

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// A value is wrong by the rule of its key, and not by what other keys are: that may be changed as well.
func TestCheckValue_UsesTheRuleOfTheKey(t *testing.T) {
	for _, c := range []struct{ key, value, code, at string }{
		{"service.cidr", "10.0.0.0/8", "config.service-size", "service.cidr"},
		{"service.cidr", "10.244.0.0/16", "", ""}, // the default network of the pods
		{"service.cidr", "10.1.2.0/16", "config.cidr-host-bits", "service.cidr"},
		{"insecure-registries", "a.example, 10.0.0.0/8", "", ""}, // with docker
		{"registry-mirrors", "https://ok.example, nonsense url", "config.mirror", "registry-mirrors[1]"},
		{"addons", "a.yaml, ../b.yaml", "config.addon-file", "addons[1].filename"},
		{"open-ports", "node: [{port: 10250}]", "config.port-own", "open-ports.node[0]"},
		{"pacakges", "etcd: [{name: etcd, type: binary}]", "config.dst-missing", "packages.etcd[0]"},
		{"eggo.bastion", "ops@", "config.bastion", "eggo.bastion"},
		{"eggo.bastion", "[{port: 22}]", "config.missing", "eggo.bastion[0]"},
		{"eggo.nodes", "a: &x {labels: {b: c}}", "config.alias", "eggo.nodes"},
		{"eggo.nodes", "a: [", "config.syntax", "eggo.nodes"},
		{"eggo.nodes", "# nothing", "", ""},
		{"eggo.password-from", "stdin", "config.secret-source", "eggo.password-from"},
		{"password", " ", "config.secret-blank", "password"},
		{"cluster-id", "", "", ""},
		{"no-such-key", "x", "", ""},
	} {
		p, bad := CheckValue(c.key, c.value)
		if bad != (c.code != "") || p.Code != c.code || p.Key != c.at {
			t.Errorf("%s: %s: %v, %s at %s, want %s at %s", c.key, c.value, bad, p.Code, p.Key, c.code, c.at)
		}
		if p.Code == "config.cidr-host-bits" && p.Args["instead"] == "" {
			t.Error("no network is proposed")
		}
	}
}

func TestCheckMachine_ChecksOneField(t *testing.T) {
	for _, c := range []struct{ field, value, code string }{
		{"name", "A b", "config.name"}, {"ip", "192.0.2.999", "config.ip"}, {"port", "0", "config.integer"},
		{"arch", "mips", "config.choice"}, {"name", "a", ""}, {"ip", "10.244.0.1", ""}, {"port", "", ""},
		{"arch", "aarch64", ""}, {"roles", "x", ""},
	} {
		p, bad := CheckMachine(c.field, c.value)
		if bad != (c.code != "") || p.Code != c.code || bad && p.Key != "machines[0]."+c.field {
			t.Errorf("%s: %s: %v, %s at %s", c.field, c.value, bad, p.Code, p.Key)
		}
	}
}

// BenchmarkCheckValue compares the check of one value with that of a file that has it, and with that of a draft.
func BenchmarkCheckValue(b *testing.B) {
	b.Run("value", func(b *testing.B) {
		for b.Loop() {
			if _, bad := CheckValue("service.cidr", "10.96.0.0/16"); bad {
				b.Fatal("wrong")
			}
		}
	})
	d := Draft{Machines: []Machine{{Name: "a", IP: "192.0.2.1",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}}}}
	d.Set("service.cidr", "10.96.0.0/16")
	d.Set(BundleKey("amd64"), "/x.tar.gz")
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			if c, problems := Load(d.YAML(), ""); c == nil {
				b.Fatal(problems)
			}
		}
	})
	b.Run("draft", func(b *testing.B) {
		for b.Loop() {
			if c, problems := d.Check(""); c == nil {
				b.Fatal(problems)
			}
		}
	})
}
