package i18n

// zhMeanings 是 deploy.yaml 各配置项的含义：编辑器据此提示。
func zhMeanings() map[string]string {
	return map[string]string{
		"key.cluster-id": "集群的名称，也是它在跳板机上的目录名",
		"key.username":   "所有机器的 SSH 用户；不是 root 时需要 sudo",
		"key.password":   "所有机器的 SSH 密码，没有默认值；除 NUL 和换行外可以是任意字符",
		"key.private-key-path": "跳板机上的 SSH 私钥。旁边的证书（`KEY-cert.pub`）会一起使用；" +
			"写公钥（`KEY.pub`）则表示使用 ssh-agent 中的对应私钥。先尝试它，再尝试密码，最后是 ssh-agent " +
			"中的其他密钥，数量多时分几次连接",
		"key.private-key-path.default": "没有给出密码时，取 `~/.ssh/id_ed25519`、`id_ecdsa`、`id_rsa` " +
			"中第一个存在的",
		"key.masters": "控制平面节点。它们总是运行 kubelet、kube-proxy 和网络插件，" +
			"并带有污点；同时列在 `nodes` 中的不带污点",
		"key.masters.default": "–（至少一个）",
		"key.nodes":           "worker 节点；新格式写作 `workers`",
		"key.etcds": "运行 etcd 的机器。往已有集群中新增的成员先作为 learner 加入，" +
			"数据同步完才参与投票；从文件中去掉的成员要到执行 `delete` 才退出",
		"key.etcds.default": "所有 master",
		"key.loadbalance": "master 前面的负载均衡节点，另有 `bind-port`：由 nginx 转发 " +
			"TCP（使用我们自己的 `eggo-lb.service`；软件包由我们安装时屏蔽它的 `nginx.service`，原有的 " +
			"nginx 保持不变）。它可以和任何其他角色共用一台机器。`loadbalancer` 和 `loadbalances` " +
			"也能识别，但会有警告",
		"key.loadbalance.default": "无",
		"key.external-ca": "使用自己的 CA，放在 `external-ca-path` 中。必须有私钥，" +
			"因为节点证书在集群内签发。由安装前检查核对，已有集群不会更换 CA",
		"key.external-ca-path": "存放 `ca.crt`、`ca.key` 的目录，还可以有 `front-proxy-ca.*` 和 " +
			"`etcd/ca.*`（EC、RSA、PKCS 8；证书链以签发证书开头）",
		"key.service.cidr":            "service 的网段，/12 到 /28",
		"key.service.dnsaddr":         "集群 DNS 的地址",
		"key.service.dnsaddr.default": "`dns-vip`，否则为 `service.cidr` 的第十个地址",
		"key.service.gateway":         "`kubernetes` 服务的地址；不能是别的地址",
		"key.service.gateway.default": "`service.cidr` 的第一个地址",
		"key.service.dns.corednstype": "CoreDNS 的运行方式：pod，或每个控制平面节点上的服务，" +
			"监听该节点地址的 53 和 9153 端口，`kube-dns` 服务的端点跟随控制平面节点；此时离线包中要有程序 " +
			"`coredns`",
		"key.service.dns.imageversion":         "CoreDNS 镜像的版本",
		"key.service.dns.imageversion.default": "离线包中的版本",
		"key.service.dns.replicas":             "CoreDNS 的 pod 数量",
		"key.network.podcidr":                  "pod 的网段；每台运行 kubelet 的机器分得一个 /24",
		"key.network.plugin": "网络插件，其清单在离线包中。" +
			"flannel、calico（`CALICO_IPV4POOL_CIDR`、operator 的地址池）和 " +
			"cilium（集群地址池）的清单会写入 pod 网段，并说明改动。只有 `flannel` 实际运行过，" +
			"其余的清单只按文件处理和测试。手册中程序的默认值是 `calico`",
		"key.network.plugin-args": "网络插件的参数",
		"key.network.plugin-args.NetworkYamlPath": "网络插件清单在 master 上的路径：离线包中同名的插件文件，" +
			"否则为软件包放在那里的文件",
		"key.apiserver-endpoint": "节点和用户访问 API server 的地址。写域名时每个节点都要能解析；" +
			"节点解析不了而 deploy.yaml 给出了地址（负载均衡，或唯一的 master）时，写入该节点的 " +
			"`/etc/hosts`，否则安装前检查会拒绝。以后改动时，kubelet 和 kube-proxy 会跟着改",
		"key.apiserver-endpoint.default":   "负载均衡，否则为第一个 master 的 6443 端口",
		"key.apiserver-cert-sans.dnsnames": "API server 证书中额外的域名",
		"key.apiserver-cert-sans.ips":      "API server 证书中额外的地址",
		"key.apiserver-timeout":            "API server 处理一个请求的最长时间",
		"key.etcd-external":                "使用外部 etcd。会被拒绝：格式中没有说明用什么证书访问它",
		"key.etcd-token":                   "etcd 集群的名称",
		"key.dns-vip":                      "与 `service.dnsaddr` 含义相同，值也必须相同",
		"key.dns-vip.default":              "`service.dnsaddr`",
		"key.dns-domain":                   "集群的域名",
		"key.pause-image":                  "pause 容器的镜像；离线包中要有它",
		"key.pause-image.default":          "离线包中的镜像",
		"key.network-plugin":               "已经没有别的种类",
		"key.cni-bin-dir": "容器运行时在节点上查找 CNI 插件的目录，用逗号分隔。2.1 之前的 " +
			"containerd 只看一个目录：列表中有 `/opt/cni/bin` 就用它，否则用第一个；" +
			"其他目录的插件链接到其中。列表中没有 `/opt/cni/bin` 时，离线包和网络插件带来的 CNI " +
			"插件放入第一个目录，它必须是 `dstpath` 允许的目录",
		"key.runtime": "容器运行时。不写表示 containerd：默认离线包带的就是它，当前的 " +
			"Kubernetes 也运行在它上面；手册中程序的默认值是 `iSulad`",
		"key.runtime-endpoint": "容器运行时的 CRI 套接字：运行时在这里监听，kubelet 访问这里。docker " +
			"用的是 cri-dockerd 的套接字 `unix:///run/cri-dockerd.sock`",
		"key.runtime-endpoint.default": "取决于容器运行时",
		"key.enable-kubelet-serving": "kubelet 向集群申请服务端证书，`deploy` 批准 deploy.yaml " +
			"能担保的申请：节点自己的名称和地址。证书一年有效期的最后五分之一里 kubelet 会再次申请，" +
			"由下一次 `deploy` 批准。为 `false` 时，证书和其他证书一样由跳板机签发",
		"key.registry-mirrors": "地址，或 `仓库=地址`：docker.io 的 mirror，按顺序先于它访问。" +
			"containerd 还可以写其他仓库的（`ghcr.io=https://…`）或所有仓库的（`*=https://…`）；以 `/v2` " +
			"开头的路径就是完整路径（`ghcr.io=http://mirror:5000/v2/ghcr.io`）",
		"key.insecure-registries": "主机，可以带端口；docker 还可以写网段：不检查这些镜像仓库的证书，" +
			"不支持 https 时用 http 访问",
		"key.config-extra-args":      "各组件的额外参数",
		"key.addons":                 "离线包 `addons/` 中的清单，最后部署",
		"key.open-ports":             "插件需要的端口，Kubernetes 自身的端口不用写",
		"key.open-ports.master":      "master 节点上的",
		"key.open-ports.node":        "worker 节点上的",
		"key.open-ports.etcd":        "etcd 节点上的",
		"key.open-ports.loadbalance": "负载均衡节点上的",
		"key.package-src":            "离线包的位置",
		"key.package-src.type":       "离线包的格式",
		"key.package-src.x86src": "amd64 的离线包；有这种架构的机器时必须给出。相对路径从 deploy.yaml " +
			"所在目录算起",
		"key.package-src.armsrc": "arm64 的离线包，同 `x86src`",
		"key.package-src.distpath": "从离线包取给节点的内容（软件包、镜像）安装前存放的位置：在它下面的 " +
			"`eggo-node` 中；不写则在 `/var/lib/eggo-node` 下。必须是 `dstpath` 允许的目录之一，但不能是 " +
			"unit 的目录，并且只有 root 能改动其中的内容",
		"key.pacakges":             "各类节点安装的内容",
		"key.pacakges.default":     "以离线包自己的清单为准",
		"key.pacakges.master":      "master 节点的软件包",
		"key.pacakges.node":        "worker 节点的软件包",
		"key.pacakges.etcd":        "etcd 节点的软件包",
		"key.pacakges.loadbalance": "负载均衡节点的软件包",
		"key.install":              "软件包、离线包位置和插件",
		"key.install.package-source.type": "`\"\"`（从网络安装）会被拒绝（[decision " +
			"16](decisions/0016-no-install-from-the-network.md)）",
		"key.install.package-source.srcpath": "各架构的离线包",
		"key.install.package-source.dstpath": "同 `package-src.distpath`",
		"key.install.etcd":                   "etcd 节点的软件包",
		"key.install.kubernetes-master":      "master 节点的软件包",
		"key.install.kubernetes-worker":      "worker 节点的软件包",
		"key.install.network":                "master 和 worker 节点的软件包",
		"key.install.container":              "master 和 worker 节点的软件包",
		"key.install.image":                  "master 和 worker 节点的软件包",
		"key.install.loadbalance":            "负载均衡节点的软件包",
		"key.install.dns":                    "master 节点的软件包",
		"key.install.addition.master":        "master 节点的额外软件包",
		"key.install.addition.worker":        "worker 节点的额外软件包",
		"key.install.addition.etcd":          "etcd 节点的额外软件包",
		"key.install.addition.loadbalance":   "负载均衡节点的额外软件包",
		"key.eggo":                           "本程序自己的配置",
		"key.eggo.hostname": "是否把机器的主机名设为它的 `name`；清理时恢复原来的主机名。" +
			"带域名的同名主机名保持不变",
		"key.eggo.sudo-password":       "不是 root 的用户用的 sudo 密码",
		"key.eggo.password-from":       "密码的来源，这样文件中不必写密码",
		"key.eggo.sudo-password-from":  "sudo 密码的来源",
		"key.eggo.host-keys":           "遇到未知主机密钥时怎么办",
		"key.eggo.host-keys.default":   "终端上询问，否则为 strict",
		"key.eggo.known-hosts":         "已知主机密钥的文件",
		"key.eggo.known-hosts.default": "集群自己的文件",
		"key.eggo.ssh-legacy-algorithms": "允许 SHA-1（主机密钥和签名 " +
			"`ssh-rsa`、`diffie-hellman-*-sha1`、`hmac-sha1`），用于 sshd 只支持旧算法的节点",
		"key.eggo.bastion":  "到达每台机器都要经过的跳板机",
		"key.eggo.machines": "登录方式与其他机器不同的机器，按 `name` 填写",
		"key.eggo.bundles":  "`package-src` 之外的更多离线包：同一架构、用于其他操作系统的机器",
		"key.machine.name": "节点在集群中的名称，最多 63 个字符。机器的主机名保持不变（见 " +
			"`eggo.hostname`）",
		"key.machine.ip": "跳板机和其他机器访问它的地址。IPv4；集群的地址不支持 IPv6 和双栈。" +
			"API 证书、mirror、非 TLS 镜像仓库和跳板机可以用 IPv6 地址",
		"key.machine.port":       "SSH 端口",
		"key.machine.arch":       "机器架构；也可以写 `x86_64`、`x86`、`aarch64`、`arm`",
		"key.balancer.name":      "节点的名称，最多 63 个字符",
		"key.balancer.ip":        "节点的地址",
		"key.balancer.port":      "SSH 端口",
		"key.balancer.arch":      "机器架构",
		"key.balancer.bind-port": "负载均衡服务监听的端口",
		"key.package.name":       "软件包或程序的名称，不带版本；多个用逗号分隔",
		"key.package.type":       "也可以用 `bin` 表示 `binary`",
		"key.package.dstpath": "节点上的目录；`binary`、`file`、`dir` 必须填写，其他类型不起作用。" +
			"新格式写作 `dst`",
		"key.package.schedule":         "`shell` 执行的时机；这种类型必须填写",
		"key.package.timeout":          "`shell` 的超时时间",
		"key.component.name":           "组件",
		"key.component.extra-args":     "参数和值，或 `参数=值` 的列表",
		"key.addon.type":               "只支持 `file`",
		"key.addon.filename":           "离线包 `addons/` 目录下的文件名",
		"key.port.port":                "端口",
		"key.port.protocol":            "协议",
		"key.hop.host":                 "域名或地址",
		"key.hop.port":                 "SSH 端口",
		"key.hop.user":                 "不写则用 `username`",
		"key.hop.private-key-path":     "私钥；私钥和密码都不写时使用机器自己的",
		"key.hop.password":             "密码",
		"key.hop.password-from":        "密码的来源",
		"key.login.user":               "这台机器的用户",
		"key.login.private-key-path":   "这台机器的私钥",
		"key.login.password":           "密码；没有另外写 sudo 密码时也用作 sudo 密码",
		"key.login.password-from":      "密码的来源",
		"key.login.sudo-password":      "sudo 密码",
		"key.login.sudo-password-from": "sudo 密码的来源",
		"key.login.bastion":            "代替集群的跳板机；`[]` 表示不经过跳板机",
		"key.type.text":                "文本",
		"key.type.name":                "DNS 名称",
		"key.type.user":                "用户名",
		"key.type.token":               "文本",
		"key.type.image-tag":           "镜像版本",
		"key.type.image":               "镜像",
		"key.type.node-path":           "节点上的路径",
		"key.type.socket":              "`unix:///run/…`",
		"key.type.endpoint":            "`主机:端口`",
		"key.type.secret-source":       "`prompt`、`env:变量名`、`file:/路径`",
		"key.type.host":                "域名或地址",
		"key.type.local-path":          "跳板机上的路径",
		"key.type.local-path-base":     "路径，`/…` 或 `~/…`",
		"key.type.addon-file":          "文件名",
		"key.type.secret":              "一行文本",
		"key.type.address":             "地址",
		"key.type.network":             "网段",
		"key.type.duration":            "时长",
		"key.type.yes-no":              "`true`、`false`",
		"key.type.list":                "列表",
		"key.type.machines":            "机器列表",
		"key.type.map":                 "映射",
		"key.type.block":               "YAML",
		"key.effect.yes":               "有效",
		"key.effect.later":             "暂不支持",
		"key.effect.none":              "无",
		"key.layout.older":             "旧格式",
		"key.layout.newer":             "新格式",
		"key.also":                     "也可写作 {words}",
		"key.head":                     "| 配置项 | 类型 | 默认值 | 含义 | 作用 |",
	}
}
