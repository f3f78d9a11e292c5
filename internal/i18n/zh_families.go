package i18n

// zhFamilies holds the sentences of bundles for several operating systems and of the rpm family.
func zhFamilies() map[string]string {
	return map[string]string{
		"step.preflight.bundle-file":       "校验并解开离线包 {file}",
		"fault.preflight.no-bundle":        "{node} 的架构是 {arch}，没有一个离线包适用于它。",
		"fault.preflight.no-bundle.next":   "请在 package-src 或 eggo.bundles 中加入 {arch} 的离线包。",
		"fault.preflight.no-packager":      "{node} 运行的是 {is}，但没有它的任何一种包管理器：{programs}。",
		"fault.preflight.no-packager.next": "请在 {node} 上安装其中一种。",
		"fault.bundle.versions":            "离线包 {bundle} 中的 Kubernetes 是 {version}，{other} 中的是 {other_version}。",
		"fault.bundle.versions.next":       "请用同一版本的清单制作两者。",
		"fault.packages.locked":            "{node}：{what} 独占 rpm 数据库已达八分钟。",
		"fault.packages.locked.next":       "请等它结束或结束它，然后再次运行同一命令。",
	}
}
