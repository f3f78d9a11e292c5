package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// components that config-extra-args may name.
var components = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "container-engine",
}

// extraArgs are flags (or, for etcd, environment variables) that override ours one by one.
func (l *loader) extraArgs(v val) {
	seen := map[string]val{}
	l.items(v, func(v val) {
		e := ExtraArgs{Args: map[string]string{}}
		var args val
		l.fields(v, map[string]reader{
			"name":       l.oneOf(&e.Component, components, nil),
			"extra-args": func(v val) { args = v },
		})
		if v.node.Kind != yaml.MappingNode || !l.require(v, "name") || e.Component == "" {
			return
		}
		if first, ok := seen[e.Component]; ok {
			l.err(v, "config.component-twice", "name", e.Component, "line", strconv.Itoa(first.at().line))
			return
		}
		seen[e.Component] = v
		if args.node != nil {
			l.extraArgMap(&e, args)
		}
		l.c.ExtraArgs = append(l.c.ExtraArgs, e)
	})
}

// extraArgMap reads {flag: value}, or a list of flag=value.
func (l *loader) extraArgMap(e *ExtraArgs, v val) {
	if v.node.Kind == yaml.SequenceNode {
		l.items(v, func(v val) {
			if s, ok := l.line(v); ok {
				name, value, _ := strings.Cut(s, "=")
				l.extraArg(e, v, name, value)
			}
		})
		return
	}
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	l.pairs(v, func(key *yaml.Node, sub val) {
		if isNull(sub.node) {
			l.extraArg(e, sub, key.Value, "")
		} else if value, ok := l.checked(sub, ruleFreeText); ok || sub.node.Kind == yaml.ScalarNode && value == "" && sub.node.Value == "" {
			l.extraArg(e, sub, key.Value, value)
		}
	})
}

func (l *loader) extraArg(e *ExtraArgs, v val, name, value string) {
	r := ruleFlag
	switch e.Component {
	case "etcd":
		r = ruleEnvName
	case "container-engine":
		r = ruleSetting
	}
	if !r.ok(name) {
		l.err(v, r.code, "value", clip(name))
		return
	}
	if owned(e.Component, name) {
		l.err(v, "config.owned-flag", "value", name)
		return
	}
	if _, twice := e.Args[name]; twice {
		l.err(v, "config.twice-in-list", "value", name)
		return
	}
	e.Args[name] = value
}

// ownedWords are parts of the flags that hold the cluster together: certificates, keys, kubeconfigs, data directories. Changed from
// outside they leave a cluster that this program can neither repair nor remove.
var ownedWords = []string{
	"-cert-file", "-key-file", "-cafile", "-certfile", "-keyfile", "-ca-file", "-private-key-file", "-signing-key-file", "client-certificate",
	"client-key", "--kubeconfig", "--config", "--bootstrap-kubeconfig", "--data-dir", "--cert-dir", "--root-ca-file",
	"_CERT_FILE", "_KEY_FILE", "_CA_FILE", "_DATA_DIR", "_INITIAL_CLUSTER", "_ADVERTISE_CLIENT_URLS", "_INITIAL_ADVERTISE_PEER_URLS",
}

func owned(component, name string) bool {
	if component == "container-engine" {
		return false
	}
	for _, w := range ownedWords {
		if w == name || !strings.HasPrefix(w, "--") && (strings.HasSuffix(name, w) || strings.Contains(name, w) && strings.HasPrefix(w, "client-")) {
			return true
		}
	}
	return false
}

// openPorts are ports beside those of Kubernetes itself.
func (l *loader) openPorts(v val) {
	table := map[string]reader{}
	for word, role := range roleWords {
		table[word] = l.single("open-ports."+string(role), func(v val) {
			l.items(v, func(v val) { l.openPort(v, role) })
		})
	}
	l.fields(v, table)
}

func (l *loader) openPort(v val, role bundle.Role) {
	p := Port{Protocol: "tcp"}
	l.fields(v, map[string]reader{
		"port":     l.integer(&p.Port, 1, 65535),
		"protocol": l.oneOf(&p.Protocol, []string{"tcp", "udp"}, nil),
	})
	if v.node.Kind != yaml.MappingNode || !l.require(v, "port") || p.Port == 0 {
		return
	}
	for _, q := range l.c.OpenPorts[role] {
		if p == q {
			l.err(v, "config.port-twice", "value", strconv.Itoa(p.Port)+"/"+p.Protocol)
			return
		}
	}
	l.c.OpenPorts[role] = append(l.c.OpenPorts[role], p)
	l.ports = append(l.ports, askedPort{p, role, v})
}

// askedPort is a port with the place where it was asked for.
type askedPort struct {
	Port
	role bundle.Role
	v    val
}

// ownPorts are those that the roles open by themselves, all TCP.
var ownPorts = map[bundle.Role][]int{
	bundle.ControlPlane: {6443, 10249, 10250, 10256, 10257, 10259},
	bundle.Worker:       {10249, 10250, 10256},
	bundle.Etcd:         {2379, 2380},
}
