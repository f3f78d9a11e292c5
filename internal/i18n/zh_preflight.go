package i18n

func zhPreflight() map[string]string {
	return map[string]string{
		"notice.flannel-iface": "{addon} 未指定网卡，已配置 flannel 使用各节点自身的地址",
		"notice.no-nameserver": "并非每个节点的 resolv.conf 都有可用的域名服务器：CoreDNS 只解析集群内的名字，不转发其他查询",

		"fault.preflight.state-elsewhere":      "{node} 属于集群 {cluster}，但此状态目录（{dir}）中没有该集群的 CA。",
		"fault.preflight.state-elsewhere.next": "请从安装该集群的部署机上将其状态目录中的 pki 复制到 {dir}/pki，或在那台部署机上清理此节点。",
		"fault.preflight.renamed":              "{node} 安装时的名字是 {was}。",
		"fault.preflight.renamed.next":         "请在 deploy.yaml 中将名字改回 {was}，或先以该名字清理此节点。",
		"fault.preflight.version":              "{node} 运行的是 Kubernetes {is}，而离线包中是 {bundle}；目前还不支持升级。",
		"fault.preflight.version.next":         "请使用安装时所用的离线包。",
		"fault.preflight.foreign-files":        "{node} 上要放置文件的位置已有并非由 Eggo 创建的文件：{files}。",
		"fault.preflight.foreign-files.next":   "如不需要请移走；Eggo 不会覆盖他人的文件。",
		"fault.preflight.foreign-runtime":      "{node} 上已在运行并非由 Eggo 配置的容器运行时：{runtime}。",
		"fault.preflight.foreign-runtime.next": "如无其他用途请将其卸载，或换一台没有它的机器。",
		"fault.preflight.no-route":             "{node} 没有到 {service} 的路由：flannel 无法启动，Service 也无法访问。",
		"fault.preflight.no-route.next":        "请在 {node} 上添加默认路由（ip route add default via 地址，并写入网络配置）；网关不必有应答。",
	}
}
