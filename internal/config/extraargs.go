package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// extraArgs are flags (or, for etcd, environment variables) that override ours one by one.
func (l *loader) extraArgs(list []ComponentSpec) {
	seen := map[string]spot{}
	for i, s := range list {
		path := itemKey("config-extra-args", i)
		if l.bad[path] {
			continue
		}
		e := ExtraArgs{Component: l.word("<component>.name", below(path, "name"), s.Name), Args: map[string]string{}}
		if !l.require(path, "<component>", s) || e.Component == "" {
			continue
		}
		v := l.spot(path)
		if first, ok := seen[e.Component]; ok {
			l.err(v, "config.component-twice", "name", e.Component, "line", strconv.Itoa(first.pos.line))
			continue
		}
		seen[e.Component] = v
		l.flags(&e, below(path, "extra-args"), s.ExtraArgs)
		l.c.ExtraArgs = append(l.c.ExtraArgs, e)
	}
}

// flags takes the flags of a component, each once.
func (l *loader) flags(e *ExtraArgs, path string, flags map[string]string) {
	for _, name := range inOrder(l, path, flags) {
		at := below(path, event.Clean(clip(name)))
		if l.bad[at] {
			continue
		}
		if value, ok := l.line(l.spot(at), flags[name]); ok {
			l.extraArg(e, l.spot(at), name, value)
		}
	}
	for _, x := range l.again {
		if x.of == path {
			l.extraArg(e, spot{x.path, l.given[x.path]}, x.name, x.value)
		}
	}
}

func (l *loader) extraArg(e *ExtraArgs, v spot, name, value string) {
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

// owned reports whether a flag is not the user's to set, and which key of deploy.yaml is, if one is.
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

// askedPort is a port with the place where it was asked for.
type askedPort struct {
	Port
	role bundle.Role
	v    spot
}

// on loopback: of no interest to a firewall, but no other program can listen on all addresses there
const kubeletHealthPort = 10248

// dnsPorts are those of CoreDNS as a program, on control planes.
var dnsPorts = []int{53, 9153}

// ownPorts are those that the roles open by themselves, all TCP.
var ownPorts = map[bundle.Role][]int{
	bundle.ControlPlane: {6443, 10249, 10250, 10256, 10257, 10259},
	bundle.Worker:       {10249, 10250, 10256},
	bundle.Etcd:         {2379, 2380},
}
