package i18n

// zhKeys has the same in Chinese.
func zhKeys() map[string]string {
	return map[string]string{
		"fault.config.flag-unknown":        "已知的任何 Kubernetes 版本中，{name} 都没有参数 {value}",
		"fault.config.flag-unknown.next":   "请删除它，或对照 {name} --help 检查。",
		"fault.config.flag-misspelt":       "{name} 没有参数 {value}；是不是 {like}？",
		"fault.config.flag-misspelt.next":  "请改为 {like}。",
		"fault.config.flag-removed":        "{name} 已没有参数 {value}：它在 Kubernetes {version} 中被移除，写上它 {name} 将无法启动",
		"fault.config.flag-removed.next":   "请删除它。",
		"fault.config.flag-replaced":       "{name} 已没有参数 {value}：它在 Kubernetes {version} 中被移除，写上它 {name} 将无法启动",
		"fault.config.flag-replaced.next":  "请改用 {instead}。",
		"fault.config.flag-newer":          "{name} 从 Kubernetes {version} 起才有 {value}，比离线包中的版本新",
		"fault.config.flag-newer.next":     "请删除它，或使用该版本的离线包。",
		"fault.config.flag-no-field":       "{name} 读取配置文件，此时 {value} 不起作用",
		"fault.config.flag-no-field.next":  "请删除它。",
		"fault.config.flag-must":           "{value} 必须包含 {instead}，集群依赖于它",
		"fault.config.flag-must.next":      "请写 {instead}；如果 {value} 可以有多个值，其余的写在逗号后面。",
		"fault.config.flag-bool":           "{value} 的值是 true 或 false，而不是 {given}",
		"fault.config.flag-bool.next":      "请写 true 或 false。",
		"fault.config.flag-integer":        "{value} 的值是整数，而不是 {given}",
		"fault.config.flag-integer.next":   "请写不带单位的数字。",
		"fault.config.flag-duration":       "{value} 的值是时长，而不是 {given}",
		"fault.config.flag-duration.next":  "请写带单位的数字，例如 30s、5m 或 1h30m。",
		"fault.config.owned-key":           "{value} 由本程序按 {instead} 设置",
		"fault.config.owned-key.next":      "请在这里删除它，改写 {instead}。",
		"fault.bundle.kubernetes-old":      "{arch} 的离线包中是 Kubernetes {version}，可以安装的最旧版本是 {oldest}",
		"fault.bundle.kubernetes-old.next": "请使用 {oldest} 到 {newest} 的离线包。",
		"fault.bundle.kubernetes-new":      "{arch} 的离线包中是 Kubernetes {version}，比本程序已知的最新版本 {newest} 还新",
		"fault.bundle.kubernetes-new.next": "将按 {newest} 的方式安装；使用本程序的更新版本更稳妥。",
		"fault.preflight.cgroup-v1":        "{node} 使用 cgroup v1，Kubernetes {version} 只有在 kubelet 被特别允许时（failCgroupV1: false）才能在其上运行",
		"fault.preflight.cgroup-v1.next":   "条件允许时请以 systemd.unified_cgroup_hierarchy=1 启动该机器；对 cgroup v1 的支持即将结束。",
	}
}
