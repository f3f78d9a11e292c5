package i18n

// enMeanings are what the keys of deploy.yaml mean: for the tables of docs/deploy-yaml.md, and for editors.
func enMeanings() map[string]string {
	return map[string]string{
		"key.cluster-id": "name of the cluster, also of its directory on the jump host",
		"key.username":   "SSH user of all machines; others than root need sudo",
		"key.password": "SSH password of all machines; there is no default. May hold " +
			"anything but NUL and line breaks",
		"key.private-key-path": "SSH private key on the jump host. A certificate beside it " +
			"(`KEY-cert.pub`) is used. A public key (`KEY.pub`) names one that the SSH agent holds. It is " +
			"offered first, then the password, then the agent's other keys, in several connections if " +
			"there are many",
		"key.private-key-path.default": "the first of `~/.ssh/id_ed25519`, `id_ecdsa`, `id_rsa` that exists, " +
			"if no password is given",
		"key.masters": "control plane. They always run kubelet, kube-proxy and the network " +
			"plugin, tainted; one that is also in `nodes` is not tainted",
		"key.masters.default": "– (at least one)",
		"key.nodes":           "workers; the newer layout writes `workers`",
		"key.etcds": "where etcd runs. One that is added to a cluster that is there joins " +
			"as a learner and votes when it has all data; one that is taken out of the file stays a member " +
			"until `delete`",
		"key.etcds.default": "the masters",
		"key.loadbalance": "load balancer in front of the masters, with a `bind-port`: nginx " +
			"passes TCP on (a unit of our own, `eggo-lb.service`; the package's `nginx.service` stays " +
			"masked if we installed it, and an nginx that was there before stays as it is). It may share a " +
			"machine with any other role. `loadbalancer` and `loadbalances` are understood with a warning",
		"key.loadbalance.default": "absent",
		"key.external-ca": "certificates from authorities of your own, that lie in " +
			"`external-ca-path`. The key must be there: nodes' certificates are signed in the cluster. " +
			"Checked by preflight, never exchanged under a cluster",
		"key.external-ca-path": "directory with `ca.crt`, `ca.key`, and, if you have them, " +
			"`front-proxy-ca.*` and `etcd/ca.*` (EC, RSA, PKCS 8; a chain, the signing certificate first)",
		"key.service.cidr":            "network of the services, /12 to /28",
		"key.service.dnsaddr":         "address of the cluster's DNS",
		"key.service.dnsaddr.default": "`dns-vip`, else the tenth of `service.cidr`",
		"key.service.gateway":         "address of the `kubernetes` service; no other is possible",
		"key.service.gateway.default": "first of `service.cidr`",
		"key.service.dns.corednstype": "how CoreDNS runs: as pods, or as a service of every control plane, " +
			"on port 53 and 9153 of its address, with a Service `kube-dns` whose endpoints follow the " +
			"control planes; its program `coredns` must be in the bundle",
		"key.service.dns.imageversion":         "tag of the CoreDNS image",
		"key.service.dns.imageversion.default": "the bundle's",
		"key.service.dns.replicas":             "CoreDNS pods",
		"key.network.podcidr":                  "network of the pods; a /24 of it for every machine with a kubelet",
		"key.network.plugin": "network plugin; its manifest is in the bundle. The pod network is " +
			"set in the manifests of flannel, calico (`CALICO_IPV4POOL_CIDR`, the operator's pool) and " +
			"cilium (cluster pool), and the change is told. Only `flannel` was run, the others' manifests " +
			"are handled and tested as files. The manual's program has `calico` by default",
		"key.network.plugin-args": "arguments of the network plugin",
		"key.network.plugin-args.NetworkYamlPath": "path of the plugin's manifest on the master: the bundle's addon of " +
			"that base name, else the file that packages place there",
		"key.apiserver-endpoint": "where nodes and people reach the API server. A name must be known " +
			"to every node; one that a node does not know is written into its `/etc/hosts` where " +
			"deploy.yaml tells the address (the load balancer, or the only master), else preflight " +
			"refuses. Changed later, kubelets and kube-proxies follow",
		"key.apiserver-endpoint.default":   "the load balancer, else the first master at 6443",
		"key.apiserver-cert-sans.dnsnames": "more names of the API server's certificate",
		"key.apiserver-cert-sans.ips":      "more addresses of the API server's certificate",
		"key.apiserver-timeout":            "how long the API server works on a request",
		"key.etcd-external": "use an etcd of your own. Refused: the format does not say with " +
			"which certificates it is reached",
		"key.etcd-token":          "name of the etcd cluster",
		"key.dns-vip":             "the same thing as `service.dnsaddr`; must be equal to it",
		"key.dns-vip.default":     "`service.dnsaddr`",
		"key.dns-domain":          "domain of the cluster",
		"key.pause-image":         "image of the pause container; must be in the bundle",
		"key.pause-image.default": "the bundle's",
		"key.network-plugin":      "nothing else exists any more",
		"key.cni-bin-dir": "where the runtime looks for CNI plugins on a node, paths with " +
			"commas between them. A containerd before 2.1 looks in one directory: `/opt/cni/bin` if it is " +
			"listed, else the first; plugins of the others are linked into it. Without `/opt/cni/bin` in " +
			"the list, the bundle's plugins and those of the network plugin go into the first, which must " +
			"be one that a `dstpath` may be",
		"key.runtime": "container runtime. Absent means containerd: it is what the default " +
			"bundle carries and what current Kubernetes runs on; the manual's program has `iSulad`. See " +
			"below",
		"key.runtime-endpoint": "CRI socket of the runtime: the runtime is told to listen there, and " +
			"the kubelet to ask there. For docker it is the one of cri-dockerd, " +
			"`unix:///run/cri-dockerd.sock`",
		"key.runtime-endpoint.default": "of the runtime",
		"key.enable-kubelet-serving": "kubelets ask the cluster for their serving certificates, and " +
			"`deploy` approves what deploy.yaml vouches for: a node's own name and address. In the last " +
			"fifth of the certificate's year the kubelet asks again, and the next `deploy` approves that. " +
			"With `false` the certificates come with the others, from the jump host",
		"key.registry-mirrors": "URLs, or `REGISTRY=URL`: mirrors of docker.io, asked in order " +
			"before it. With containerd also of another registry (`ghcr.io=https://…`) or of all " +
			"(`*=https://…`); a path that begins with `/v2` is the whole of it " +
			"(`ghcr.io=http://mirror:5000/v2/ghcr.io`)",
		"key.insecure-registries": "hosts with or without port; with docker also networks: registries " +
			"whose certificate is not looked at, and that are asked over http if they do not speak https",
		"key.config-extra-args":      "more arguments of components, see below",
		"key.addons":                 "manifests from the bundle's `addons/` that are applied at the end",
		"key.open-ports":             "ports of addons, beside those of Kubernetes itself; see below",
		"key.open-ports.master":      "on masters",
		"key.open-ports.node":        "on workers",
		"key.open-ports.etcd":        "on machines with etcd",
		"key.open-ports.loadbalance": "on the load balancer",
		"key.package-src":            "where the bundles are, see below",
		"key.package-src.type":       "form of the bundle",
		"key.package-src.x86src": "bundle for amd64; needed if there is a machine of that " +
			"architecture. A relative path starts at the directory of the deploy.yaml",
		"key.package-src.armsrc": "bundle for arm64, as `x86src`",
		"key.package-src.distpath": "where what is taken from the bundle for the node (packages, images) " +
			"lies until it is installed: in `eggo-node` below it; unless given, below " +
			"`/var/lib/eggo-node`. One of the directories that a `dstpath` may be, but for those of units, " +
			"and only root may be able to change what is in it",
		"key.pacakges":             "what is installed on each role, see below",
		"key.pacakges.default":     "what the bundle's manifest says",
		"key.pacakges.master":      "packages of masters",
		"key.pacakges.node":        "packages of workers",
		"key.pacakges.etcd":        "packages of machines with etcd",
		"key.pacakges.loadbalance": "packages of the load balancer",
		"key.install":              "both and the addons, see below",
		"key.install.package-source.type": "`\"\"` (from the network) is refused ([decision " +
			"16](decisions/0016-no-install-from-the-network.md))",
		"key.install.package-source.srcpath": "map of architecture to bundle",
		"key.install.package-source.dstpath": "as `package-src.distpath`",
		"key.install.etcd":                   "packages of machines with etcd",
		"key.install.kubernetes-master":      "packages of masters",
		"key.install.kubernetes-worker":      "packages of workers",
		"key.install.network":                "packages of masters and workers",
		"key.install.container":              "packages of masters and workers",
		"key.install.image":                  "packages of masters and workers",
		"key.install.loadbalance":            "packages of the load balancer",
		"key.install.dns":                    "packages of masters",
		"key.install.addition.master":        "more packages of masters",
		"key.install.addition.worker":        "more packages of workers",
		"key.install.addition.etcd":          "more packages of machines with etcd",
		"key.install.addition.loadbalance":   "more packages of the load balancer",
		"key.eggo":                           "keys of this program, see below",
		"key.eggo.hostname": "whether the machines' host names are set to their `name`; cleanup " +
			"sets back what they were. A name with a domain after it is kept",
		"key.eggo.sudo-password":       "for users other than root",
		"key.eggo.password-from":       "where the password comes from, so that it need not stand in the file",
		"key.eggo.sudo-password-from":  "the same for sudo's password",
		"key.eggo.host-keys":           "what to do with unknown host keys",
		"key.eggo.host-keys.default":   "ask on a terminal, else strict",
		"key.eggo.known-hosts":         "file of known host keys",
		"key.eggo.known-hosts.default": "the cluster's own",
		"key.eggo.ssh-legacy-algorithms": "allow SHA-1 (host keys and signatures `ssh-rsa`, " +
			"`diffie-hellman-*-sha1`, `hmac-sha1`), for nodes whose sshd offers nothing newer",
		"key.eggo.bastion": "machines that every machine is reached through, see below",
		"key.eggo.machines": "logins of machines that are logged in to in another way than the " +
			"others, by their `name`; see below",
		"key.eggo.bundles": "more bundles, beside those of `package-src`: of the same " +
			"architecture for machines of another operating system",
		"key.machine.name": "name of the node in the cluster, at most 63 characters. The " +
			"machine's host name stays as it is (`eggo.hostname`)",
		"key.machine.ip": "how the jump host and the other machines reach it. IPv4; IPv6 and " +
			"two families at once are refused, here and wherever an address of the cluster is written. The " +
			"endpoint's certificate, mirrors, insecure registries and bastions may have IPv6 addresses",
		"key.machine.port":       "of SSH",
		"key.machine.arch":       "architecture; `x86_64`, `x86`, `aarch64` and `arm` are understood",
		"key.balancer.name":      "name of the node, at most 63 characters",
		"key.balancer.ip":        "its address",
		"key.balancer.port":      "of SSH",
		"key.balancer.arch":      "architecture",
		"key.balancer.bind-port": "port that the load balancer listens on",
		"key.package.name": "bare name of the package or program, without version; several with " +
			"commas between them",
		"key.package.type": "`bin` is understood for `binary`; see below, all have effect",
		"key.package.dstpath": "directory on the node; needed for `binary`, `file`, `dir`, without " +
			"effect for others. The newer layout writes `dst`",
		"key.package.schedule":       "when a `shell` runs; needed for one",
		"key.package.timeout":        "of a `shell`",
		"key.component.name":         "the component",
		"key.component.extra-args":   "its flags with values, or a list of `flag=value`",
		"key.addon.type":             "always `file`",
		"key.addon.filename":         "name of the file in the bundle's `addons/`",
		"key.port.port":              "the port",
		"key.port.protocol":          "its protocol",
		"key.hop.host":               "name or address",
		"key.hop.port":               "of SSH",
		"key.hop.user":               "`username`, if it is left out",
		"key.hop.private-key-path":   "private key; without it and a password the machines' own are offered",
		"key.hop.password":           "its password",
		"key.hop.password-from":      "where its password comes from",
		"key.login.user":             "user of this machine",
		"key.login.private-key-path": "private key of this machine",
		"key.login.password": "its password; it is its sudo password too, unless it says another " +
			"one",
		"key.login.password-from":      "where its password comes from",
		"key.login.sudo-password":      "password of sudo",
		"key.login.sudo-password-from": "where the password of sudo comes from",
		"key.login.bastion":            "in place of the cluster's; `[]` is none",
		"key.type.text":                "text",
		"key.type.name":                "DNS name",
		"key.type.user":                "user name",
		"key.type.token":               "text",
		"key.type.image-tag":           "image tag",
		"key.type.image":               "image",
		"key.type.node-path":           "path on the node",
		"key.type.socket":              "`unix:///run/…`",
		"key.type.endpoint":            "`host:port`",
		"key.type.secret-source":       "`prompt`, `env:NAME`, `file:/PATH`",
		"key.type.host":                "name or address",
		"key.type.local-path":          "path on the jump host",
		"key.type.local-path-base":     "path, `/…` or `~/…`",
		"key.type.addon-file":          "file name",
		"key.type.secret":              "text, one line",
		"key.type.address":             "address",
		"key.type.network":             "network",
		"key.type.duration":            "duration",
		"key.type.yes-no":              "`true`, `false`",
		"key.type.list":                "list",
		"key.type.machines":            "list of machines",
		"key.type.map":                 "map",
		"key.type.block":               "YAML",
		"key.effect.yes":               "yes",
		"key.effect.later":             "later",
		"key.effect.none":              "none",
		"key.layout.older":             "older layout",
		"key.layout.newer":             "newer layout",
		"key.also":                     "also {words}",
		"key.head":                     "| key | type | default | meaning | effect |",
	}
}
