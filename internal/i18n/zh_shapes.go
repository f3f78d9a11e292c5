package i18n

// zhShapes holds the sentences of clusters with several control planes, members of etcd and a load balancer.
func zhShapes() map[string]string {
	return map[string]string{
		"step.etcd.membership": "确认 etcd 的成员",

		"change.etcd-add": "将 {member} 加入 etcd 成员",

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
		"fault.etcd.member-unwell.next":    "请先修复它，或用 eggo-tui delete 移除它，再添加其他成员：每个失效成员都会削弱集群。",
		"fault.etcd.not-listed":            "{node} 有 etcd 数据，但 etcd 的成员列表中没有它。",
		"fault.etcd.not-listed.next":       "如果该成员已被移除，请移走 {node} 上的 /var/lib/etcd/default.etcd，再次运行 deploy。",
	}
}
