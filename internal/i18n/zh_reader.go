package i18n

func zhReader() map[string]string {
	return map[string]string{
		"fault.bundle.part-missing":        "{file}：缺少分卷 {part}",
		"fault.bundle.part-missing.next":   "请把 {part} 复制到其他分卷所在的目录。",
		"fault.bundle.part-first":          "{part} 不是离线包的第一个分卷",
		"fault.bundle.part-first.next":     "请指定 {first}，其余分卷会在同一目录中自动找到。",
		"fault.bundle.part-empty":          "{file}：分卷 {part} 是空文件",
		"fault.bundle.part-empty.next":     "请重新复制 {part}。",
		"fault.bundle.part-size":           "{file}：分卷 {part} 不完整：只有 {got} 字节，其他分卷为 {want} 字节",
		"fault.bundle.part-size.next":      "请重新复制 {part}。",
		"fault.bundle.part-truncated":      "{file}：最后一个分卷 {part} 不完整，或者缺少它之后的分卷",
		"fault.bundle.part-truncated.next": "请与原文件比较 {part} 的大小，并检查之后是否还有分卷。",
		"fault.bundle.part-sum":            "{file}：分卷 {part} 被改动：sha256 为 {got}，应为 {want}",
		"fault.bundle.part-sum.next":       "请重新复制 {part}。若它的摘要与另一个分卷相同，则是两个分卷弄混了。",
		"fault.bundle.part-damaged":        "{file} 在分卷 {part} 或其之前的分卷中损坏：{cause}",
		"fault.bundle.part-damaged.next":   "请把离线包的 .sha256 文件复制到分卷旁边，以确定是哪一个分卷；或者重新复制全部分卷。",
		"fault.bundle.part-extra":          "{file}：分卷 {part} 不属于这个离线包，离线包在它之前已经结束",
		"fault.bundle.part-extra.next":     "请删除 {part}；它可能是同名的旧离线包遗留下来的。",
		"fault.bundle.part-sums":           "{file}：{sums} 不是各分卷的摘要列表：{cause}",
		"fault.bundle.part-sums.next":      "请重新复制 {sums}，或将其删除；没有它仍能发现损坏，但未必能指出是哪一个分卷。",

		"fault.bundle.base-missing":       "{file} 是增量包，只含自离线包 {name}（架构 {arch}，标识 {base}）以来的变化，而这里没有该离线包",
		"fault.bundle.base-missing.next":  "请把该离线包放到同一目录中（可用 eggo-bundle inspect 查看离线包的标识），或改用完整的离线包。",
		"fault.bundle.base-damaged":       "{file}：无法从 {base} 中的基础包正确取得 {member}",
		"fault.bundle.base-damaged.next":  "请删除 {base}，并把它对应的离线包放到本增量包所在的目录。",
		"fault.bundle.no-difference":      "离线包 {name}（架构 {arch}）与其基础包相同，没有任何变化",
		"fault.bundle.no-difference.next": "无需制作增量包，继续使用现有的离线包即可。",
		"fault.bundle.wrong-name":         "{file} 是离线包 {got}，而不是 {want}",

		"fault.bundle.extract-exists":      "{dir} 不是空目录，其内容也与该离线包不完全一致：{cause}",
		"fault.bundle.extract-exists.next": "请指定一个空目录或尚不存在的目录。",
		"fault.bundle.extract-space":       "解开 {file} 的 {member} 时，{dir} 所在磁盘空间不足；未保留任何内容",
		"fault.bundle.extract-space.next":  "请清理磁盘，或改用其他磁盘上的目录。",
	}
}
