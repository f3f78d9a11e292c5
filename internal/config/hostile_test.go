package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hostile values, each of which means something to a shell, a path, a unit file, a flag parser or a terminal.
var hostile = []string{
	"a; reboot", "$(reboot)", "`reboot`", "${IFS}", "a|b", "a&b", "a>b", "a<b", "a b", "a'b", `a"b`, `a\b`, "-rf",
	"--version", "a\nb", "a\tb", "a\x00b", "a\x1b[2Jb",
	"../../etc/passwd", "a/../b", "/a/../b", "/a//b", "a*", "a?b", "[a]", "{a,b}", "~root", "!x", "#x", "%h", "a%n",
	"a\u202eb", "a\u2028b", "=x", "é", "名",
	strings.Repeat("a", 5000),
}

// Every text field, by the shortest file that has it. What a field may hold in spite of all is allowed by name.
func TestHostileValuesAreRefusedInEveryField(t *testing.T) {
	below := []string{"-rf", "--version", "=x"} // behind a directory they are names like others
	for field, tc := range map[string]struct {
		file    string // with %s for the value
		allowed []string
	}{
		"cluster-id":          {"cluster-id: %s\n", nil},
		"username":            {"username: %s\n", nil},
		"private-key-path":    {"private-key-path: %s\n", nil},
		"master name":         {"masters: [{name: %s, ip: 192.168.0.1}]\n", nil},
		"master ip":           {"masters: [{name: a, ip: %s}]\n", nil},
		"master port":         {"masters: [{name: a, ip: 192.168.0.1, port: %s}]\n", nil},
		"master arch":         {"masters: [{name: a, ip: 192.168.0.1, arch: %s}]\n", nil},
		"loadbalance name":    {"loadbalance: {name: %s, ip: 192.168.0.5}\n", nil},
		"bind-port":           {"loadbalance: {name: a, ip: 192.168.0.5, bind-port: %s}\n", nil},
		"external-ca":         {"external-ca: %s\n", nil},
		"external-ca-path":    {"external-ca-path: %s\n", nil},
		"service.cidr":        {"service: {cidr: %s}\n", nil},
		"service.dnsaddr":     {"service: {dnsaddr: %s}\n", nil},
		"service.gateway":     {"service: {gateway: %s}\n", nil},
		"corednstype":         {"service: {dns: {corednstype: %s}}\n", nil},
		"imageversion":        {"service: {dns: {imageversion: %s}}\n", nil},
		"replicas":            {"service: {dns: {replicas: %s}}\n", nil},
		"podcidr":             {"network: {podcidr: %s}\n", nil},
		"plugin":              {"network: {plugin: %s}\n", nil},
		"NetworkYamlPath":     {"network: {plugin-args: {NetworkYamlPath: %s}}\n", nil},
		"plugin-args key":     {"network: {plugin-args: {%s: /x}}\n", nil},
		"apiserver-endpoint":  {"apiserver-endpoint: %s\n", nil},
		"dnsnames":            {"apiserver-cert-sans: {dnsnames: [%s]}\n", nil},
		"ips":                 {"apiserver-cert-sans: {ips: [%s]}\n", nil},
		"apiserver-timeout":   {"apiserver-timeout: %s\n", nil},
		"etcd-token":          {"etcd-token: %s\n", nil},
		"dns-vip":             {"dns-vip: %s\n", nil},
		"dns-domain":          {"dns-domain: %s\n", nil},
		"pause-image":         {"pause-image: %s\n", nil},
		"network-plugin":      {"network-plugin: %s\n", nil},
		"cni-bin-dir":         {"cni-bin-dir: /opt/cni/bin,%s\n", nil},
		"runtime":             {"runtime: %s\n", nil},
		"runtime-endpoint":    {"runtime-endpoint: %s\n", nil},
		"socket path":         {"runtime-endpoint: \"unix:///run/\"%s\n", below},
		"registry-mirrors":    {"registry-mirrors: [%s]\n", nil},
		"insecure-registries": {"insecure-registries: [%s]\n", nil},
		"component":           {"config-extra-args: [{name: %s}]\n", nil},
		"flag":                {"config-extra-args: [{name: kubelet, extra-args: {%s: x}}]\n", nil},
		"setting":             {"config-extra-args: [{name: container-engine, extra-args: {%s: x}}]\n", nil},
		"addon":               {"addons: [{filename: %s}]\n", nil},
		"open-ports role":     {"open-ports: {%s: []}\n", nil},
		"open-ports port":     {"open-ports: {node: [{port: %s}]}\n", nil},
		"open-ports protocol": {"open-ports: {node: [{port: 1, protocol: %s}]}\n", nil},
		"package-src.type":    {"package-src: {type: %s}\n", nil},
		"x86src": {"package-src: {x86src: %s}\n",
			[]string{"../../etc/passwd", "~root", "a b", "é", "名", "a%n", "%h", "=x"}},
		"distpath":      {"package-src: {distpath: %s}\n", nil},
		"package name":  {"pacakges: {etcd: [{name: %s, type: pkg}]}\n", nil},
		"package type":  {"pacakges: {etcd: [{name: a, type: %s}]}\n", nil},
		"dstpath":       {"pacakges: {etcd: [{name: a, type: binary, dstpath: %s}]}\n", nil},
		"dstpath below": {"pacakges: {etcd: [{name: a, type: binary, dstpath: \"/tmp/\"%s}]}\n", below},
		"schedule":      {"install: {addition: {etcd: [{name: a, type: shell, schedule: %s}]}}\n", nil},
		"timeout":       {"install: {addition: {etcd: [{name: a, type: shell, timeout: %s}]}}\n", nil},
		"yaml address": {"install: {addition: {etcd: [{name: \"https://a/\"%s, type: yaml}]}}\n",
			append([]string{"../../etc/passwd", "a/../b", "/a/../b", "/a//b", "~root"}, below...)},
		"srcpath arch":         {"install: {package-source: {srcpath: {%s: /a.tar.gz}}}\n", nil},
		"eggo.driver":          {"eggo: {driver: %s}\n", nil},
		"eggo.hostname":        {"eggo: {hostname: %s}\n", nil},
		"eggo.password-from":   {"eggo: {password-from: %s}\n", nil},
		"env of password-from": {"eggo: {password-from: \"env:\"%s}\n", nil},
		"eggo.host-keys":       {"eggo: {host-keys: %s}\n", nil},
		"eggo.bastion":         {"eggo: {bastion: %s}\n", nil},
		"bastion in a list":    {"eggo: {bastion: [%s]}\n", nil},
		"bastion's host":       {"eggo: {bastion: {host: %s}}\n", nil},
		"bastion's user":       {"eggo: {bastion: {host: a, user: %s}}\n", nil},
		"eggo.known-hosts":     {"eggo: {known-hosts: %s}\n", nil},
		"a key of the file":    {"%s: x\n", nil},
		"a key of a machine":   {"masters: [{name: a, ip: 192.168.0.1, %s: x}]\n", nil},
	} {
		t.Run(field, func(t *testing.T) {
			for _, value := range hostile {
				whole := strings.Replace(tc.file, "%s", yamlString(value), 1)
				// "prefix"%s stands for a value with a prefix: the two strings become one.
				whole = strings.Replace(whole, `""`, "", 1)
				_, ps := Load([]byte(whole), "f")
				refused := false
				for _, p := range ps {
					// What the short file lacks is no answer to the value.
					refused = refused || p.Severity == isError && p.Code != "config.no-masters" &&
						p.Code != "config.bundle-missing"
				}
				if ok := contains(tc.allowed, value); refused == ok {
					t.Errorf("%q: refused %v, allowed %v: %s", clip(value), refused, ok, codes(ps))
				}
				for _, p := range ps {
					if strings.ContainsAny(p.Key, "\n\x1b\x00") || len(p.Key) > 400 {
						t.Errorf("%q: key %q", clip(value), p.Key)
					}
				}
			}
		})
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func yamlString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A password is anything on one line; it comes out as it went in and is in no problem.
func TestPasswordsMayHoldAnything(t *testing.T) {
	for _, value := range hostile {
		for _, file := range []string{"password: %s\n", "eggo: {sudo-password: %s}\n"} {
			c, ps := Load([]byte(minimal+fmt.Sprintf(file, quoted(value))), "f")
			bad := strings.ContainsAny(value, "\n\x00")
			if bad != ps.HasErrors() {
				t.Errorf("%q: %s", clip(value), dump(ps))
			}
			if c != nil && c.SSH.Password+c.Eggo.SudoPassword != value {
				t.Errorf("%q became %q", value, c.SSH.Password+c.Eggo.SudoPassword)
			}
			for _, p := range ps {
				for k, v := range p.Args {
					if len(value) > 4 && strings.Contains(v, value) {
						t.Errorf("%s shows the password as %s", p.Code, k)
					}
				}
			}
		}
	}
}

// Values of extra arguments are free text: they are one line, and reach nothing but a quoted place.
func TestExtraArgumentValuesAreOneLine(t *testing.T) {
	for _, value := range hostile {
		_, ps := Load([]byte(minimal+"config-extra-args: [{name: kubelet, extra-args: {--node-labels: "+
			yamlString(value)+"}}]\n"), "f")
		if bad := strings.ContainsAny(value, "\n\t\x00\x1b\u202e\u2028"); bad != ps.HasErrors() {
			t.Errorf("%q: %s", clip(value), dump(ps))
		}
	}
}

// A directory on a node is one of the list, for what is to lie there.
func TestDirectoriesOnANode(t *testing.T) {
	for line, want := range map[string]bool{
		"cni-bin-dir: /usr/libexec/cni\n":      true,
		"cni-bin-dir: /srv/cni,/opt/cni/bin\n": true, // nothing is put into the first
		"cni-bin-dir: /srv/cni\n":              false,
		"cni-bin-dir: /etc/sudoers.d\n":        false,
		"  distpath: /tmp/x\n":                 true, // of package-src
		"  distpath: /etc/systemd/system\n":    false,
		"  distpath: /srv\n":                   false,
	} {
		if _, ps := Load([]byte(minimal+line), "f"); ps.HasErrors() == want {
			t.Errorf("%s%s", line, dump(ps))
		}
	}
}

// A slash at the end of a directory makes it no other one.
func TestADirectoryWithASlashAtItsEnd(t *testing.T) {
	c, ps := Load([]byte(minimal+"cni-bin-dir: /srv/cni/,/opt/cni/bin/\n"), "f")
	if ps.HasErrors() || !slices.Equal(c.CNIBinDirs, []string{"/srv/cni", "/opt/cni/bin"}) {
		t.Errorf("%q %s", c.CNIBinDirs, dump(ps))
	}
}

func TestGoodValuesAreTaken(t *testing.T) {
	for _, line := range []string{
		"pause-image: registry.k8s.io/pause:3.10.1\n",
		"pause-image: localhost:5000/a/b_c/d-e@sha256:" + strings.Repeat("a", 64) + "\n",
		"pause-image: pause\n",
		"username: DOMAIN.user_1@corp\n",
		"username: _svc-eggo\n",
		"apiserver-cert-sans: {ips: ['fd00::1']}\nregistry-mirrors: ['http://[fd00::1]:5000']\ninsecure-registries: " +
			"['[fd00::1]:5000']\n",
		"apiserver-endpoint: k8s.example.com:443\napiserver-cert-sans: {dnsnames: [k8s.example.com, " +
			"'*.example.com']}\n",
		"registry-mirrors: ['https://mirror.example.com:8443/v2', 'http://10.0.0.1']\n",
		"insecure-registries: ['registry.local:5000', 'hub']\n",
		"eggo: {password-from: 'env:PASS_1', sudo-password-from: 'file:/root/pw', known-hosts: ~/.ssh/known_hosts, " +
			"host-keys: Strict}\n",
		"private-key-path: ~/.ssh/id_rsa\n",
		"config-extra-args: [{name: kubelet, extra-args: ['--v=2', '--node-labels=a=b']}, {name: etcd, extra-args: " +
			"{ETCD_HEARTBEAT_INTERVAL: 1000}}]\n",
		"runtime: iSulad\n",
		"external-ca: Yes\n",
		"cni-bin-dir: /opt/cni/bin, /usr/libexec/cni\n",
		"etcds: []\nloadbalance: []\n",
		"etcds:\nloadbalance:\nservice:\n",
	} {
		if c, ps := Load([]byte(minimal+line), "f"); c == nil || len(ps) > 0 {
			t.Errorf("%s%s", line, dump(ps))
		}
	}
}
