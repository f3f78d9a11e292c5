package i18n

// zhPorts are the sentences about firewalls, hooks, host names and packages of the less usual types.
func zhPorts() map[string]string {
	return map[string]string{
		"step.infrastructure.ports": "在防火墙中开放端口",
		"step.clean.ports":          "关闭曾开放的端口",

		"change.open-ports":  "在防火墙中开放：{rules}",
		"change.close-ports": "在防火墙中关闭不再需要的：{rules}",
		"change.undo-ports":  "在防火墙中关闭曾开放的端口",

		"why.no-firewall": "没有启用的防火墙",
		"notice.ports":    "{node} 启用了 {firewall}，未放行 {ports}：Eggo 将开放这些端口，清理时再关闭",

		"fault.preflight.firewall-unsure":      "{node} 启用了 {firewall}，其中有无法判断效果的规则；即使开放 {ports}，这些规则仍可能拒绝。",
		"fault.preflight.firewall-unsure.next": "Eggo 会开放这些端口；请确认 {firewall} 没有规则拒绝其他节点与 Pod 访问它们。",
	}
}
