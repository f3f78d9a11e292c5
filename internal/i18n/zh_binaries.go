package i18n

// zhBinaries is enBinaries in Chinese.
func zhBinaries() map[string]string {
	return map[string]string{
		"step.check.old-binaries": "删除已被替换的二进制文件版本",

		"change.link":          "将 {path} 链接到 {to}",
		"change.switch":        "将 {path} 从 {was} 切换到 {to}",
		"change.balancer-down": "将 {server} 的 API Server 移出负载均衡",
		"change.balancer-up":   "将 {server} 的 API Server 放回负载均衡",

		"drift.balancer-down":  "{node} 上的负载均衡不向 {server} 的 API Server 转发；若此刻没有任务正在重启它，请运行 deploy 将其放回",
		"drift.binary-several": "{node} 上有 {binary} 的多个版本：{versions}；启动的是 {linked}",
		"drift.binary-runs":    "{node} 正在运行 {runs}，而再次启动时会是 {linked}：{binary} 尚未重启",
		"drift.binary-unlike":  "各节点的 {binary} 版本不一致：{versions}",

		"notice.away": "{node} 上的 {component} 中断了 {seconds} 秒",

		"notice.away-voting": "{node} 上的 {component} 中断了 {seconds} 秒；此前停止用了 {stopping} 秒，期间仍参与投票",

		"fault.node.unsafe-versions":      "{node}：{what} 是链接，或不归 root 所有，或其他人可写。Eggo 在其中存放二进制文件的各个版本。",
		"fault.node.unsafe-versions.next": "请将它改为只有 root 可写的目录（chown root:root，chmod 755）；如不需要，请移走。",
		"fault.balancer.server-down":      "{node} 上的负载均衡仍不向 {server} 的 API Server 转发：{cause}",
		"fault.balancer.server-down.next": "待 {node} 可以访问后，请再次运行 deploy，它会将该服务器放回。",
		"fault.node.version-linked":       "{node}：{what} 指向本次任务已替换的二进制文件版本，该版本予以保留。",
		"fault.node.version-linked.next":  "请再次运行 deploy，它会切换链接并删除该版本。",
		"fault.node.no-binary":            "{node}：二进制文件 {what} 不存在或无法执行。",
		"fault.node.no-binary.next":       "请再次运行 deploy，它会重新放置该文件。",
	}
}
