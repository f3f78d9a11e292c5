package config

import (
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/nodepath"
)

// topLevel are the keys of both layouts, in the order of the manual.
func (l *loader) topLevel() map[string]reader {
	c := l.c
	var ignored string
	return map[string]reader{
		"cluster-id":             l.text(&c.Name, ruleClusterID),
		"username":               l.text(&c.SSH.User, ruleUser),
		"password":               l.secret(&c.SSH.Password),
		"private-key-path":       l.text(&c.SSH.PrivateKeyPath, ruleLocalBase),
		"masters":                l.hostList("masters", bundle.ControlPlane),
		"nodes":                  l.single("workers", l.hostList("nodes", bundle.Worker)),
		"workers":                l.single("workers", l.hostList("workers", bundle.Worker)),
		"etcds":                  l.hostList("etcds", bundle.Etcd),
		"loadbalance":            l.single("loadbalance", l.loadbalance),
		"loadbalancer":           l.single("loadbalance", l.alias("loadbalance", l.loadbalance)),
		"loadbalances":           l.single("loadbalance", l.alias("loadbalance", l.loadbalance)),
		"external-ca":            l.boolean(&l.externalCA),
		"external-ca-path":       l.text(&l.caPath, ruleLocalBase),
		"service":                l.service,
		"network":                l.network,
		"apiserver-endpoint":     l.endpoint,
		"apiserver-cert-sans":    l.sans,
		"apiserver-timeout":      l.duration(&c.APIServerTimeout, 24*60*60*1e9),
		"etcd-external":          l.boolean(&c.EtcdExternal),
		"etcd-token":             l.text(&c.EtcdToken, ruleToken),
		"dns-vip":                l.addr(&l.dnsVIP),
		"dns-domain":             l.text(&c.DNSDomain, ruleDomain),
		"pause-image":            l.text(&c.PauseImage, ruleImage),
		"network-plugin":         l.oneOf(&ignored, []string{"cni"}, nil),
		"cni-bin-dir":            l.cniBinDirs,
		"runtime":                l.oneOf(&c.Runtime, []string{"containerd", "docker", "isulad"}, nil),
		"runtime-endpoint":       l.text(&c.RuntimeEndpoint, ruleSocket),
		"registry-mirrors":       l.texts(&c.RegistryMirrors, ruleMirror),
		"insecure-registries":    l.texts(&c.InsecureRegistries, ruleRegistry),
		"config-extra-args":      l.extraArgs,
		"addons":                 l.addons,
		"open-ports":             l.openPorts,
		"package-src":            l.packageSrc,
		"pacakges":               l.single("pacakges", l.packages),
		"packages":               l.single("pacakges", l.packages),
		"enable-kubelet-serving": l.boolean(&c.KubeletServing),
		"install":                l.install,
		"eggo":                   l.eggo,
	}
}

// single guards a key that has several spellings: the second that stands in the file is a problem. If both say the same, it is only a
// warning.
func (l *loader) single(canonical string, read reader) reader {
	return func(v val) {
		first, twice := l.once[canonical]
		switch {
		case !twice:
			l.once[canonical] = v
			read(v)
		case sameNode(first.node, v.node):
			l.warn(v, "config.same-twice", "other", first.path, "line", strconv.Itoa(first.at().line))
		default:
			l.err(v, "config.given-twice", "other", first.path, "line", strconv.Itoa(first.at().line))
		}
	}
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// alias reads a spelling that is understood but is not the format's.
func (l *loader) alias(canonical string, read reader) reader {
	return func(v val) {
		l.warnAt(position{v.key.Line, v.key.Column}, v.path, "config.alias-key", "name", v.key.Value, "instead", canonical)
		read(v)
	}
}

func (l *loader) service(v val) {
	c := l.c
	l.fields(v, map[string]reader{
		"cidr":        l.cidr(&c.ServiceCIDR),
		"dnsaddr":     l.single("dnsaddr", l.addr(&c.DNSAddr)),
		"dns-address": l.single("dnsaddr", l.addr(&c.DNSAddr)),
		"gateway":     l.addr(&c.ServiceGateway),
		"dns": func(v val) {
			l.fields(v, map[string]reader{
				"corednstype":  l.oneOf(&c.DNS.Type, []string{"pod", "binary"}, nil),
				"imageversion": l.text(&c.DNS.ImageVersion, ruleTag),
				"replicas":     l.integer(&c.DNS.Replicas, 1, 100),
			})
		},
	})
}

// networkPlugins are the names that deploy.yaml may give.
var networkPlugins = []string{"flannel", "calico", "canal", "cilium", "kube-router", "weave"}

func (l *loader) network(v val) {
	args := l.single("plugin-args", func(v val) {
		var path string
		l.fields(v, map[string]reader{"NetworkYamlPath": l.text(&path, ruleNodePath)})
		if path != "" {
			l.c.PluginArgs["NetworkYamlPath"] = path
		}
	})
	l.fields(v, map[string]reader{
		"podcidr": l.cidr(&l.c.PodCIDR),
		"plugin":  l.oneOf(&l.c.NetworkPlugin, networkPlugins, nil),
		// The program of the manual read only pluginargs, its manual says plugin-args.
		"plugin-args": args,
		"pluginargs":  args,
	})
}

var endpointName = regexp.MustCompile(`\A` + subdomain + `\z`)

func (l *loader) endpoint(v val) {
	s, ok := l.line(v)
	if !ok {
		return
	}
	name, port, err := net.SplitHostPort(s)
	n, perr := strconv.Atoi(port)
	_, aerr := netip.ParseAddr(name)
	if err != nil || perr != nil || strconv.Itoa(n) != port || n < 1 || n > 65535 || aerr != nil && !endpointName.MatchString(name) {
		l.err(v, "config.endpoint", "value", clip(s))
		return
	}
	l.c.Endpoint = s
}

func (l *loader) sans(v val) {
	l.fields(v, map[string]reader{
		"dnsnames": l.texts(&l.c.SANs.DNSNames, ruleSANName),
		"ips": func(v val) {
			l.items(v, func(v val) {
				var a netip.Addr
				if l.addr(&a)(v); a.IsValid() {
					l.c.SANs.IPs = append(l.c.SANs.IPs, a)
				}
			})
		},
	})
}

func (l *loader) cniBinDirs(v val) {
	s, ok := l.line(v)
	if !ok {
		return
	}
	var dirs []string
	for dir := range strings.SplitSeq(s, ",") {
		if dir = strings.TrimSpace(dir); !ruleNodePath.ok(dir) {
			l.err(v, ruleNodePath.code, "value", clip(dir))
			return
		}
		dirs = append(dirs, path.Clean(dir))
	}
	// Plugins are only looked for in the others.
	if !slices.Contains(dirs, "/opt/cni/bin") && !nodepath.Dir(nodepath.Program, dirs[0]) {
		l.err(v, "config.dst", "value", clip(dirs[0]), "choices", strings.Join(nodepath.Dirs(nodepath.Program), ", "))
		return
	}
	l.c.CNIBinDirs = dirs
}

func (l *loader) addons(v val) {
	seen := map[string]bool{}
	l.items(v, func(v val) {
		var a Addon
		l.fields(v, map[string]reader{
			"type":     l.oneOf(&a.Type, []string{"file"}, nil),
			"filename": l.text(&a.Filename, ruleAddon),
		})
		if v.node.Kind != yaml.MappingNode {
			return
		}
		l.require(v, "filename")
		if a.Type == "" {
			a.Type = "file"
		}
		if a.Filename == "" {
			return
		}
		if seen[a.Filename] {
			l.warn(v, "config.twice-in-list", "value", a.Filename)
			return
		}
		seen[a.Filename] = true
		l.c.Addons = append(l.c.Addons, a)
	})
}

// require reports keys of the map that are missing or empty.
func (l *loader) require(v val, keys ...string) bool {
	all := true
	for _, key := range keys {
		found := false
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			n := v.node.Content[i+1]
			found = found || v.node.Content[i].Value == key && (n.Kind != yaml.ScalarNode || n.Value != "" && !isNull(n))
		}
		if !found {
			l.err(v, "config.missing", "name", key)
			all = false
		}
	}
	return all
}

// moreBundles are paths beside package-src: of an architecture that has one already, for machines of another operating system.
func (l *loader) moreBundles(v val) {
	l.items(v, func(v val) {
		if s, ok := l.checked(v, ruleLocalPath); ok {
			if slices.Contains(l.c.Source.More, s) {
				l.warn(v, "config.twice-in-list", "value", s)
				return
			}
			l.c.Source.More = append(l.c.Source.More, s)
		}
	})
}

func (l *loader) eggo(v val) {
	e := &l.c.Eggo
	l.fields(v, map[string]reader{
		"hostname":              l.oneOf(&e.Hostname, []string{"keep", "set"}, nil),
		"sudo-password":         l.secret(&e.SudoPassword),
		"password-from":         l.text(&e.PasswordFrom, ruleSource),
		"sudo-password-from":    l.text(&e.SudoPasswordFrom, ruleSource),
		"host-keys":             l.oneOf(&e.HostKeys, []string{"ask", "strict", "accept-new"}, nil),
		"known-hosts":           l.text(&e.KnownHosts, ruleLocalBase),
		"ssh-legacy-algorithms": l.boolean(&e.SSHLegacyAlgorithms),
		"bastion":               l.bastion,
		"machines":              l.logins,
		"bundles":               l.moreBundles,
	})
}
