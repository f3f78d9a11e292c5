package i18n

func zhRuntime() map[string]string {
	return map[string]string{
		"step.infrastructure.runtime-files": "运行时软件包要用到的配置",
		"change.runtime-files":              "记录包管理器可能在运行时配置旁留下的文件",
		"change.cni-links":                  "将其他目录中的 CNI 插件链接到 {dir}",
		"notice.cni-bin-dir":                "{addon} 将其 CNI 插件安装到 cni-bin-dir 指定的 {dir}",

		"fault.config.mirror":                 "{value} 不是镜像加速地址",
		"fault.config.mirror.next":            "请写 https://mirror.example.com（docker.io 的加速地址），或 ghcr.io=https://mirror.example.com。",
		"fault.config.mirror-registry":        "{runtime} 不能使用 {value}：它只支持 docker.io 的加速地址",
		"fault.config.mirror-registry.next":   "请去掉它，或改用 containerd。",
		"fault.config.mirror-path":            "{runtime} 的加速地址不能带路径：{value}",
		"fault.config.mirror-path.next":       "请只写主机和端口，或改用 containerd。",
		"fault.config.insecure-network":       "{runtime} 只按名称识别镜像仓库，不支持网段：{value}",
		"fault.config.insecure-network.next":  "请按主机和端口逐个列出；只有 docker 支持网段。",
		"fault.preflight.runtime-change":      "{node} 的容器由 {is} 运行，而 deploy.yaml 写的是 {want}。",
		"fault.preflight.runtime-change.next": "请写 runtime: {is}，或先将该节点移出集群再重新加入。",
		"fault.preflight.docker-json":         "{node} 上有 /etc/docker/daemon.json，docker 将不会读取它。",
		"fault.preflight.docker-json.next":    "请把其中需要的设置写到 config-extra-args 的 container-engine 下。",
		"fault.bundle.no-runtime":             "{arch} 的离线包缺少 runtime: {runtime} 所需的内容：{what}。",
		"fault.bundle.no-runtime.next":        "请把它加到离线包清单并重新制作，或在 deploy.yaml 中改用其他运行时。",
		"fault.runtime.version-unknown":       "{node}：无法从 {program} --version 的输出得知版本：{says}",
		"fault.runtime.version-unknown.next":  "请检查 {node} 上的 {program}：它可能已损坏，或是同名的其他程序。",
		"fault.runtime.no-unit":               "{node}：运行时软件包中没有能启动程序的 {unit}。",
		"fault.runtime.no-unit.next":          "请使用发行版自带的运行时软件包。",
	}
}
