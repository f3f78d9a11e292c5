package i18n

// zhBuild is the builder of bundles: spec, lock, resolving, writing.
func zhBuild() map[string]string {
	return map[string]string{
		"bundle.cli.flag.os": "默认集群所面向的节点操作系统：{systems}（不指定则为 debian-12）",

		"fault.usage.os":               "没有适用于 --os {os} 的默认清单",
		"fault.usage.os.next":          "请使用 {systems} 之一，或自行编写清单：eggo-bundle spec > my.yaml，然后 build -f my.yaml。",
		"fault.usage.os-and-file":      "--os 与 -f 不能同时使用",
		"fault.usage.os-and-file.next": "-f 指定的清单在 os 键中写明了它面向的操作系统。",

		"fault.spec.one-of":       "{key} 必须且只能使用以下键之一：{keys}",
		"fault.spec.chart":        "{key}：name 和 version 只能与 repository 一起使用，且缺一不可",
		"fault.spec.include":      "{key}：无法包含 {file}：{cause}",
		"fault.spec.include.next": "路径相对于写出它的那个文件。",

		"fault.lock.read":       "无法使用 {file}：{cause}",
		"fault.lock.read.next":  "请从备份中恢复该文件，或用 eggo-bundle update 重新生成。",
		"fault.lock.write":      "无法写入 {file}：{cause}",
		"fault.lock.write.next": "请检查目录的权限和剩余空间。",
	}
}
