package i18n

func zhState() map[string]string {
	return map[string]string{
		"fault.bundle.no-space":           "{dir} 空间不足，无法解开 {file}：需要 {need}，可用 {free}，其中 {reserve} 留给事件日志。",
		"fault.bundle.no-space.next":      "请在该磁盘上清理空间，或用 --state-dir 选择其他磁盘上的状态目录。该目录中没有留下此离线包的任何内容。",
		"fault.bundle.ratio":              "{file} 大小为 {size}，却声明解开后为 {unpacked}，超过 {ratio} 倍：正常的离线包不会如此。",
		"fault.bundle.ratio.next":         "请勿使用。请向提供者确认其制作方式，或重新制作。",
		"fault.bundle.stage-damaged":      "{dir} 中已解开的离线包已损坏，且另一个任务正在使用它。",
		"fault.bundle.stage-damaged.next": "请等待该任务结束，然后重新运行命令：离线包会重新解开。",
		"notice.stages-pruned":            "已删除 {count} 个没有集群使用的已解开离线包：{size}",
		"notice.stages-kept":              "没有集群使用的已解开离线包无法删除：{cause}",

		"fault.preflight.descriptors":     "本机最多同时打开 {limit} 个文件，而连接 {nodes} 个节点需要 {need} 个。",
		"fault.state.newer-format":        "{path} 的格式为 {format}，而此版本的 Eggo 最高支持 {ours}。",
		"fault.state.newer-format.next":   "更新版本的 Eggo 操作过该集群。请使用那个版本或更新的版本。",
		"fault.journal.newer-format":      "事件日志 {path} 的格式为 {format}，而此版本的 Eggo 最高支持 {ours}。",
		"fault.journal.newer-format.next": "该日志由更新版本的 Eggo 写入。请使用那个版本或更新的版本操作该集群。",
		"fault.event.newer-format":        "事件日志的格式为 {format}，而此版本的 Eggo 最高支持 {ours}。",
		"fault.event.newer-format.next":   "该日志由更新版本的 Eggo 写入。请用那个版本读取。",
		"fault.node.record-format":        "{node} 上的记录 /var/lib/eggo-node/record 格式为 {format}，而此版本的 Eggo 最高支持 {ours}。",
		"fault.node.record-format.next":   "更新版本的 Eggo 操作过 {node}。请使用那个版本或更新的版本操作该集群。",
		"fault.node.record-unknown":       "{node} 上的记录 /var/lib/eggo-node/record 中有此版本的 Eggo 无法还原的条目：{kinds}。",
		"fault.node.record-unknown.next":  "更新版本的 Eggo 操作过 {node}。请用那个版本清理；在此之前不会删除任何内容。",

		"fault.preflight.descriptors.next": "请先提高上限再运行：ulimit -n {need}，或在启动它的单元中设置 LimitNOFILE={need}。",
	}
}
