package i18n

func zhState() map[string]string {
	return map[string]string{
		"fault.preflight.descriptors":      "本机最多同时打开 {limit} 个文件，而连接 {nodes} 个节点需要 {need} 个。",
		"fault.preflight.descriptors.next": "请先提高上限再运行：ulimit -n {need}，或在启动它的单元中设置 LimitNOFILE={need}。",
	}
}
