package i18n

func enWizard() map[string]string {
	return map[string]string{
		"fault.config.no-role":      "{name} has no role",
		"fault.config.no-role.next": "Give it one: control plane, worker, etcd or load balancer.",
	}
}
