package config

import (
	"slices"
	"time"
)

// Keys are all keys of deploy.yaml, in the order of the manual: a row for each field of Spec. After them come the
// shapes of what stands in lists.
func Keys() []Key {
	return slices.Concat(
		loginKeys(), machineLists(), addressKeys(), runtimeKeys(), payloadKeys(), installKeys(), ownKeys(), shapes(),
	)
}

func loginKeys() []Key {
	return []Key{
		{Path: "cluster-id", Kind: Text, Default: "k8s-cluster", rule: ruleClusterID, Wizard: Place{"cluster", 1}},
		{Path: "username", Kind: Text, Default: "root", rule: ruleUser, Wizard: Place{"login", 1}},
		{Path: "password", Kind: Secret, Example: "# ", Wizard: Place{"login", 3}},
		{Path: "private-key-path", Kind: Path, Example: "# ~/.ssh/id_ed25519", rule: ruleLocalBase,
			Wizard: Place{"login", 2}},
	}
}

func machineLists() []Key {
	return []Key{
		{Path: "masters", Kind: Machines, Of: "<machine>", Needed: true},
		{Path: "nodes", Also: []string{"workers"}, Kind: Machines, Of: "<machine>"},
		{Path: "etcds", Kind: Machines, Of: "<machine>"},
		{Path: "loadbalance", Alias: []string{"loadbalancer", "loadbalances"}, Kind: Machines, Of: "<balancer>",
			form: oneOrList},
	}
}

func addressKeys() []Key {
	return []Key{
		{Path: "external-ca", Kind: YesNo, Default: "false"},
		{Path: "external-ca-path", Kind: Path, Example: "# =", Default: "/opt/externalca", rule: ruleLocalBase},
		{Path: "service", Kind: Map},
		{Path: "service.cidr", Kind: Network, Settable: true, Default: "10.32.0.0/16", Wizard: Place{"networks", 2}},
		{Path: "service.dnsaddr", Also: []string{"dns-address"}, Kind: Address, Settable: true, Example: "10.32.0.10",
			Wizard: Place{"networks", 3}},
		{Path: "service.gateway", Kind: Address, Settable: true, Example: "10.32.0.1"},
		{Path: "service.dns", Kind: Map},
		{Path: "service.dns.corednstype", Kind: Choice, Settable: true, Choices: []string{"pod", "binary"},
			Default: "pod", Wizard: Place{"runtime", 2}},
		{Path: "service.dns.imageversion", Kind: Text, Settable: true, Example: "# v1.12.1", rule: ruleTag},
		{Path: "service.dns.replicas", Kind: Number, Settable: true, Default: "2", Low: 1, High: 100,
			Wizard:  Place{"runtime", 3},
			Applies: func(get func(string) string) bool { return get("service.dns.corednstype") == "pod" }},
		{Path: "network", Kind: Map},
		{Path: "network.podcidr", Kind: Network, Settable: true, Default: "10.244.0.0/16",
			Wizard: Place{"networks", 1}},
		{Path: "network.plugin", Kind: Choice, Settable: true, Choices: networkPlugins, Default: "flannel",
			Wizard: Place{"networks", 5}},
		// The program of the manual read only pluginargs, its manual says plugin-args.
		{Path: "network.plugin-args", Also: []string{"pluginargs"}, Kind: Block, Settable: true},
		{Path: "network.plugin-args.NetworkYamlPath", Kind: Text, rule: ruleNodePath},
		{Path: "apiserver-endpoint", Kind: Text, Settable: true, Example: "192.168.0.1:6443", rule: ruleEndpoint,
			Wizard: Place{"networks", 6}},
		{Path: "apiserver-cert-sans", Kind: Map},
		{Path: "apiserver-cert-sans.dnsnames", Kind: List, Settable: true, Example: "[]", rule: ruleSANName,
			Wizard: Place{"networks", 7}},
		{Path: "apiserver-cert-sans.ips", Kind: List, Settable: true, Example: "[]", Of: string(Address),
			Wizard: Place{"networks", 8}},
		{Path: "apiserver-timeout", Kind: Duration, Settable: true, Default: "120s", Most: 24 * time.Hour},
		{Path: "etcd-external", Kind: YesNo, Settable: true, Default: "false", Effect: Later},
		{Path: "etcd-token", Kind: Text, Settable: true, Default: "etcd-cluster", rule: ruleToken},
		{Path: "dns-vip", Kind: Address, Settable: true, Example: "10.32.0.10"},
		{Path: "dns-domain", Kind: Text, Settable: true, Default: "cluster.local", rule: ruleDomain,
			Wizard: Place{"networks", 4}},
	}
}

func runtimeKeys() []Key {
	return []Key{
		{Path: "pause-image", Kind: Text, Settable: true, Example: "# registry.k8s.io/pause:3.10.1", rule: ruleImage},
		{Path: "network-plugin", Kind: Choice, Settable: true, Choices: []string{"cni"}, Default: "cni", Effect: None},
		{Path: "cni-bin-dir", Kind: Text, Settable: true, Default: "/usr/libexec/cni,/opt/cni/bin"},
		{Path: "runtime", Kind: Choice, Settable: true, Choices: []string{"containerd", "docker", "isulad"},
			Default: "containerd", Wizard: Place{"runtime", 1}},
		{Path: "runtime-endpoint", Kind: Text, Settable: true, rule: ruleSocket},
		{Path: "enable-kubelet-serving", Kind: YesNo, Settable: true, Example: "-", Default: "false"},
		{Path: "registry-mirrors", Kind: List, Settable: true, Example: "[]", rule: ruleMirror,
			Wizard: Place{"runtime", 5}},
		{Path: "insecure-registries", Kind: List, Settable: true, Example: "[]", rule: ruleRegistry,
			Wizard: Place{"runtime", 6}},
		{Path: "config-extra-args", Kind: Block, Settable: true, Example: "[]", Of: "<component>"},
	}
}

// roleKeys are keys that are the words for the roles.
func roleKeys(above, of string, also bool) []Key {
	worker := Key{Path: above + ".worker"}
	if also {
		worker = Key{Path: above + ".node", Also: []string{"worker"}}
	}
	out := []Key{{Path: above + ".master"}, worker, {Path: above + ".etcd"}, {Path: above + ".loadbalance"}}
	if above == "pacakges" {
		out[2].Example = "#"
	}
	for i := range out {
		out[i].Kind, out[i].Of = Block, of
	}
	return out
}

func payloadKeys() []Key {
	return slices.Concat([]Key{
		{Path: "addons", Kind: List, Settable: true, Example: "[]", Of: "<addon>", Layout: Older,
			Wizard: Place{"runtime", 4}},
		{Path: "open-ports", Kind: Block, Settable: true, Example: "{}"},
	}, roleKeys("open-ports", "<port>", true), []Key{
		{Path: "package-src", Kind: Map, Layout: Older},
		{Path: "package-src.type", Kind: Choice, Settable: true, Choices: []string{"tar.gz"}, Default: "tar.gz",
			Wizard: Place{"bundle", 0}},
		{Path: "package-src.x86src", Kind: Path, Example: "# ./eggo-amd64.tar.gz", rule: ruleLocalPath,
			Wizard: Place{"bundle", 0}},
		{Path: "package-src.armsrc", Kind: Path, Example: "# ./eggo-arm64.tar.gz", rule: ruleLocalPath,
			Wizard: Place{"bundle", 0}},
		{Path: "package-src.distpath", Also: []string{"dstpath"}, Kind: Text, Settable: true, rule: ruleNodePath,
			Wizard: Place{"bundle", 0}},
		{Path: "pacakges", Also: []string{"packages"}, Written: "packages", Kind: Block, Settable: true, Example: "{}",
			Layout: Older},
	}, roleKeys("pacakges", "<package>", true))
}

// installKeys are the later layout's words for package-src, pacakges and addons.
func installKeys() []Key {
	out := []Key{
		{Path: "install", Kind: Block, Layout: Newer},
		{Path: "install.package-source", Kind: Map},
		{Path: "install.package-source.type", Kind: Choice, Choices: []string{"tar.gz"}, Effect: Later},
		{Path: "install.package-source.dstpath", Kind: Text, rule: ruleNodePath},
		{Path: "install.package-source.srcpath", Kind: Block, rule: ruleLocalPath, form: byArch},
		{Path: "install.etcd"},
		{Path: "install.kubernetes-master"},
		{Path: "install.kubernetes-worker"},
		{Path: "install.network"},
		{Path: "install.container"},
		{Path: "install.image"},
		{Path: "install.loadbalance"},
		{Path: "install.dns"},
	}
	for i := range out {
		if out[i].Kind == "" {
			out[i].Kind, out[i].Of = Block, "<package>"
		}
	}
	out = append(out, Key{Path: "install.addition", Kind: Map})
	return append(out, roleKeys("install.addition", "<package>", false)...)
}

func ownKeys() []Key {
	return []Key{
		{Path: "eggo", Kind: Map, Example: "#"},
		{Path: "eggo.driver", Kind: Choice, Settable: true, Choices: []string{DriverBinary, DriverKubeadm},
			Default: DriverBinary},
		{Path: "eggo.imported", Kind: YesNo, Default: "false", Example: "-",
			Applies: func(get func(string) string) bool { return get("eggo.imported") == "true" }}, // import writes it
		{Path: "eggo.hostname", Kind: Choice, Settable: true, Choices: []string{"keep", "set"}, Default: "keep"},
		{Path: "eggo.etcd-user", Kind: Choice, Settable: true, Choices: []string{"etcd", "root"}, Default: "etcd"},
		{Path: "eggo.sudo-password", Kind: Secret, Wizard: Place{"login", 4},
			Applies: func(get func(string) string) bool { return get("username") != "root" }},
		{Path: "eggo.password-from", Kind: Text, Example: "prompt", rule: ruleSource},
		{Path: "eggo.sudo-password-from", Kind: Text, Example: "prompt", rule: ruleSource},
		{Path: "eggo.host-keys", Kind: Choice, Example: "strict", Choices: []string{"ask", "strict", "accept-new"},
			Default: "ask", Depends: true},
		{Path: "eggo.known-hosts", Kind: Path, Example: "~/.ssh/known_hosts", rule: ruleLocalBase},
		{Path: "eggo.ssh-legacy-algorithms", Kind: YesNo, Settable: true, Example: "true", Default: "false"},
		{Path: "eggo.bastion", Kind: Block, Settable: true, Example: "ops@bastion.example.com:22", Of: "<hop>",
			Wizard: Place{"login", 5}, form: hops},
		{Path: "eggo.machines", Kind: Block, Settable: true,
			Example: "{ worker1: { user: ops, private-key-path: ~/.ssh/other } }",
			Of:      "<login>", form: byName},
		{Path: "eggo.registries", Kind: Block,
			Example: "{ 'registry.example.com:5000': { username: eggo, password-from: prompt, ca-path: ~/ca.crt } }",
			Of:      "<registry>", form: byName},
		{Path: "eggo.nodes", Kind: Block, Settable: true,
			Example: "{ worker1: { labels: { disk: ssd }, taints: ['dedicated=edge:NoSchedule'] } }",
			Of:      "<node>", form: byName},
		{Path: "eggo.bundles", Kind: List, rule: ruleLocalPath, Wizard: Place{"bundle", 0}},
		{Path: "eggo.dns-upstreams", Kind: List, Settable: true, Example: "[192.0.2.53]", Of: string(Address)},
	}
}

// shapes are the keys of what stands in lists, and in maps whose keys are names.
func shapes() []Key {
	return slices.Concat(machineKeys("<machine>"), machineKeys("<balancer>"), []Key{
		{Path: "<balancer>.bind-port", Kind: Number, Default: BalancerPort, Low: 1, High: 65535},
	}, packageKeys(), []Key{
		{Path: "<component>.name", Kind: Choice, Choices: components, Needed: true},
		{Path: "<component>.extra-args", Kind: Block, form: flagValues},
		{Path: "<addon>.type", Kind: Choice, Choices: []string{"file"}, Default: "file"},
		{Path: "<addon>.filename", Kind: Text, Example: "xxx.yaml", rule: ruleAddon, Needed: true},
		{Path: "<port>.port", Kind: Number, Low: 1, High: 65535, Needed: true},
		{Path: "<port>.protocol", Kind: Choice, Choices: []string{"tcp", "udp"}, Default: "tcp"},
	}, hopKeys(), ownLoginKeys(), registryKeys(), nodeKeys())
}

func machineKeys(shape string) []Key {
	return []Key{
		{Path: shape + ".name", Kind: Text, rule: ruleHostName, Needed: true},
		{Path: shape + ".ip", Kind: Address, Needed: true},
		{Path: shape + ".port", Kind: Number, Default: "22", Low: 1, High: 65535},
		{Path: shape + ".arch", Kind: Choice, Choices: arches, Words: archAliases, Default: "amd64"},
	}
}

func packageKeys() []Key {
	return []Key{
		{Path: "<package>.name", Kind: Text, Example: "etcd", rule: ruleLine, Needed: true},
		{Path: "<package>.type", Kind: Choice, Example: "binary", Choices: allTypes,
			Words: map[string]string{"bin": "binary"}, Needed: true},
		{Path: "<package>.dstpath", Also: []string{"dst"}, Kind: Text, Example: "/usr/local/bin",
			rule: ruleNodePath},
		{Path: "<package>.schedule", Kind: Choice, Choices: schedules},
		{Path: "<package>.timeout", Kind: Duration, Example: "-", Default: "30s", Most: time.Hour},
	}
}

func hopKeys() []Key {
	return []Key{
		{Path: "<hop>.host", Kind: Text, rule: ruleHost, Needed: true},
		{Path: "<hop>.port", Kind: Number, Default: "22", Low: 1, High: 65535},
		{Path: "<hop>.user", Kind: Text, rule: ruleUser},
		{Path: "<hop>.private-key-path", Kind: Path, rule: ruleLocalBase},
		{Path: "<hop>.password", Kind: Secret},
		{Path: "<hop>.password-from", Kind: Text, rule: ruleSource},
	}
}

func ownLoginKeys() []Key {
	return []Key{
		{Path: "<login>.user", Kind: Text, rule: ruleUser},
		{Path: "<login>.private-key-path", Kind: Path, rule: ruleLocalBase},
		{Path: "<login>.password", Kind: Secret},
		{Path: "<login>.password-from", Kind: Text, rule: ruleSource},
		{Path: "<login>.sudo-password", Kind: Secret},
		{Path: "<login>.sudo-password-from", Kind: Text, rule: ruleSource},
		{Path: "<login>.bastion", Kind: Block, Of: "<hop>", form: hops},
	}
}

func registryKeys() []Key {
	return []Key{
		{Path: "<registry>.username", Kind: Text, rule: ruleAccount},
		{Path: "<registry>.password", Kind: Secret},
		{Path: "<registry>.password-from", Kind: Text, rule: ruleSource},
		{Path: "<registry>.ca-path", Kind: Path, rule: ruleLocalBase},
	}
}

func nodeKeys() []Key {
	return []Key{
		{Path: "<node>.labels", Kind: Block, form: labelValues},
		{Path: "<node>.taints", Kind: List, rule: ruleTaint},
	}
}

// The words of the format.
var (
	networkPlugins = []string{"flannel", "calico", "canal", "cilium", "kube-router", "weave"}
	arches         = []string{"amd64", "arm64"}
	archAliases    = map[string]string{
		"x86_64": "amd64", "x86-64": "amd64", "x86": "amd64", "x64": "amd64", "aarch64": "arm64", "arm": "arm64",
		"armv8": "arm64",
	}
	allTypes  = []string{"pkg", "repo", "binary", "file", "dir", "image", "yaml", "shell"}
	schedules = []string{"prejoin", "postjoin", "precleanup", "postcleanup"}
	// components that config-extra-args may name.
	components = []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet",
		"container-engine",
	}
)
