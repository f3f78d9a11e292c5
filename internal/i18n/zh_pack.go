package i18n

// zhPack has the faults of writing a bundle.
func zhPack() map[string]string {
	return map[string]string{
		"fault.pack.no-space":       "空间不足，无法写入 {file}：{dir} 约需 {needed}，可用 {free}",
		"fault.pack.no-space.next":  "请清理磁盘，或用 -o 换到另一块盘。已下载的内容保留在缓存中。",
		"fault.pack.disk-full":      "写入 {file} 时磁盘已满",
		"fault.pack.disk-full.next": "请清理 {dir} 所在的磁盘，或用 -o 换到另一块盘，然后重新执行同一命令：已下载的内容会保留。",
		"fault.pack.too-large":      "{file} 所在的文件系统不支持这么大的文件",
		"fault.pack.too-large.next": "FAT 的单个文件上限为 4 GiB：请用 --split 4G 分卷，或换用其他文件系统。也可能是本进程的文件大小限制（ulimit -f）所致。",
		"fault.pack.parts":          "{file} 的分卷数将超过 {limit}",
		"fault.pack.parts.next":     "请增大 --split 的值。",
		"fault.pack.busy":           "另一个构建正在写入 {file}",
		"fault.pack.busy.next":      "请等待其完成，或用 -o 写到其他目录。",
		"fault.pack.write":          "无法写入 {file}：{cause}",
		"fault.pack.short":          "{blob} 的内容不完整：只有 {got} 字节，应为 {want} 字节",
		"fault.pack.short.next":     "请重新执行同一命令：已下载的内容会保留。",
		"fault.pack.oversize":       "{blob} 的内容超出了应有的 {want} 字节",
		"fault.pack.oversize.next":  "请重新执行同一命令；若仍如此，说明来源给出的大小有误。",
	}
}
