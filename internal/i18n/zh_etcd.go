package i18n

// zhEtcd 是 etcd snapshot 与 etcd restore 的文案。
func zhEtcd() map[string]string {
	return map[string]string{
		"cli.etcd.short":          "保存 etcd 数据，或恢复已保存的数据",
		"cli.etcd.snapshot.short": "在本机保存 etcd 快照",
		"cli.etcd.snapshot.long":  "将 etcd 数据保存为本机上的文件：放在集群目录中，或 --out 指定的位置。文件要么完整、\n校验和正确且可读，要么不存在。节点上不做任何改动。",
		"cli.etcd.restore.short":  "用快照重建 etcd 集群",
		"cli.etcd.restore.long":   "用快照重建整个 etcd 集群。此后在 Kubernetes 中的改动会丢失；现有数据会先保存。\n替换数据期间 API server 停止服务，工作负载继续运行。旧数据保留在节点上。\n无论在何处中断，再次执行同一命令即可继续。",
		"cli.etcd.arg.file":       "文件",
		"cli.flag.snapshot-out":   "要写入的文件（默认：集群目录中的新文件）",

		"phase.snapshot": "快照",
		"phase.restore":  "恢复",

		"step.snapshot.save":       "在本机保存 etcd 快照",
		"step.restore.begin":       "在本机登记此次恢复",
		"step.restore.before":      "保存现有数据",
		"step.restore.send":        "上传快照",
		"step.restore.make":        "生成成员的新数据",
		"step.restore.stop":        "停止控制平面服务",
		"step.restore.exchange":    "停止 etcd 并替换数据",
		"step.restore.etcd":        "启动 etcd",
		"step.restore.health":      "检查恢复后的 etcd 集群",
		"step.restore.apiserver":   "启动 kube-apiserver",
		"step.restore.ready":       "等待 API server 就绪",
		"step.restore.controllers": "启动 kube-controller-manager 与 kube-scheduler",
		"step.restore.kubelet":     "快照中是否有该节点",
		"step.check.heard":         "kubelet 恢复上报",
		"step.check.restored":      "结束恢复",

		"change.restore-make":     "在 {path} 生成 etcd 的新数据",
		"change.restore-stop":     "停止 kube-scheduler、kube-controller-manager 与 kube-apiserver",
		"change.restore-exchange": "停止 etcd，将原数据保留为 {path}，换上新数据",

		"why.restore-exchanged": "数据已替换",
		"why.restore-made":      "新数据已生成",
		"why.restore-gone":      "无法访问",

		"notice.snapshot-saved": "快照 {path}：{size} 字节，revision {revision}，sha256 {sha256}",
		"notice.restore-old":    "原数据保留在 {path}；不再需要时可自行删除",
		"next.restored":         "重新应用比快照更新的插件与设置：eggo-tui deploy -f {file}",
		"ask.restore":           "快照 {path}：revision {revision}，{size} 字节，成员 {members}",

		"fault.snapshot.unreadable":      "无法读取快照 {path}：{cause}",
		"fault.snapshot.unreadable.next": "请指定由 etcd snapshot 或 etcdctl 生成的文件；集群的快照在其目录的 snapshots/ 中。",
		"fault.snapshot.truncated":       "{path} 不是完整的快照：长度与“数据库加校验和”不符。",
		"fault.snapshot.truncated.next":  "文件可能被截断，或是成员的原始数据库。请换一份拷贝或另一个快照。",
		"fault.snapshot.damaged":         "快照 {path} 已损坏：内容与末尾的校验和不符。",
		"fault.snapshot.damaged.next":    "请换一份拷贝或另一个快照。",
		"fault.snapshot.no-state":        "本机 {dir} 中没有该集群的证书：{cause}",
		"fault.snapshot.no-state.next":   "请在部署该集群的机器上执行，或用 --state-dir 指定状态目录。",
		"fault.snapshot.none":            "没有 etcd 成员给出快照：{cause}",
		"fault.snapshot.none.next":       "请在节点上查看 etcd：systemctl status etcd",
		"fault.snapshot.member":          "{node} 未给出快照：{cause}",
		"fault.snapshot.member.next":     "请在该节点查看 etcd：systemctl status etcd",

		"fault.preflight.restore-without":           "{node} 无法访问；恢复将跳过它继续。",
		"fault.preflight.restore-half":              "etcd 的恢复只完成了一半：{members} 个成员中有 {done} 个使用恢复后的数据。",
		"fault.preflight.restore-half.next":         "请先用同一快照完成恢复：eggo-tui etcd restore FILE --id {cluster}。",
		"fault.preflight.restore-without.next":      "如果快照中没有该节点，待其恢复后请重启 kubelet，或执行 deploy。",
		"fault.preflight.restore-not-deployed":      "{node} 不是集群 {cluster} 的节点。",
		"fault.preflight.restore-not-deployed.next": "请先部署集群；恢复只能把数据放回已有的集群。",
		"fault.preflight.restore-no-etcdutl":        "{node} 缺少程序 etcdutl。",
		"fault.preflight.restore-no-etcdutl.next":   "请用此版本的 eggo-bundle 制作离线包并执行 deploy；只会补上该程序，不会停止任何服务。",
		"fault.preflight.restore-space":             "{node}：/var/lib/etcd 剩余 {free} MiB，恢复需要 {need} MiB。",
		"fault.preflight.restore-space.next":        "请腾出空间；以往恢复保留的数据在 /var/lib/etcd/default.etcd.before-*。",
		"fault.preflight.snapshot-foreign":          "快照 {path} 属于 {cluster} 以外的集群：其中的 CA 不是本集群的。",
		"fault.preflight.snapshot-foreign.next":     "请指定本集群的快照。",
		"fault.restore.not-restored":                "{node}：etcd 中不是恢复的数据，其 revision 为 {revision}。",
		"fault.restore.not-restored.next":           "请在该节点查看 etcd 日志，然后再次执行同一命令。",
	}
}
