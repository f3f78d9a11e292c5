package config

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// extraArgs are flags (or, for etcd, environment variables) that override ours one by one.
func (l *loader) extraArgs(v val) {
	seen := map[string]val{}
	l.items(v, func(v val) {
		e := askedArgs{ExtraArgs: ExtraArgs{Args: map[string]string{}}}
		l.object(v, "<component>", &e)
		if v.node.Kind != yaml.MappingNode || !l.require(v, l.table.needed("<component>")...) || e.Component == "" {
			return
		}
		if first, ok := seen[e.Component]; ok {
			l.err(v, "config.component-twice", "name", e.Component, "line", strconv.Itoa(first.at().line))
			return
		}
		seen[e.Component] = v
		if e.v.node != nil {
			l.extraArgMap(&e.ExtraArgs, e.v)
		}
		l.c.ExtraArgs = append(l.c.ExtraArgs, e.ExtraArgs)
	})
}

// askedArgs are those of a component, with the place where they stand.
type askedArgs struct {
	ExtraArgs
	v val
}

// extraArgMap reads {flag: value}, or a list of flag=value.
func (l *loader) extraArgMap(e *ExtraArgs, v val) {
	if v.node.Kind == yaml.SequenceNode {
		l.items(v, func(v val) {
			if s, ok := l.line(v); ok {
				name, value, _ := strings.Cut(s, "=")
				l.given[v.path[:strings.LastIndexByte(v.path, '[')]+"."+name] = v.at()
				l.extraArg(e, v, name, value)
			}
		})
		return
	}
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	l.pairs(v, func(key *yaml.Node, sub val) {
		l.given[sub.path] = sub.at()
		if isNull(sub.node) {
			l.extraArg(e, sub, key.Value, "")
		} else if value, ok := l.line(sub); ok || sub.node.Kind == yaml.ScalarNode && value == "" &&
			sub.node.Value == "" {
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
	if instead, is := owned(e.Component, name); is {
		if instead != "" {
			l.err(v, "config.owned-key", "value", name, "instead", instead)
		} else {
			l.err(v, "config.owned-flag", "value", name)
		}
		return
	}
	if _, twice := e.Args[name]; twice {
		l.err(v, "config.twice-in-list", "value", name)
		return
	}
	code, kv, value := checkFlag(e.Component, name, value)
	if code != "" {
		l.err(v, code, append(kv, "value", name, "name", e.Component)...)
		return
	}
	e.Args[name] = value
}

// checkElection refuses several control planes whose controllers would all act at once: without an election each
// controller manager and each scheduler believes that it is the only one.
func (l *loader) checkElection() {
	planes := len(l.c.With(bundle.ControlPlane))
	if planes < 2 {
		return
	}
	const flag = "--leader-elect"
	for i, e := range l.c.ExtraArgs {
		if e.Component != "kube-controller-manager" && e.Component != "kube-scheduler" {
			continue
		}
		if on, err := strconv.ParseBool(e.Args[flag]); err == nil && !on {
			key := fmt.Sprintf("config-extra-args[%d].extra-args.%s", i, flag)
			l.errAt(l.where(key), key, "config.flag-election", "value", flag, "name", e.Component, "count",
				strconv.Itoa(planes))
		}
	}
}

// ownedWords are parts of the flags that hold the cluster together: certificates, keys, kubeconfigs, data directories.
// Changed from outside they leave a cluster that this program can neither repair nor remove.
var ownedWords = []string{
	"-cert-file", "-key-file", "-cafile", "-certfile", "-keyfile", "-ca-file", "-private-key-file", "-signing-key-file",
	"client-certificate",
	"client-key", "--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig", "--config",
	"--config-dir", "--bootstrap-kubeconfig", "--data-dir",
	"--cert-dir", "--root-ca-file", "--root-dir", "--certificate-authority", "_CERT_FILE", "_KEY_FILE", "_CA_FILE",
	"_DATA_DIR", "_WAL_DIR", "_INITIAL_CLUSTER",
	"_ADVERTISE_CLIENT_URLS", "_INITIAL_ADVERTISE_PEER_URLS",
}

// ownedFlags are whole flags of the same kind, with the key of deploy.yaml that sets them, if one does: addresses,
// networks and names that several components must agree on, and ports that others come to.
var ownedFlags = map[string]map[string]string{
	"kube-apiserver": {
		"--advertise-address": "", "--bind-address": "", "--secure-port": "", "--etcd-servers": "etcds",
		"--service-cluster-ip-range": "service.cidr", "--request-timeout": "apiserver-timeout",
		"--encryption-provider-config": "", "--enable-bootstrap-token-auth": "", "--authorization-config": "",
		"--kubelet-certificate-authority": "", "--requestheader-allowed-names": "",
		"--requestheader-extra-headers-prefix": "", "--requestheader-group-headers": "",
		"--requestheader-username-headers": "",
	},
	"kube-controller-manager": {
		"--allocate-node-cidrs": "", "--cluster-cidr": "network.podcidr", "--service-cluster-ip-range": "service.cidr",
		"--cluster-name": "cluster-id", "--use-service-account-credentials": "",
		"--bind-address": "", "--secure-port": "", "--master": "",
	},
	"kube-scheduler": {"--bind-address": "", "--secure-port": "", "--master": ""},
	"kube-proxy": {"--cluster-cidr": "network.podcidr", "--hostname-override": "", "--healthz-bind-address": "",
		"--master": ""},
	"kubelet": {
		"--hostname-override": "", "--node-ip": "", "--cluster-dns": "service.dnsaddr",
		"--cluster-domain": "dns-domain", "--container-runtime-endpoint": "runtime-endpoint",
		"--register-node": "", "--port": "", "--healthz-port": "", "--healthz-bind-address": "", "--anonymous-auth": "",
		"--authorization-mode": "", "--rotate-certificates": "",
		"--rotate-server-certificates": "enable-kubelet-serving", "--fail-cgroupv1": "",
	},
	"etcd": {
		"ETCD_NAME": "", "ETCD_LISTEN_CLIENT_URLS": "", "ETCD_LISTEN_PEER_URLS": "", "ETCD_CLIENT_CERT_AUTH": "",
		"ETCD_PEER_CLIENT_CERT_AUTH": "", "ETCD_INITIAL_CLUSTER_STATE": "",
		"ETCD_INITIAL_CLUSTER_TOKEN": "etcd-token", "ETCD_CONFIG_FILE": "", "ETCD_FORCE_NEW_CLUSTER": "",
	},
}

// owned says whether a flag is not the user's to set, and which key of deploy.yaml is, if one is.
func owned(component, name string) (instead string, is bool) {
	if component == "container-engine" {
		return "", false
	}
	if instead, is = ownedFlags[component][name]; is {
		return instead, true
	}
	for _, w := range ownedWords {
		if w == name || !strings.HasPrefix(w, "--") &&
			(strings.HasSuffix(name, w) || strings.Contains(name, w) && strings.HasPrefix(w, "client-")) {
			return "", true
		}
	}
	return "", false
}

// openPortsOf are ports of a role beside those of Kubernetes itself.
func (l *loader) openPortsOf(role bundle.Role) reader {
	return func(v val) {
		l.items(v, func(v val) { l.openPort(v, role) })
	}
}

func (l *loader) openPort(v val, role bundle.Role) {
	var p Port
	l.fill("<port>", &p)
	l.object(v, "<port>", &p)
	if v.node.Kind != yaml.MappingNode || !l.require(v, l.table.needed("<port>")...) || p.Port == 0 {
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

// on loopback: of no interest to a firewall, but nobody else can listen on all addresses there
const kubeletHealthPort = 10248

// dnsPorts are those of CoreDNS as a program, on control planes.
var dnsPorts = []int{53, 9153}

// ownPorts are those that the roles open by themselves, all TCP.
var ownPorts = map[bundle.Role][]int{
	bundle.ControlPlane: {6443, 10249, 10250, 10256, 10257, 10259},
	bundle.Worker:       {10249, 10250, 10256},
	bundle.Etcd:         {2379, 2380},
}
