package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// edit replaces one text of the minimal file, or appends to it when old is "".
func edit(t *testing.T, old, to string) string {
	t.Helper()
	if old == "" {
		return minimal + to
	}
	if !strings.Contains(minimal, old) {
		t.Fatalf("the minimal file has no %q", old)
	}
	return strings.Replace(minimal, old, to, 1)
}

const (
	isError   = event.Error
	isWarning = event.Warning
)

// Each row is one thing wrong with the minimal file, which is right: the one problem that it gets, where, and how bad
// it is. The numbers are those of the table of what the earlier program did not check.
// ruleCase is a minimal file with one place exchanged, or with more below it, and the problem that it has then.
type ruleCase struct {
	name, old, to string
	code, key     string
	severity      event.Severity
}

func TestRules(t *testing.T) {
	for _, tc := range append(rulesOfTheManual(), rulesBesides()...) {
		t.Run(tc.name, func(t *testing.T) {
			in := edit(t, tc.old, tc.to)
			if tc.code == "config.arch-mixed" {
				in = strings.Replace(in, "  x86src", "  armsrc: /a.tar.gz\n  x86src", 1)
			}
			_, ps := Load([]byte(in), "f")
			found := false
			for _, p := range ps {
				found = found || p.Code == tc.code && p.Key == tc.key && p.Severity == tc.severity
				// A cluster without its usual shape may have more to say; the same code twice would be noise.
				if p.Code != tc.code && p.Severity == isError && tc.severity == isWarning {
					t.Errorf("an error where a warning is due: %s", dump(Problems{p}))
				}
				if p.Line <= 1 && tc.code != "config.misspelt-key" && tc.code != "config.no-masters" &&
					tc.code != "config.no-workers" {
					t.Errorf("no line: %s", dump(Problems{p}))
				}
			}
			if !found {
				t.Errorf("want %s %s at %s, got:\n%s", tc.severity, tc.code, tc.key, dump(ps))
			}
			rendered(t, ps)
		})
	}
}

// rulesOfTheManual have the numbers of the manual's rules.
func rulesOfTheManual() []ruleCase {
	hosts := func(list string, ips ...string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s:\n", list)
		for i, ip := range ips {
			fmt.Fprintf(&b, "- {name: x%s-%d, ip: %s}\n", list, i, ip)
		}
		return b.String()
	}
	manyNodes := make([]string, 17)
	for i := range manyNodes {
		manyNodes[i] = fmt.Sprintf("192.168.1.%d", i+1)
	}
	return []ruleCase{
		{"1 misspelt key", "cluster-id", "cluster-idd", "config.misspelt-key", "cluster-idd", isError},
		{"1 misspelt inner key", "  ip: 192.168.0.1\nnodes", "  ip: 192.168.0.1\n  prot: 22\nnodes",
			"config.misspelt-key", "masters[0].prot", isError},
		{"1 case", "", "install2: {}\n", "config.misspelt-key", "install2", isError},
		{"1 unknown key", "", "kubernetes-version: v1\n", "config.unknown-key", "kubernetes-version", isError},
		{"1 unknown plugin arg", "", "network: {plugin-args: {Other: x}}\n", "config.unknown-key",
			"network.plugin-args.Other", isError},
		{"1 duplicate key", "", "cluster-id: k8s\n", "config.duplicate-key", "cluster-id", isError},
		{"1 duplicate inner key", "  ip: 192.168.0.1\nnodes", "  ip: 192.168.0.1\n  ip: 192.168.0.1\nnodes",
			"config.duplicate-key", "masters[0].ip", isError},
		{"2 one name, two machines", "", hosts("etcds", "192.168.0.9") +
			"loadbalance: {name: xetcds-0, ip: 192.168.0.8}\n", "config.name-conflict", "loadbalance", isError},
		{"2 one machine, two names", "", hosts("etcds", "192.168.0.1"), "config.host-differs", "etcds[0]", isError},
		{"2 one machine, two ports", "", "etcds: [{name: m0, ip: 192.168.0.1, port: 2222}]\n", "config.host-differs",
			"etcds[0]", isError},
		{"2 one machine, two architectures", "", "etcds: [{name: m0, ip: 192.168.0.1, arch: arm64}]\n",
			"config.host-differs", "etcds[0]", isError},
		{"2 address twice in a list", "",
			"etcds: [{name: e0, ip: 192.168.0.7}, {name: e1, ip: 192.168.0.7}, {name: e2, ip: 192.168.0.8}]\n",
			"config.host-twice", "etcds[1]", isError},
		{"2 name twice in a list", "",
			"etcds: [{name: e0, ip: 192.168.0.6}, {name: e0, ip: 192.168.0.7}, {name: e2, ip: 192.168.0.8}]\n",
			"config.host-twice", "etcds[1]", isError},
		{"3 pods and services overlap", "", "network: {podcidr: 10.32.128.0/17}\n", "config.cidr-overlap",
			"network.podcidr", isError},
		{"3 machine among pods", "", "network: {podcidr: 192.168.0.0/16}\n", "config.cidr-node", "masters[0]", isError},
		{"3 dns outside", "", "service: {dnsaddr: 10.33.0.10}\n", "config.not-in-cidr", "service.dnsaddr", isError},
		{"3 gateway outside", "", "service: {gateway: 10.33.0.1}\n", "config.not-in-cidr", "service.gateway", isError},
		{"3 gateway not the first", "", "service: {gateway: 10.32.0.2}\n", "config.gateway", "service.gateway",
			isError},
		{"3 dns is the gateway", "", "service: {dnsaddr: 10.32.0.1}\n", "config.dns-taken", "service.dnsaddr", isError},
		{"3 dns-vip differs", "", "service: {dnsaddr: 10.32.0.10}\ndns-vip: 10.32.0.11\n", "config.dns-vip", "dns-vip",
			isError},
		{"3 host bits", "", "service: {cidr: 10.32.0.1/16}\n", "config.cidr-host-bits", "service.cidr", isError},
		{"3 services too many", "", "service: {cidr: 10.0.0.0/11}\n", "config.service-size", "service.cidr", isError},
		{"3 services too few", "", "service: {cidr: 10.32.0.0/29, dnsaddr: 10.32.0.2}\n", "config.service-size",
			"service.cidr", isError},
		{"4 too few pods", "nodes:\n- name: m0\n  ip: 192.168.0.1\n",
			hosts("nodes", manyNodes...) + "network: {podcidr: 10.244.0.0/20}\n", "config.pod-capacity",
			"network.podcidr", isError},
		{"4 less than one machine", "", "network: {podcidr: 10.244.0.0/25}\n", "config.pod-capacity", "network.podcidr",
			isError},
		{"5 even etcd", "", hosts("etcds", "192.168.0.5", "192.168.0.6"), "config.etcd-even", "etcds", isWarning},
		{"5 many etcd", "", hosts("etcds", manyNodes[:9]...), "config.etcd-many", "etcds", isWarning},
		{"6 runtime", "", "runtime: podman\n", "config.choice", "runtime", isError},
		{"6 corednstype", "", "service: {dns: {corednstype: helm}}\n", "config.choice", "service.dns.corednstype",
			isError},
		{"6 driver", "", "eggo: {driver: helm}\n", "config.choice", "eggo.driver", isError},
		{"6 CoreDNS as a service with kubeadm", "", "service: {dns: {corednstype: binary}}\neggo: {driver: kubeadm}\n",
			"config.kubeadm-dns", "service.dns.corednstype", isError},
		{"6 probes of kubeadm", "", "config-extra-args:\n" +
			"- {name: kube-apiserver, extra-args: {--anonymous-auth: 'false'}}\n" +
			"eggo: {driver: kubeadm}\n", "config.kubeadm-anonymous", "config-extra-args", isError},
		{"6 probes of kubeadm, spelt otherwise", "", "config-extra-args:\n" +
			"- {name: kube-apiserver, extra-args: {--anonymous-auth: F}}\n" +
			"eggo: {driver: kubeadm}\n", "config.kubeadm-anonymous", "config-extra-args", isError},
		{"6 probes of kubeadm, as a number", "", "config-extra-args:\n" +
			"- {name: kube-apiserver, extra-args: [--anonymous-auth=0]}\n" +
			"eggo: {driver: kubeadm}\n", "config.kubeadm-anonymous", "config-extra-args", isError},
		{"6 package type", "", "pacakges: {etcd: [{name: etcd, type: snap}]}\n", "config.choice",
			"pacakges.etcd[0].type", isError},
		{"6 plugin", "", "network: {plugin: ../../x}\n", "config.choice", "network.plugin", isError},
		{"6 arch", "  ip: 192.168.0.1\nnodes", "  ip: 192.168.0.1\n  arch: mips\nnodes", "config.choice",
			"masters[0].arch", isError},
		{"6 addon type", "", "addons: [{type: helm, filename: a.yaml}]\n", "config.choice", "addons[0].type", isError},
		{"7 binary without directory", "", "pacakges: {etcd: [{name: etcd, type: binary}]}\n", "config.dst-missing",
			"pacakges.etcd[0]", isError},
		{"7 directory outside of the list", "", "pacakges: {etcd: [{name: etcd, type: binary, dstpath: /etc}]}\n",
			"config.dst", "pacakges.etcd[0].dstpath", isError},
		{"7 directory that begins alike", "",
			"pacakges: {etcd: [{name: etcd, type: binary, dstpath: /opt/cni/binevil}]}\n", "config.dst",
			"pacakges.etcd[0].dstpath", isError},
		{"7 directory that climbs out", "", "pacakges: {etcd: [{name: etcd, type: binary, dstpath: /tmp/../etc}]}\n",
			"config.node-path", "pacakges.etcd[0].dstpath", isError},
		{"7 directory of a package", "", "pacakges: {etcd: [{name: etcd, type: pkg, dstpath: /tmp}]}\n",
			"config.dst-unused", "pacakges.etcd[0]", isWarning},
		{"8 unknown role", "", "open-ports: {gateway: [{port: 1}]}\n", "config.unknown-key", "open-ports.gateway",
			isError},
		{"8 port 0", "", "open-ports: {node: [{port: 0}]}\n", "config.integer", "open-ports.node[0].port", isError},
		{"8 port twice", "", "open-ports: {node: [{port: 179}, {port: 179, protocol: tcp}]}\n", "config.port-twice",
			"open-ports.node[1]", isError},
		{"8 port of Kubernetes", "", "open-ports: {master: [{port: 6443}]}\n", "config.port-own",
			"open-ports.master[0]", isError},
		{"8 protocol", "", "open-ports: {node: [{port: 1, protocol: sctp}]}\n", "config.choice",
			"open-ports.node[0].protocol", isError},
		{"9 balancer on a master", "", "loadbalance: {name: m0, ip: 192.168.0.1, bind-port: 6443}\n",
			"config.balancer-port", "loadbalance.bind-port", isError},
		{"9 balancer on etcd", "", hosts("etcds", "192.168.0.5") +
			"loadbalance: {name: xetcds-0, ip: 192.168.0.5, bind-port: 2379}\n", "config.balancer-port",
			"loadbalance.bind-port", isError},
		{"9 balancer on SSH", "", "loadbalance: {name: lb, ip: 192.168.0.5, bind-port: 22}\n", "config.balancer-ssh",
			"loadbalance.bind-port", isError},
		{"10 endpoint elsewhere", "", "apiserver-endpoint: 192.168.0.99:6443\n", "config.endpoint-elsewhere",
			"apiserver-endpoint", isWarning},
		{"10 endpoint without port", "", "apiserver-endpoint: 192.168.0.1\n", "config.endpoint", "apiserver-endpoint",
			isError},
		{"10 endpoint port range", "", "apiserver-endpoint: 192.168.0.1:66443\n", "config.endpoint",
			"apiserver-endpoint", isError},
		{"11 bundle of an etcd machine", "", "etcds: [{name: e, ip: 192.168.0.5, arch: amd64}]\nregistry-mirrors: {}\n",
			"config.want-list", "registry-mirrors", isError},
		{"11 no bundle", "package-src:\n  x86src: /srv/eggo-amd64.tar.gz\n", "", "config.bundle-missing",
			"package-src.x86src", isError},
		{"11 bundle of the other architecture", "x86src", "armsrc", "config.bundle-missing", "package-src.x86src",
			isError},
		{"11 balancer without packages", "",
			"loadbalance: {name: lb, ip: 192.168.0.5}\npacakges: {etcd: [{name: etcd, type: pkg}]}\n",
			"config.loadbalance-packages", "loadbalance", isWarning},
		{"12 default password", "", "password: 123456\n", "config.weak-password", "password", isWarning},
		{"12 blank password", "", "password: ' '\n", "config.secret-blank", "password", isError},
		{"12 short password", "", "eggo: {sudo-password: abc}\n", "config.weak-password", "eggo.sudo-password",
			isWarning},
		{"13 two IP versions", "", "network: {podcidr: 'fd00::/48'}\n", "config.family", "network.podcidr", isError},
		{"13 no address", "  ip: 192.168.0.1\nnodes", "  ip: master.local\nnodes", "config.ip", "masters[0].ip",
			isError},
		{"15 two types in one list", "",
			"pacakges: {etcd: [{name: etcd, type: pkg}, {name: etcd, type: binary, dstpath: /usr/bin}]}\n",
			"config.package-conflict", "pacakges.etcd[1]", isError},
		{"15 two types on one machine", "",
			"pacakges:\n  master: [{name: socat, type: pkg}]\n  node: [{name: socat, type: binary, dstpath: " +
				"/usr/bin}]\n", "config.package-conflict", "pacakges.node[0]", isError},
		{"15 the same twice", "", "pacakges: {etcd: [{name: etcd, type: pkg}, {name: etcd, type: pkg}]}\n",
			"config.twice-in-list", "pacakges.etcd[1]", isWarning},
	}
}

func rulesBesides() []ruleCase {
	return []ruleCase{
		{"alias of loadbalance", "", "loadbalancer: {name: lb, ip: 192.168.0.5}\n", "config.alias-key", "loadbalancer",
			isWarning},
		{"loadbalance as a list", "", "loadbalance: [{name: lb, ip: 192.168.0.5}]\n", "config.loadbalance-list",
			"loadbalance", isWarning},
		{"two load balancers", "", "loadbalance: [{name: lb, ip: 192.168.0.5}, {name: lc, ip: 192.168.0.6}]\n",
			"config.loadbalance-many", "loadbalance", isError},
		{"packages twice alike", "",
			"pacakges: {etcd: [{name: etcd, type: pkg}]}\npackages: {etcd: [{name: etcd, type: pkg}]}\n",
			"config.same-twice", "packages", isError},
		{"packages twice", "", "pacakges: {etcd: [{name: etcd, type: pkg}]}\npackages: {}\n", "config.given-twice",
			"packages", isError},
		{"nodes and workers", "", "workers: [{name: w, ip: 192.168.0.2}]\n", "config.given-twice", "workers", isError},
		{"two places for packages", "", "install: {package-source: {srcpath: {amd64: /a.tar.gz}}}\n",
			"config.layouts-conflict", "package-src", isError},
		{"layouts mixed", "package-src:\n  x86src: /srv/eggo-amd64.tar.gz\n",
			"install: {package-source: {srcpath: {amd64: /a.tar.gz}}}\n", "config.layouts-mixed", "install", isWarning},
		{"no election of several schedulers", "  ip: 192.168.0.1\nnodes", "  ip: 192.168.0.1\n" +
			"- {name: m1, ip: 192.168.0.31}\nconfig-extra-args:\n" +
			"- {name: kube-scheduler, extra-args: {--leader-elect: 'false'}}\nnodes", "config.flag-election",
			"config-extra-args[0].extra-args.--leader-elect", isError},
		{"no masters", "masters:\n- name: m0\n  ip: 192.168.0.1\n", "", "config.no-masters", "masters", isError},
		{"no workers", "nodes:\n- name: m0\n  ip: 192.168.0.1\n", "", "config.no-workers", "nodes", isWarning},
		{"machine without name", "- name: m0\n  ip: 192.168.0.1\nnodes",
			"- ip: 192.168.0.1\n- name: m0\n  ip: 192.168.0.1\nnodes", "config.missing", "masters[0]", isError},
		{"loopback", "", "etcds: [{name: e, ip: 127.0.0.1}]\n", "config.local-address", "etcds[0]", isWarning},
		{"text for a number", "", "service: {dns: {replicas: two}}\n", "config.integer", "service.dns.replicas",
			isError},
		{"octal", "", "service: {dns: {replicas: 02}}\n", "config.integer", "service.dns.replicas", isError},
		{"text for a bool", "", "external-ca: maybe\n", "config.boolean", "external-ca", isError},
		{"number for a duration", "", "apiserver-timeout: 120\n", "config.duration", "apiserver-timeout", isError},
		{"map for text", "", "username: {a: b}\n", "config.want-value", "username", isError},
		{"text for a list", "", "etcds: none\n", "config.want-list", "etcds", isError},
		{"text for a map", "", "service: none\n", "config.want-map", "service", isError},
		{"a key that is a list", "", "[a]: b\n", "config.key-kind", "", isError},
		{"component twice", "", "config-extra-args: [{name: kubelet, extra-args: {--v: '2'}}, {name: kubelet}]\n",
			"config.component-twice", "config-extra-args[1]", isError},
		{"our own flag", "", "config-extra-args: [{name: kube-apiserver, extra-args: {--tls-cert-file: /x}}]\n",
			"config.owned-flag", "config-extra-args[0].extra-args.--tls-cert-file", isError},
		{"flag without dashes", "", "config-extra-args: [{name: kubelet, extra-args: [v=2]}]\n", "config.flag",
			"config-extra-args[0].extra-args[0]", isError},
		{"etcd takes variables", "", "config-extra-args: [{name: etcd, extra-args: {--v: '2'}}]\n", "config.env-name",
			"config-extra-args[0].extra-args.--v", isError},
		{"container-engine takes settings", "",
			"config-extra-args: [{name: container-engine, extra-args: {--v: '2'}}]\n", "config.setting",
			"config-extra-args[0].extra-args.--v", isError},
		{"addon twice", "", "addons: [{filename: a.yaml}, {filename: a.yaml}]\n", "config.twice-in-list", "addons[1]",
			isWarning},
		{"schedule of a package", "", "pacakges: {etcd: [{name: etcd, type: pkg, schedule: prejoin}]}\n",
			"config.schedule-unused", "pacakges.etcd[0]", isWarning},
		{"two sources of the password", "", "password: correct-horse\neggo: {password-from: prompt}\n",
			"config.two-secrets", "eggo.password-from", isError},
		{"docker", "", "runtime: Docker\n", "config.docker", "runtime", isWarning},
		{"old registry", "", "pause-image: k8s.gcr.io/pause:3.2\n", "config.frozen-registry", "pause-image", isWarning},
		{"coredns as a package and as pods", "", "pacakges: {master: [{name: coredns, type: pkg}]}\n",
			"config.coredns-package", "pacakges.master[0]", isWarning},
		{"two architectures", "", "etcds: [{name: e, ip: 192.168.0.5, arch: arm64}]\n", "config.arch-mixed", "etcds[0]",
			isWarning},
	}
}

// rendered proves that every problem reads as a whole sentence in both languages.
func rendered(t *testing.T, ps Problems) {
	t.Helper()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for _, problem := range ps {
			text, next := p.Fault(problem.Fault())
			if text == "" || next == "" || strings.Contains(text+next, "fault.config") || hole(text+next) {
				t.Errorf("%s %s: %q → %q", lang, problem.Code, text, next)
			}
		}
	}
}

// hole finds a {name} that no argument filled.
func hole(s string) bool {
	for _, name := range []string{
		"key", "name", "like", "value", "other", "line", "first", "instead", "choices", "count", "ip", "file", "cause",
		"low", "high", "max", "room", "need", "role", "arch",
		"older", "newer", "mode", "size", "errors",
	} {
		if strings.Contains(s, "{"+name+"}") {
			return true
		}
	}
	return false
}

// Every code that this package can give has its sentence and its advice in both languages.
func TestEveryCodeHasItsSentences(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			lit, ok := node.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			code, err := strconv.Unquote(lit.Value)
			if err != nil || !strings.HasPrefix(code, "config.") {
				return true
			}
			n++
			for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
				p := i18n.NewPrinter(lang)
				if !p.Has("fault."+code) || !p.Has("fault."+code+".next") {
					t.Errorf("%s has no sentence in %s", code, lang)
				}
			}
			return true
		})
	}
	if n < 80 {
		t.Errorf("only %d codes were found", n)
	}
}

// All problems of a file come at once, in the order of its lines.
func TestAllProblemsAtOnce(t *testing.T) {
	in := "cluster-id: Bad_Name\nmaster:\n- name: a\nmasters:\n- {name: A, ip: 1.2.3}\n- {name: b, ip: 10.0.0.1, " +
		"port: 99999}\nruntime: rkt\ndns-domain: -x\n"
	_, ps := Load([]byte(in), "f")
	want := "1:config.name 2:config.misspelt-key 5:config.name 5:config.ip 6:config.integer 7:config.choice " +
		"8:config.name"
	var got []string
	for _, p := range ps {
		if p.Severity == isError && p.Code != "config.bundle-missing" {
			got = append(got, fmt.Sprintf("%d:%s", p.Line, p.Code))
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestRegistriesThatTheRuntimeCannotBeTold(t *testing.T) {
	for to, code := range map[string]string{
		"runtime: docker\nregistry-mirrors: [\"quay.io=https://mirror.test\"]\n": "config.mirror-registry",
		"runtime: docker\nregistry-mirrors: [\"https://mirror.test/x\"]\n":       "config.mirror-path",
		"insecure-registries: [10.0.0.0/8]\n":                                    "config.insecure-network",
	} {
		_, ps := Load([]byte(edit(t, "", to)), "f")
		if !slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == code && p.Severity == isError }) {
			t.Errorf("%q: want %s, got %s", to, code, codes(ps))
		}
	}
}
