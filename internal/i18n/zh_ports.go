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

		"step.hook":                           "运行 {hook}",
		"step.infrastructure.hostname":        "设置主机名",
		"step.infrastructure.cleanup-scripts": "在节点上保存清理时用的脚本",
		"change.hook":                         "以 root 运行 {hook}（{type}）",
		"change.keep-script":                  "保存清理时用的 {hook}",
		"change.hostname":                     "将主机名设为 {name}",
		"why.node-gone":                       "无法连接该节点",
		"why.no-script":                       "节点上没有该脚本",
		"notice.hook-cut":                     "{hook} 的输出有 {bytes} 字节超出上限，未保留",
		"cli.flag.cluster-prehook":            "在改动任何东西之前以 root 运行的脚本或脚本目录：路径[,角色]；角色为 master、worker、etcd 或 loadbalance（默认 master）",
		"cli.flag.cluster-posthook":           "同上，在全部完成之后运行",
		"cli.flag.prehook":                    "在改动本命令的机器之前、在其上以 root 运行的脚本或脚本目录：路径[,角色]（默认角色 master）",
		"cli.flag.posthook":                   "同上，在其完成之后运行",
		"fault.hook.role":                     "钩子的角色 {role} 不在 {choices} 之中。",
		"fault.hook.role.next":                "写成“路径,角色”并选用其中之一；只写路径则在 master 上运行。",
		"fault.hook.path":                     "钩子的路径 {path} 不是绝对路径。",
		"fault.hook.path.next":                "请写出脚本或脚本目录的完整路径。",
		"fault.hook.unreadable":               "无法读取钩子 {path}：{cause}",
		"fault.hook.unreadable.next":          "请检查路径及其权限。",
		"fault.hook.empty":                    "目录 {path} 中没有钩子。",
		"fault.hook.empty.next":               "请放入脚本，或去掉该参数。",
		"fault.hook.not-regular":              "钩子 {path} 不是普通文件。",
		"fault.hook.not-regular.next":         "请直接给出脚本；不跟随链接，也不进入目录中的目录。",
		"fault.hook.name":                     "钩子 {path} 的名字不合规：只能用字母、数字、. _ -，并以 .sh 或 .bash 结尾。",
		"fault.hook.name.next":                "请改名；钩子目录中不得有其他文件。",
		"fault.hook.owner":                    "钩子 {path} 属于其他用户，而它将以 root 运行。",
		"fault.hook.owner.next":               "请检查其内容，并另存为自己的文件（权限 0750）。",
		"fault.hook.mode":                     "钩子 {path} 的权限超出属主与属组的使用范围，而它将以 root 运行。",
		"fault.hook.mode.next":                "请检查其内容，然后 chmod 0750（目录：chmod go-w）。",
		"fault.hook.size":                     "钩子 {path} 为空或大于 1 MiB。",
		"fault.hook.size.next":                "钩子应为 1 字节到 1 MiB；更大的内容请在脚本中获取。",
		"fault.hook.failed":                   "{hook} 在 {node} 上以退出码 {status} 结束：{cause}",
		"fault.hook.failed.next":              "请修正脚本或它在 {node} 上报告的问题，然后再次运行同一命令。",
		"fault.hook.timeout":                  "{hook} 在 {node} 上 {timeout} 后仍未结束，已连同其启动的进程一并终止：{cause}",
		"fault.hook.timeout.next":             "请查看它在 {node} 上等待什么；命令行的钩子限时 120 秒，deploy.yaml 中的脚本按其 timeout。",
		"fault.hook.unknown":                  "{hook} 运行时与 {node} 的连接断开，不知其是否完成。",
		"fault.hook.unknown.next":             "请检查 {node}，然后再次运行同一命令：钩子会重新运行。",
		"fault.hook.not-in-bundle":            "{node} 的离线包中没有脚本 {hook}。",
		"fault.hook.not-in-bundle.next":       "请将其加入 spec 的 files 并重新构建离线包，或从 deploy.yaml 中去掉。",
	}
}
