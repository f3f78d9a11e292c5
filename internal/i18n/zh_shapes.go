package i18n

// zhShapes holds the sentences of clusters with several control planes, members of etcd and a load balancer.
func zhShapes() map[string]string {
	return map[string]string{
		"phase.loadbalance": "负载均衡",

		"step.etcd.membership":           "确认 etcd 的成员",
		"step.infrastructure.mask-nginx": "阻止 nginx 自带的服务启动",
		"step.loadbalance.start":         "启动负载均衡",
		"step.loadbalance.ready":         "经负载均衡访问 API",
		"step.check.control-plane":       "etcd、API 服务器和负载均衡均有应答",

		"cli.certs.short":       "证书：列出、更新",
		"cli.certs.list.short":  "列出本机和各节点上的证书",
		"cli.certs.list.long":   "列出状态目录中的证书及其到期时间，并与各节点文件中和端口上的证书比较。\n退出码 1：有证书已过期、不一致或看不到；3：有证书在 30 天内到期。",
		"cli.certs.renew.short": "重新签发所有叶证书并下发到节点",
		"cli.certs.renew.long":  "重新签发除 CA 外的所有证书并部署：组件逐个节点重启，确认正常后再处理下一个，\n因此三个控制平面可不间断服务。kubelet 的客户端证书由其自行更新。",
		"cli.flag.certs-output": "列表形式：table 或 json",
		"cli.flag.offline":      "仅本机的证书，不访问节点",

		"certs.header":            "节点\t证书\t到期\t状态\t位置",
		"certs.state.ok":          "正常",
		"certs.state.soon":        "即将到期",
		"certs.state.expired":     "已过期",
		"certs.state.other":       "不一致",
		"certs.state.absent":      "缺失",
		"certs.state.silent":      "无应答",
		"certs.state.unreachable": "节点无法访问",
		"next.renewed":            "所有证书已更新；kubelet 的客户端证书由其自行更新。查看：{command}",

		"fault.certs.unwell":          "有证书需要处理。",
		"fault.certs.unwell.next":     "eggo-tui certs renew 会重新签发所有叶证书并下发到节点。",
		"fault.certs.no-cluster":      "本机没有集群 {cluster} 的证书（{dir}）。",
		"fault.certs.no-cluster.next": "请先运行 deploy，或在安装该集群的机器上运行；--state-dir 可指定其他目录。",

		"change.etcd-add": "将 {member} 加入 etcd 成员",
		"change.mask":     "屏蔽 {unit}，否则软件包会启动它",
		"change.endpoint": "将地址 {endpoint} 写入 {path}",

		"fault.preflight.selinux-balancer":      "{node} 的 SELinux 处于强制模式：可能阻止 nginx 监听 {port}、访问 API 服务器或写入 /run/eggo-lb。",
		"fault.preflight.selinux-balancer.next": "在 {node} 上执行：semanage port -a -t http_port_t -p tcp {port}; setsebool -P httpd_can_network_connect 1。若负载均衡仍无法启动，可用 ausearch -m avc 查看被拒绝的操作。",
		"fault.preflight.endpoint-told":         "{node} 无法解析 API 的名称 {name}；将在 /etc/hosts 中写明它是 {addr}。",
		"fault.preflight.endpoint-told.next":    "如果其他机器也要使用 {name}，请将它加入 DNS。",
		"fault.preflight.endpoint-unknown":      "{node} 无法解析 API 的名称 {name}（apiserver-endpoint），deploy.yaml 中也没有它的地址。",
		"fault.preflight.endpoint-unknown.next": "请将 {name} 加入 DNS 或 {node} 的 /etc/hosts，或将 apiserver-endpoint 写成地址。",

		"fault.balancer.no-nginx":       "{node}：没有安装 nginx。",
		"fault.balancer.no-nginx.next":  "请使用 loadbalancer 的软件包中含有 nginx 的离线包，或在 deploy.yaml 的 loadbalance 软件包中列出 nginx。",
		"fault.balancer.no-stream":      "{node}：它的 nginx 没有 stream 模块，不能转发 TCP。",
		"fault.balancer.no-stream.next": "请在 {node} 上安装带 stream 模块的 nginx，或改用其他机器做负载均衡。",
		"fault.balancer.silent":         "{node}：经负载均衡的端口 {port} 没有 API 服务器应答：{cause} {log}",
		"fault.balancer.silent.next":    "请查看 {node} 上的 journalctl -u eggo-lb；它必须能访问各控制平面的 6443 端口。",

		"notice.etcd-stranger": "etcd 有成员 {member}（{url}），但 deploy.yaml 中没有；可用 eggo-tui delete 移除",

		"fault.rolling.stopped":            "未重启 {node} 上的 {what}：它在 {other} 上重启后没有恢复。",
		"fault.rolling.stopped.next":       "请先修复 {other} 上的 {what}；其余节点保持原样。然后再次运行 deploy。",
		"fault.kube.no-control-plane":      "没有可以连接的控制平面节点。",
		"fault.kube.no-control-plane.next": "请启动其中一个控制平面节点，并确认 SSH 可以连通。",
		"fault.etcd.data-lost":             "没有任何机器有 etcd 数据，但 {joined} 已加入集群：数据已丢失。",
		"fault.etcd.data-lost.next":        "请恢复快照（已有快照在 STATE/snapshots 中），或清理集群后重新部署。",
		"fault.etcd.no-quorum":             "etcd 没有法定多数：{cause}",
		"fault.etcd.no-quorum.next":        "请启动停止的成员（在各节点查看 journalctl -u etcd）；必须有超过半数的成员应答。",
		"fault.etcd.member-unwell":         "etcd 成员 {member} 没有应答：{cause}",
		"fault.etcd.member-unwell.next":    "请先修复它，或用 eggo-tui delete 移除其节点，再添加其他成员：每个失效成员都会削弱集群。",
		"fault.etcd.not-listed":            "{node} 有 etcd 数据，但 etcd 的成员列表中没有它。",
		"fault.etcd.not-listed.next":       "如果该成员已被移除，请移走 {node} 上的 /var/lib/etcd/default.etcd，再次运行 deploy。",
	}
}
