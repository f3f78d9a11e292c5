package i18n

// zhVerbs 是查看、计划类命令及其共用参数的文字。
func zhVerbs() map[string]string {
	return map[string]string{
		"cli.flag.on-failure":         "步骤最终失败时的处理：abort（不再开始新步骤）、skip（跳过该节点）、retry=N（默认：不依赖它的步骤继续执行）",
		"fault.usage.on-failure":      "--on-failure {value} 不是 abort、skip、retry=N 之一。",
		"fault.usage.on-failure.next": "请使用 abort、skip 或 retry=3。",
		"report.decided-retry":        "{step}：失败，按 --on-failure 的要求重试：{fault}",
		"plan.unsure":                 "具体内容要等前面的步骤完成后才能知道",
		"change.api":                  "API server：{method} {path}",
		"change.etcd":                 "etcd：{method}",
		"fault.node.rehearsal":        "演练中要在节点上执行脚本，而演练不做任何改动",
		"fault.node.rehearsal.next":   "这是程序的缺陷，请反馈。",
	}
}
