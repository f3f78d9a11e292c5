package i18n

// zhCLI 是各命令共用的命令行文字，以及几个小命令的文字。
func zhCLI() map[string]string {
	return map[string]string{
		"cli.error":            "错误",
		"cli.warning":          "警告",
		"cli.root.short":       "在没有外网的机器上安装 Kubernetes",
		"cli.root.long":        "Eggo 根据离线包和 deploy.yaml，通过 SSH 安装 Kubernetes 集群。",
		"cli.flag.lang":        "界面语言：en 或 zh",
		"cli.flag.debug":       "打印调试信息",
		"cli.flag.help":        "显示本帮助",
		"cli.flag.version":     "显示版本",
		"cli.flag.output":      "输出格式：text 或 json",
		"cli.help.arg":         "命令",
		"cli.help.short":       "显示某个命令的帮助",
		"cli.help.usage":       "用法：",
		"cli.help.commands":    "命令：",
		"cli.help.global":      "全局参数：",
		"cli.help.flags":       "参数：",
		"cli.help.examples":    "示例：",
		"cli.help.aliases":     "别名：",
		"cli.help.more":        "“{command} 命令 --help” 显示某个命令的详细说明。",
		"cli.version.short":    "显示版本",
		"cli.completion.short": "打印 shell 的补全脚本",

		"cli.flag.file":        "deploy.yaml 的路径；- 表示读取标准输入",
		"cli.validate.short":   "检查 deploy.yaml 并列出全部问题",
		"cli.validate.long":    "检查 deploy.yaml，一次列出全部问题：在哪一行、错在哪里、应当怎样写。\n文件有效时退出码为 0，否则为 2。不会连接任何机器。",
		"cli.validate.strict":  "把警告当作错误",
		"cli.validate.valid":   "{file} 有效：{warnings} 个警告",
		"cli.validate.invalid": "{file} 无效：{errors} 个错误，{warnings} 个警告",

		"fault.usage":             "无法理解命令行：{cause}",
		"fault.usage.next":        "用 --help 查看所有命令和参数。",
		"fault.usage.lang":        "--lang {lang} 不是本程序支持的语言",
		"fault.usage.lang.next":   "请使用 --lang en 或 --lang zh。",
		"fault.usage.output":      "--output {output} 不是支持的输出格式",
		"fault.usage.output.next": "可选值：{choices}。",
		"fault.usage.shell":       "没有 {shell} 的补全脚本",
		"fault.usage.shell.next":  "请使用 bash、zsh 或 fish。",
		"fault.interrupted":       "已中断",
		"fault.interrupted.next":  "重新执行同一条命令，会从中断处继续。",
	}
}
