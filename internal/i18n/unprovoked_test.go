package i18n

// unprovoked are the codes that no test provokes yet. A new code needs a test; this list only gets shorter.
func unprovoked() map[string]bool {
	out := map[string]bool{}
	for _, code := range []string{
		"addon.read", "addon.render-empty", "addon.render-limit", "addon.unreadable", "balancer.no-nginx",
		"balancer.no-stream", "balancer.silent", "bootstrap.no-serving-certificate", "bootstrap.no-token",
		"bootstrap.serving-refused",

		"bundle.no-source", "check.version", "check.workload", "config.home",
		"config.no-role", "config.shared-address", "config.text", "config.unreadable", "control.serve",
		"etcd.member-unwell", "etcd.not-listed", "hook.not-in-bundle",
		"hook.unknown", "keygen.different", "keygen.empty", "kube.api",
		"kube.client", "lock.cluster-failed", "node.rehearsal",
		"packages.not-in-bundle", "packages.would-upgrade", "pki.unreadable", "pki.write", "preflight.cpus",
		"preflight.endpoint-told", "preflight.endpoint-unknown", "preflight.leave-alive", "preflight.leave-no-api",
		"preflight.leave-no-quorum", "preflight.memory", "preflight.restore-not-deployed", "preflight.restore-space",
		"preflight.restore-without", "preflight.runtime-change", "preflight.selinux-balancer",
		"runtime.no-unit", "sign.key-type", "snapshot.no-state",
		"state.read", "state.write",
		"status.no-pki", "status.unwell", "usage.deploy-yaml-moved",
		"usage.secret",
	} {
		out[code] = true
	}
	return out
}
