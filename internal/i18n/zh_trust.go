package i18n

func zhTrust() map[string]string {
	return map[string]string{
		"fault.bundle.outside":          "{file} 要把 {count} 个文件放到离线包不得放置文件的地方：{places}",
		"fault.bundle.outside.next":     "请勿安装，并向制作者查问。离线包的文件只能放到 {choices} 或其下级目录，且不得取代 Eggo 自己的文件。",
		"bundle.cli.outside":            "它要把 {count} 个文件放到离线包不得放置文件的地方，因而会被拒绝：",
		"bundle.cli.col.place":          "目标路径",
		"bundle.cli.col.why":            "原因",
		"bundle.cli.outside.characters": "含不允许的字符或过长",
		"bundle.cli.outside.not-listed": "不在允许的目录中",
		"bundle.cli.outside.unit":       "单元文件，只能由 deploy.yaml 指定",
		"bundle.cli.outside.ours":       "Eggo 自己的文件",

		"fault.build.outside":         "{member} 要放到 {place}，离线包不得在那里放置文件",
		"fault.build.outside.next":    "请从 docs/bundle-format.md 的列表中选择目录，文件名只用 ASCII 字母、数字和 . _ + @ = -",
		"fault.place.characters":      "{node}：离线包中 {member} 的目标路径 {path} 含有节点路径不允许的字符，或者过长。",
		"fault.place.characters.next": "请在离线包中改名：路径只能含 ASCII 字母、数字和 . _ / + @ = -",
		"fault.place.not-listed":      "{node}：离线包中的 {member} 要放到 {path}，那里不是可放置外来文件的目录。",
		"fault.place.not-listed.next": "请选择 {choices} 之一或其下级目录。",
		"fault.place.unit":            "{node}：离线包中的 {member} 要放到 {path}，那里只能放 deploy.yaml 点名的单元。",
		"fault.place.unit.next":       "请在 deploy.yaml 中以 file 类型、此 dstpath 和 site.service 这样的名字列出它，或者改用其他目录。",
		"fault.place.ours":            "{node}：离线包中的 {member} 要放到 {path}，那是 Eggo 自己写的文件。",
		"fault.place.ours.next":       "请换一个文件名或目录。",
		"fault.node.place-open":       "在 {node} 上，root 以外的用户可以改动 {is}，而 {path} 就在其中。",
		"fault.node.place-open.next":  "请让 {is} 归 root 所有且他人不可写，或在 deploy.yaml 中改用其他目录。",
		"fault.node.place-unit":       "{node} 上已有单元 {is}，{path} 会取代它。",
		"fault.node.place-unit.next":  "请在离线包中给该单元换个名字，或从 deploy.yaml 中去掉它。",
	}
}
