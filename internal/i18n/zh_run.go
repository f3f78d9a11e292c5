package i18n

// zhRun 是执行计划的各命令的文案。
func zhRun() map[string]string {
	return map[string]string{
		"cli.deploy.short":  "按 deploy.yaml 安装集群，或从上次中断处继续",
		"cli.deploy.long":   "按 deploy.yaml 用离线包通过 SSH 安装集群。\n\n先检查一切，再做任何改动。中断后再次运行 deploy 会从中断处继续；\n集群已完成时不做任何改动。仅当集群与 deploy.yaml 一致时退出码为 0。",
		"cli.cleanup.short": "从每个节点移除 deploy 所安装的内容",
		"cli.cleanup.long":  "从每个节点移除有记录的内容：服务、软件包、文件、目录以及 etcd 数据（先在本机保存快照）。\n原有的内容保持不变。",

		"cli.flag.deploy-file": "要使用的 deploy.yaml（默认 ~/.eggo/deploy.yaml）",
		"cli.flag.host-keys":   "未知主机密钥的处理：ask、strict 或 accept-new（终端上默认 ask，否则 strict）",
		"cli.flag.state":       "状态目录（默认 /var/lib/eggo，普通用户为 $XDG_STATE_HOME/eggo）",
		"cli.flag.report":      "输出方式：plain 或 json",
		"cli.flag.yes":         "不再询问集群名称",
		"cli.flag.purge":       "同时删除容器运行时的存储（镜像与容器）以及 Pod 日志",

		"ask.cluster-name":  "以上节点上的这些内容都将被移除。请输入集群名称（{cluster}）以继续：",
		"ask.password":      "{user} 的密码：",
		"ask.sudo":          "{user} 的 sudo 密码：",
		"ask.password-node": "{user} 在 {node} 上的密码：",
		"ask.sudo-node":     "{user} 在 {node} 上的 sudo 密码：",
		"ask.bastion":       "{user} 在跳板机 {host} 上的密码：",
		"ask.passphrase":    "{file} 的口令：",

		"run.stopping": "正在停止：先等待执行中的步骤结束。再按一次 Ctrl-C 立即中断。",

		"cli.flag.foreground": "任务在本进程内执行，供进程管理器、容器和 systemd 单元使用；默认情况下任务是独立进程，本进程结束后仍会继续",
		"front.greet":         "正在登录 {count} 个节点…",
		"front.closed":        "标准输出已关闭；任务继续执行，本命令等待其结束。按 Ctrl-C 可停止任务。查看任务：{attach}",
		"front.left":          "终端已断开；任务继续执行。查看任务：{attach}",
		"front.aborting":      "正在中止：执行中的步骤立即中断。再按一次 Ctrl-C 将强制结束任务的进程。",
		"front.not-shown":     "任务已结束，但标准输出无法写入：最后 {count} 个事件没有显示。查看全部内容：{logs}",
		"front.no-step":       "没有步骤",

		"next.kubeconfig": "kubeconfig 位于 {path}（API server 为 https://{endpoint}）",
		"next.node":       "{node}（{ip}）：{roles}",
		"next.kubectl":    "下一步：kubectl --kubeconfig {path} get nodes（本机没有 kubectl 时，可从 {node} 复制 /usr/local/bin/kubectl）",
		"next.cleanup":    "移除集群：{command}",
		"next.cleaned":    "各次运行的日志与 etcd 快照保留在 {path}",
		"next.resume":     "从此处继续：{command}",
		"next.log":        "事件日志：{path}",

		"fault.usage.verb":               "没有命令 {verb}。",
		"fault.usage.verb.next":          "eggo-tui --help 会列出所有命令。",
		"fault.usage.verb-like":          "没有命令 {verb}，是否想用 {like}？",
		"fault.usage.verb-like.next":     "eggo-tui --help 会列出所有命令。",
		"fault.usage.needs-yes":          "没有终端时，{verb} 需要 --yes。",
		"fault.usage.needs-yes.next":     "确认无误后请加上 --yes。",
		"fault.usage.not-confirmed":      "输入的不是集群名称，未做任何改动。",
		"fault.usage.not-confirmed.next": "请再次运行，并按 deploy.yaml 中的写法输入名称。",
		"fault.usage.secret":             "无法从 {what} 取得密码：{cause}",
		"fault.usage.secret.next":        "请在终端上使用 prompt，或使用 env:NAME、file:PATH。",
		"fault.usage.host-keys":          "--host-keys {value} 不是 ask、strict、accept-new 之一。",
		"fault.usage.host-keys.next":     "请选择其中之一。",
		"fault.run.interrupted":          "已中断，没有丢失任何内容。",
		"fault.run.interrupted.next":     "再次运行同一条命令即可从此处继续。",
		"fault.run.left":                 "本命令已与任务分离，任务继续执行。",
		"fault.run.left.next":            "查看任务：eggo-tui attach。",
		"fault.run.killed":               "任务 {run} 的进程已被强制结束。以下步骤的结果未知：{steps}",
		"fault.run.killed.next":          "再次运行同一条命令，它会检查已完成的部分：{command}。任务的日志在 {dir}。",
		"fault.run.died":                 "任务 {run} 的进程在任务完成之前结束（{how}）。以下步骤的结果未知：{steps}",
		"fault.run.died.next":            "查看 {dir}/process.log 中的信息，然后再次运行同一条命令，它会检查已完成的部分：{command}",
		"fault.run.failed":               "{count} 个步骤失败。",
		"fault.run.failed.next":          "解决上述原因后再次运行同一条命令，将从此处继续。",
		"fault.bundle.no-source":         "deploy.yaml 没有指定 {arch} 的离线包。",
		"fault.bundle.no-source.next":    "请设置 package-src（armsrc、x86src）或 install.package-source.srcpath。",
	}
}
