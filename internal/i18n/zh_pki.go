package i18n

// zhPKI 是状态目录中证书的错误。
func zhPKI() map[string]string {
	return map[string]string{
		"fault.pki.mismatch":      "{file} 与同目录下的私钥不匹配。",
		"fault.pki.mismatch.next": "请从同一份备份恢复这两个文件。集群可能正在运行，Eggo 不会为它重新生成 CA。",
		"fault.pki.damaged":       "{file} 的内容与文件名不符：{cause}",
		"fault.pki.damaged.next":  "请从备份恢复。若损坏的是节点或组件的证书，可将它与私钥一并删除，两者会重新生成。",
		"fault.pki.lost":          "{file} 不见了，而由它生成的文件还在。",
		"fault.pki.lost.next":     "请从备份恢复；运行中的集群无法换用另一份。如果集群已不再运行，请先执行 cleanup。",
		"fault.pki.expired":       "CA 证书 {file} 已于 {until} 到期。",
		"fault.pki.expired.next":  "请检查本机时钟。如果时钟无误，集群需要新的 CA：请清理后重新部署。",
		"fault.pki.clock":         "CA 证书 {file} 自 {from} 起有效，而本机时钟为 {now}。",
		"fault.pki.clock.next":    "请校正本机时钟。",
		"fault.pki.read":          "无法读取 {file}：{cause}",
		"fault.pki.read.next":     "请检查权限；状态目录属于执行部署的用户。",
		"fault.pki.write":         "无法写入 {file}：{cause}",
		"fault.pki.write.next":    "请检查状态目录所在磁盘的空间和权限。",
		"fault.pki.make":          "无法生成 {file}：{cause}",
		"fault.pki.make.next":     "请检查 deploy.yaml 中的名称和地址。",
	}
}
