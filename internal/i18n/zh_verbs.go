package i18n

// zhVerbs 是查看、计划类命令及其共用参数的文字。
func zhVerbs() map[string]string {
	return map[string]string{
		"cli.flag.on-failure":         "步骤最终失败时的处理：abort（不再开始新步骤）、skip（跳过该节点）、retry=N（默认：不依赖它的步骤继续执行）",
		"fault.usage.on-failure":      "--on-failure {value} 不是 abort、skip、retry=N 之一。",
		"fault.usage.on-failure.next": "请使用 abort、skip 或 retry=3。",
		"report.decided-retry":        "{step}：失败，按 --on-failure 的要求重试：{fault}",
	}
}
