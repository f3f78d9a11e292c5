package i18n

func zhWizard() map[string]string {
	return map[string]string{
		"fault.config.no-role":      "{name} 没有角色",
		"fault.config.no-role.next": "请给它一个角色：控制面、工作节点、etcd 或负载均衡。",
	}
}
