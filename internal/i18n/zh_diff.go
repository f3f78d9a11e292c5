package i18n

func zhDiff() map[string]string {
	return map[string]string{
		"diff.word.added":      "新增",
		"diff.word.removed":    "移除",
		"diff.word.upgraded":   "升级",
		"diff.word.downgraded": "降级",
		"diff.word.changed":    "变更",

		"diff.kind.deb":      "deb 软件包",
		"diff.kind.rpm":      "rpm 软件包",
		"diff.kind.metadata": "元数据",
		"diff.kind.binary":   "程序",
		"diff.kind.addon":    "插件",
		"diff.kind.file":     "文件",
		"diff.kind.dir":      "目录中的文件",
		"diff.kind.image":    "镜像",
		"diff.kind.install":  "指定的软件包",

		"diff.field.version":     "版本",
		"diff.field.content":     "内容",
		"diff.field.arch":        "架构",
		"diff.field.name":        "名称",
		"diff.field.kubernetes":  "Kubernetes",
		"diff.field.os.family":   "系统家族",
		"diff.field.os.id":       "操作系统",
		"diff.field.os.release":  "系统版本",
		"diff.field.os.codename": "系统代号",
		"diff.field.roles":       "角色",
		"diff.field.file":        "文件",
		"diff.field.target":      "节点上的位置",
		"diff.field.layout":      "布局",
		"diff.field.base":        "差异包的基准",
		"diff.field.mode":        "权限",
	}
}
