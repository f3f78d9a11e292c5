package i18n

// zhNodes is enNodes in Chinese.
func zhNodes() map[string]string {
	return map[string]string{
		"cli.flag.id":                         "按名称指定集群：使用状态目录中该集群自己的 deploy.yaml",
		"fault.usage.no-cluster":              "{dir} 中没有集群 {cluster}（现有：{known}）。",
		"fault.usage.no-cluster.next":         "请用 -f 给出它的 deploy.yaml，或指定另一个 --state-dir。",
		"fault.usage.deploy-yaml-moved":       "另一次运行刚刚修改了 {file}。",
		"fault.usage.deploy-yaml-moved.next":  "请再次运行同一命令。",
		"fault.config.edit":                   "无法编辑 {file}：{cause}",
		"fault.config.edit.next":              "请按手册中 deploy.yaml 的写法书写机器列表，然后再次运行同一命令。",
		"fault.config.add-balancer":           "join 不能向 {file} 添加负载均衡。",
		"fault.config.add-balancer.next":      "请在 deploy.yaml 中设置 loadbalance 并运行 deploy。",
		"fault.preflight.node-lost":           "集群中有 {node}（{ip}），但 deploy.yaml 中已没有它。",
		"fault.preflight.node-lost.next":      "要将其移出集群：eggo-tui delete {node} --id {cluster}。要保留它，请把它写回 deploy.yaml。",
		"fault.preflight.role-lost":           "{node} 在集群中的角色是 {roles}，但 deploy.yaml 已不这样写。",
		"fault.preflight.role-lost.next":      "请删除它（eggo-tui delete {node} --id {cluster}），再以所需角色重新加入。",
		"fault.preflight.node-forgotten":      "集群中有 {node}（{ip}），但此 deploy.yaml 中没有它。",
		"fault.preflight.node-forgotten.next": "请按集群自己的 deploy.yaml 清理：eggo-tui cleanup --id {cluster}。",
	}
}
