package i18n

// zhEngine has the sentences of the event log, the engine and the journal.
func zhEngine() map[string]string {
	return map[string]string{
		"engine.blocked":             "它依赖的步骤 {step} 失败了",
		"engine.host-lost":           "在步骤 {step} 中无法连接 {host}",
		"engine.host-left-out":       "{step} 失败后已跳过 {host}",
		"fault.engine.left-out":      "已完成，但不包括 {hosts}",
		"fault.engine.left-out.next": "每个失败及其原因都已列出。解决后再次运行同一条命令，会补上缺少的部分。",
		"engine.done-before":         "之前的运行已完成",

		"fault.event.bad-record":        "事件日志中有一行无法读取：{cause}",
		"fault.event.bad-record.next":   "请勿手工修改 events.jsonl；重新执行命令会生成新的日志。",
		"fault.event.unknown-type":      "事件日志中有本程序不认识的事件类型：{type}",
		"fault.event.unknown-type.next": "该日志由更新的版本写成，请用那个版本读取。",

		"fault.engine.duplicate-phase":      "执行计划中有两个同名阶段：{phase}",
		"fault.engine.duplicate-phase.next": "这是程序自身的缺陷，请反馈。",
		"fault.engine.duplicate-step":       "执行计划中有步骤没有名称，或有两个步骤同名：“{id}”",
		"fault.engine.duplicate-step.next":  "这是程序自身的缺陷，请反馈。",
		"fault.engine.unknown-phase":        "步骤 {id} 所属的阶段不在执行计划中：{phase}",
		"fault.engine.unknown-phase.next":   "这是程序自身的缺陷，请反馈。",
		"fault.engine.unknown-host":         "步骤 {id} 所在的节点不在执行计划中：{host}",
		"fault.engine.unknown-host.next":    "这是程序自身的缺陷，请反馈。",
		"fault.engine.unknown-need":         "步骤 {id} 依赖的步骤不在执行计划中：{need}",
		"fault.engine.unknown-need.next":    "这是程序自身的缺陷，请反馈。",
		"fault.engine.cycle":                "执行计划中的步骤循环依赖：{steps}",
		"fault.engine.cycle.next":           "这是程序自身的缺陷，请反馈。",

		"fault.engine.panic":             "程序在该步骤中崩溃：{value}",
		"fault.engine.panic.next":        "这是程序自身的缺陷，请附上本次运行的事件日志进行反馈。",
		"fault.engine.timeout":           "该步骤未能在 {timeout} 内完成",
		"fault.engine.timeout.next":      "请查看本次运行中该节点的日志，确认它在等待什么，然后重新执行同一命令，会从此处继续。",
		"fault.engine.steps-failed":      "有 {count} 个步骤失败",
		"fault.engine.steps-failed.next": "每个失败步骤及其原因均已列出。排除原因后重新执行同一命令，会从此处继续。",
		"fault.engine.interrupted":       "运行已中止，还剩 {left} 个步骤",
		"fault.engine.interrupted.next":  "重新执行同一命令，会从此处继续。",

		"journal.cut-line": "事件日志的最后一行不完整，已略去",

		"fault.journal.write":            "无法写入事件日志 {path}：{cause}",
		"fault.journal.write.next":       "无法记录的操作不会执行。请在部署机上清理出空间（df -h），然后重新执行同一命令，会从此处继续。",
		"fault.journal.open":             "无法创建或打开运行目录 {path}：{cause}",
		"fault.journal.open.next":        "请检查该路径是否存在、是否属于当前用户、磁盘是否已满。",
		"fault.journal.read":             "无法读取事件日志 {path}：{cause}",
		"fault.journal.read.next":        "请检查该文件是否存在、是否属于当前用户。",
		"fault.journal.damaged":          "事件日志 {path} 第 {line} 行已损坏：{cause}",
		"fault.journal.damaged.next":     "请保留一份副本以便反馈。重新执行命令会生成新的日志，并逐一检查各节点的实际状态。",
		"fault.journal.bad-cluster":      "“{cluster}”不能用作集群名称，因为它会被用作目录名",
		"fault.journal.bad-cluster.next": "cluster-id 请使用字母、数字、“-”、“_”和“.”。",
		"fault.lock.cluster-held":        "另一个运行正在操作该集群：{verb}，进程 {pid}，由 {user} 在 {host} 上于 {since} 启动",
		"fault.lock.cluster-held.next":   "请等待其结束，或用“eggo-tui attach”查看。",
		"fault.lock.cluster-failed":      "无法获取锁 {path}：{cause}",
		"fault.lock.cluster-failed.next": "请检查该目录是否属于当前用户，以及所在文件系统是否支持文件锁。",
	}
}
