package i18n

// zhBuild is the builder of bundles: spec, lock, resolving, writing.
func zhBuild() map[string]string {
	return map[string]string{
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

		"build.warn.guess":                 "{addon}：{image} 看起来像镜像，但没有打包；如果确实是镜像，请写入该插件或清单的 images",
		"build.warn.latest":                "{image}：latest 标签所指的镜像每天都可能不同；bundle.lock 锁定的是今天的版本",
		"build.warn.unused":                "{image}：没有插件用到它；如果仍需要，请在清单中说明原因（why: …）",
		"build.warn.lock-replaced":         "{file} 无法使用，已重新生成；它为其他架构锁定的内容已丢失",
		"fault.lock.other":                 "{file} 锁定的是离线包 {name}，而不是 {want}",
		"fault.lock.other.next":            "请为这个离线包指定单独的目录（-o），或用 --lock FILE 把锁文件放到别处。",
		"build.warn.unsigned-repomd":       "{repository} 没有对元数据签名；以软件包自身的签名为准",
		"fault.build.base":                 "无法打开作为差异基础的 {file}：{cause}",
		"fault.build.base.next":            "请检查 --base；多个架构时，在文件名中不同的位置写 {hole}。",
		"fault.build.locked":               "{file} 没有按清单的要求为 {arch} 锁定 {what}，而 --locked 不允许去查找",
		"fault.build.locked.next":          "请在有网络的地方运行 eggo-bundle update，查看变化后保存新的 bundle.lock。",
		"fault.build.file":                 "无法读取 {file}：{cause}",
		"fault.build.file.next":            "该文件由清单指定；清单中的路径相对于清单所在目录。",
		"fault.build.gone":                 "{what}：从归档中取出的内容已不在缓存里",
		"fault.build.gone.next":            "请重新运行同一命令，会再次读取归档。",
		"fault.build.changed":              "制作离线包期间 {file} 发生了变化",
		"fault.build.changed.next":         "请待文件不再变化后重新运行同一命令。",
		"fault.build.chart-http":           "{what}：仓库通过明文 http 提供 chart（{url}），且没有给出校验和",
		"fault.build.chart-http.next":      "请在 url 中填写 https 地址，或为该插件添加 sha256。",
		"fault.build.source-password":      "{file} 的地址中含有密码",
		"fault.build.source-password.next": "请把密码移到 ~/.netrc：bundle.lock 会记录该地址，任何人都能从中读到密码。",
		"fault.build.no-sha256":            "{repository} 没有给出 {package} 的 sha256",
		"fault.build.no-sha256.next":       "其元数据只有 sha512。请换一个镜像站，或先下载软件包再指定其目录（dir: …）。",
		"fault.build.image-missing":        "插件 {addon} 用到镜像 {image}，但 {arch} 的离线包中没有",
		"fault.build.image-missing.next":   "请把它加入 images，或用 discover: [addons] 自动查找。",
		"fault.build.image-alias":          "插件 {addon} 指定了 {image}，但 {arch} 的离线包中没有摘要与此相同的镜像",
		"fault.build.image-alias.next":     "请在 images 中列出带相同摘要的镜像，或用 discover: [addons] 自动查找：指定了摘要的 Pod 不会使用标签。",
		"fault.build.package-arch":         "{package} 面向 {got}，而不是 {arch}",
		"fault.build.package-arch.next":    "锁文件被改动过，或属于另一个清单。请用 eggo-bundle update 重新生成。",
	}
}
