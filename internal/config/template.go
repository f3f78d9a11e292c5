package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/i18n"
)

// TemplateOptions are what a template is filled in with; what is empty gets an example.
type TemplateOptions struct {
	Name         string
	User         string
	Password     string // "" leaves the key out: there is no default password
	PrivateKey   string
	Masters      []string // addresses; a machine may stand in several lists
	Nodes        []string // empty: example machines, or the masters if those are given
	Etcds        []string
	LoadBalancer string
	Arch         string            // of all machines
	Bundles      map[string]string // path of the bundle of each architecture
}

// Template writes a deploy.yaml in the order of the manual, with comments in the printer's language, for a person to go on from. It
// checks nothing: Load does, and every set of options that can be right gives a file that loads.
func Template(o TemplateOptions, p *i18n.Printer) []byte {
	t := &template{p: p, names: map[string]string{}}
	o.fill()
	t.head("head")
	t.cluster(o)
	t.hosts("masters", "k8s-master-", o.Masters, o.Arch)
	t.hosts("nodes", "k8s-worker-", o.Nodes, o.Arch)
	t.hosts("etcds", "etcd-", o.Etcds, o.Arch)
	t.balancer(o)
	t.services(o)
	t.packages(o)
	t.own()
	return t.b.Bytes()
}

// fill gives what was not said. One machine with all roles is the smallest cluster, so masters without nodes run pods too.
func (o *TemplateOptions) fill() {
	set := func(s *string, to string) {
		if *s == "" {
			*s = to
		}
	}
	set(&o.Name, "k8s-cluster")
	set(&o.User, "root")
	set(&o.Arch, "amd64")
	switch {
	case len(o.Masters) == 0 && len(o.Nodes) == 0:
		o.Masters, o.Nodes = []string{"192.168.0.1"}, []string{"192.168.0.2", "192.168.0.3"}
	case len(o.Masters) == 0:
		o.Masters = []string{"192.168.0.1"}
	case len(o.Nodes) == 0:
		o.Nodes = o.Masters
	}
	bundles := map[string]string{o.Arch: "./eggo-" + o.Arch + ".tar.gz"}
	for arch, path := range o.Bundles {
		if path != "" {
			bundles[arch] = path
		}
	}
	o.Bundles = bundles
}

// template collects the lines. Comments stand in one column, as in the manual.
type template struct {
	b     bytes.Buffer
	p     *i18n.Printer
	names map[string]string // machine names by address
}

const commentColumn = 44

// line writes code with the comment of that key, if there is one.
func (t *template) line(code, comment string) {
	t.b.WriteString(code)
	if comment != "" {
		fmt.Fprintf(&t.b, "%s# %s", strings.Repeat(" ", max(1, commentColumn-len([]rune(code)))), t.p.T("template."+comment))
	}
	t.b.WriteByte('\n')
}

// head writes a comment of several lines.
func (t *template) head(comment string) {
	for s := range strings.SplitSeq(t.p.T("template."+comment), "\n") {
		t.line("# "+s, "")
	}
}

func (t *template) cluster(o TemplateOptions) {
	t.line("cluster-id: "+quote(o.Name), "cluster-id")
	t.line("username: "+quote(o.User), "username")
	if o.Password != "" {
		t.line("password: "+quoted(o.Password), "password")
	} else {
		t.line("# password: ", "password-none")
	}
	if o.PrivateKey != "" {
		t.line("private-key-path: "+quote(o.PrivateKey), "private-key-path")
	} else {
		t.line("# private-key-path: ~/.ssh/id_ed25519", "private-key-path")
	}
}

// hosts writes a list of machines. A machine keeps the name that it got in the first list.
func (t *template) hosts(list, prefix string, ips []string, arch string) {
	if len(ips) == 0 {
		t.line(list+": []", list)
		return
	}
	t.line(list+":", list)
	for i, ip := range ips {
		name, known := t.names[ip]
		if !known {
			name = fmt.Sprintf("%s%d", prefix, i)
			t.names[ip] = name
		}
		comments := []string{"name", "ip", "port", "arch"}
		if i > 0 || list != "masters" {
			comments = []string{"", "", "", ""}
		}
		t.line("- name: "+quote(name), comments[0])
		t.line("  ip: "+quote(ip), comments[1])
		t.line("  port: 22", comments[2])
		t.line("  arch: "+quote(arch), comments[3])
	}
}

func (t *template) balancer(o TemplateOptions) {
	if o.LoadBalancer == "" {
		return
	}
	name, known := t.names[o.LoadBalancer]
	if !known {
		name = "k8s-loadbalance"
	}
	t.line("loadbalance:", "loadbalance")
	t.line("  name: "+quote(name), "")
	t.line("  ip: "+quote(o.LoadBalancer), "")
	t.line("  port: 22", "")
	t.line("  arch: "+quote(o.Arch), "")
	t.line("  bind-port: 8443", "bind-port")
}

func (t *template) services(o TemplateOptions) {
	endpoint := o.Masters[0] + ":6443"
	if o.LoadBalancer != "" {
		endpoint = o.LoadBalancer + ":8443"
	}
	for _, l := range [][2]string{
		{"external-ca: false", "external-ca"},
		{"# external-ca-path: /opt/externalca", "external-ca-path"},
		{"service:", "service"},
		{"  cidr: 10.32.0.0/16", "service.cidr"},
		{"  dnsaddr: 10.32.0.10", "service.dnsaddr"},
		{"  gateway: 10.32.0.1", "service.gateway"},
		{"  dns:", "service.dns"},
		{"    corednstype: pod", "corednstype"},
		{"    # imageversion: v1.12.1", "imageversion"},
		{"    replicas: 2", "replicas"},
		{"network:", "network"},
		{"  podcidr: 10.244.0.0/16", "podcidr"},
		{"  plugin: flannel", "plugin"},
		{"apiserver-endpoint: " + quote(endpoint), "endpoint"},
		{"apiserver-cert-sans:", "sans"},
		{"  dnsnames: []", "dnsnames"},
		{"  ips: []", "ips"},
		{"apiserver-timeout: 120s", "timeout"},
		{"etcd-external: false", "etcd-external"},
		{"etcd-token: etcd-cluster", "etcd-token"},
		{"dns-vip: 10.32.0.10", "dns-vip"},
		{"dns-domain: cluster.local", "dns-domain"},
		{"# pause-image: registry.k8s.io/pause:3.10.1", "pause-image"},
		{"network-plugin: cni", "network-plugin"},
		{"cni-bin-dir: /usr/libexec/cni,/opt/cni/bin", "cni-bin-dir"},
		{"runtime: containerd", "runtime"},
		{"registry-mirrors: []", "registry-mirrors"},
		{"insecure-registries: []", "insecure-registries"},
		{"config-extra-args: []", "extra-args"},
		{"addons: []", "addons"},
		{"# - type: file", "addon-type"},
		{"#   filename: xxx.yaml", "addon-filename"},
		{"open-ports: {}", "open-ports"},
	} {
		t.line(l[0], l[1])
	}
}

func (t *template) packages(o TemplateOptions) {
	t.line("package-src:", "package-src")
	t.line("  type: tar.gz", "package-type")
	for _, src := range [][2]string{{"armsrc", "arm64"}, {"x86src", "amd64"}} {
		if path := o.Bundles[src[1]]; path != "" {
			t.line("  "+src[0]+": "+quote(path), src[0])
		} else {
			t.line("  # "+src[0]+": ./eggo-"+src[1]+".tar.gz", src[0])
		}
	}
	t.line("pacakges: {}", "pacakges")
	t.line("#   etcd:", "package-roles")
	t.line("#   - name: etcd", "package-name")
	t.line("#     type: binary", "package-kind")
	t.line("#     dstpath: /usr/local/bin", "package-dst")
}

func (t *template) own() {
	t.line("# eggo:", "eggo")
	t.line("#   hostname: keep", "eggo.hostname")
	t.line("#   password-from: prompt", "eggo.password-from")
	t.line("#   sudo-password-from: prompt", "eggo.sudo-password-from")
	t.line("#   host-keys: strict", "eggo.host-keys")
	t.line("#   known-hosts: ~/.ssh/known_hosts", "eggo.known-hosts")
	t.line("#   ssh-legacy-algorithms: true", "eggo.ssh-legacy-algorithms")
	t.line("#   bastion: ops@bastion.example.com:22", "eggo.bastion")
	t.line("#   machines: {worker1: {user: ops, private-key-path: ~/.ssh/other}}", "eggo.machines")
}

// plainScalar is text that no version of YAML takes for anything but text (or, for addresses, for what they are).
var plainScalar = regexp.MustCompile(`\A(?:[./~]?[A-Za-z/.][A-Za-z0-9_./-]*|[0-9]+(?:\.[0-9]+){3}(?::[0-9]+|/[0-9]+)?)\z`)

// quote writes a value as YAML, in quotes if it needs them.
func quote(s string) string {
	words := []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n", "~", ".", ".nan", ".inf"}
	if plainScalar.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return quoted(s)
}

// quoted writes a double-quoted scalar. JSON's strings are YAML's, once what YAML does not want raw is escaped too.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // not possible: a string always encodes
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r < 0xa0 && r >= 0x7f || isBidi(r) || r == 0x2028 || r == 0x2029 || !unicode.IsPrint(r) && r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
