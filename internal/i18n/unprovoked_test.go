package i18n

// unprovoked are the codes that no test provokes yet. A new code needs a test; this list only gets shorter.
func unprovoked() map[string]bool {
	out := map[string]bool{}
	for _, code := range []string{
		"addon.read", "addon.render-empty", "addon.render-limit", "addon.unreadable", "balancer.no-nginx",
		"balancer.no-stream", "balancer.silent", "bootstrap.no-serving-certificate", "bootstrap.no-token",
		"bootstrap.serving-refused", "build.archive", "build.changed", "build.chart-http", "build.elf",
		"build.elf-arch", "build.gone", "build.image-alias", "build.keyring", "build.lock", "build.no-member",
		"build.no-sha256", "build.no-space", "build.registry", "build.source-password", "bundle.changed",
		"bundle.no-source", "bundle.read", "check.version", "check.workload", "config.home",
		"config.no-role", "config.shared-address", "config.text", "config.unreadable", "control.serve",
		"deb.release-future", "edit.editor", "etcd.member-unwell", "etcd.not-listed", "hook.not-in-bundle",
		"hook.unknown", "image.source-layer", "image.source-twice", "keygen.different", "keygen.empty", "kube.api",
		"kube.client", "launch.process", "lock.cluster-failed", "log.no-pager", "log.save", "node.rehearsal",
		"packages.not-in-bundle", "packages.would-upgrade", "pki.unreadable", "pki.write", "preflight.cpus",
		"preflight.endpoint-told", "preflight.endpoint-unknown", "preflight.leave-alive", "preflight.leave-no-api",
		"preflight.leave-no-quorum", "preflight.memory", "preflight.restore-not-deployed", "preflight.restore-space",
		"preflight.restore-without", "preflight.runtime-change", "preflight.selinux-balancer", "push.no-images",
		"resume.no-file", "rpm.directory", "rpm.filelists", "rpm.keyring", "rpm.repomd-signature", "rpm.too-large",
		"runtime.no-unit", "shell.no-ssh", "sign.key-type", "snapshot.no-state", "spec.too-large",
		"ssh.algorithms", "ssh.hostkey", "ssh.hostkey-revoked", "ssh.node-resources", "ssh.node-tools",
		"ssh.unknown-host", "ssh.unreachable", "ssh.upload-busy", "ssh.upload-changed", "state.read", "state.write",
		"status.no-pki", "status.unwell", "trust.store", "usage.deploy-yaml-moved",
		"usage.secret", "verify.base", "verify.kubernetes", "verify.os",
	} {
		out[code] = true
	}
	return out
}
