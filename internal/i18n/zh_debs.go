package i18n

// zhDebs is enDebs in Chinese.
func zhDebs() map[string]string {
	return map[string]string{
		"fault.deb.root":              "{package} 不是有效的软件包名（可带版本）",
		"fault.deb.root.next":         "请写成 name、name=version 或 name (>= version)，每个软件包只写一次。",
		"fault.deb.unresolvable":      "{arch} 的软件包有 {count} 个问题：{problems}",
		"fault.deb.unresolvable.next": "请加入包含缺失软件包（→）的软件源或发行套件；对于互相冲突的软件包（⨯），请去掉其中之一。",
		"fault.deb.baseline":          "目标系统已安装软件包的列表无法使用：{cause}",
		"fault.deb.baseline.next": "请在目标系统上用 dpkg-query -W -f '${Package}\\t${Version}\\t${Architecture}\\t${Status}\\n' 生成，" +
			"或直接使用它的 /var/lib/dpkg/status。",
		"fault.deb.meta":              "记录的软件包元数据无法使用：{cause}",
		"fault.deb.meta.next":         "请重新解析软件包；锁文件可能被手工修改过。",
		"fault.deb.sources":           "{file} 第 {line} 行不是有效的 apt 软件源：{cause}",
		"fault.deb.file":              "{file} 不是 Debian 软件包：{cause}",
		"fault.deb.wrong-arch":        "{file} 的架构是 {got}，而不是 {arch}",
		"fault.deb.wrong-arch.next":   "请换用 {arch} 的文件，或不要把它放进这个离线包。",
		"fault.deb.mismatch":          "{file} 自称是 {got}，而元数据中写的是 {package}",
		"fault.deb.mismatch.next":     "该软件源自相矛盾。请换用其他镜像站，并告知其维护者。",
		"fault.deb.unsigned":          "{suite} 的软件源没有签名",
		"fault.deb.unsigned.next":     "请使用有签名的软件源；若由您自行担保，请将其标记为可信。",
		"fault.deb.release-weak":      "{suite} 的 Release 文件没有 SHA256 校验和，只有可被伪造的弱校验和",
		"fault.deb.release-weak.next": "请换用其他镜像站，或请软件源的维护者提供 SHA256 校验和。",
	}
}
