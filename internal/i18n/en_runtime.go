package i18n

func enRuntime() map[string]string {
	return map[string]string{
		"step.infrastructure.runtime-files": "Configuration that the runtime's package finds",
		"change.runtime-files":              "note what the package manager may leave beside the runtime's configuration",
		"change.cni-links":                  "link the CNI plugins of the other directories into {dir}",
		"notice.cni-bin-dir":                "{addon} installs its CNI plugin into {dir}, which cni-bin-dir names",

		"fault.config.mirror":                 "{value} is not a mirror",
		"fault.config.mirror.next":            "Write an address such as https://mirror.example.com, a mirror of docker.io, or ghcr.io=https://mirror.example.com.",
		"fault.config.mirror-registry":        "{runtime} cannot use {value}: its mirrors are of docker.io alone",
		"fault.config.mirror-registry.next":   "Take it out, or use containerd.",
		"fault.config.mirror-path":            "{runtime} takes no mirror with a path: {value}",
		"fault.config.mirror-path.next":       "Write its host and port only, or use containerd.",
		"fault.config.insecure-network":       "{runtime} knows registries by their names, not by networks: {value}",
		"fault.config.insecure-network.next":  "List the registries by host and port; docker alone takes networks.",
		"fault.preflight.runtime-change":      "{node} runs its containers with {is}; deploy.yaml says {want}.",
		"fault.preflight.runtime-change.next": "Write runtime: {is}, or remove the node from the cluster and add it again.",
		"fault.preflight.docker-json":         "{node} has a /etc/docker/daemon.json, which docker will not read.",
		"fault.preflight.docker-json.next":    "Write what is needed of it under container-engine in config-extra-args.",
		"fault.bundle.no-runtime":             "The bundle for {arch} has nothing of what runtime: {runtime} needs: {what}.",
		"fault.bundle.no-runtime.next":        "Add it to the bundle's spec and build again, or set another runtime in deploy.yaml.",
		"fault.runtime.version-unknown":       "{node}: {program} --version says nothing that tells its version: {says}",
		"fault.runtime.version-unknown.next":  "Check {program} on {node}: it may be damaged, or another program of the same name.",
		"fault.runtime.no-unit":               "{node}: the package of the runtime has no {unit} that starts a program.",
		"fault.runtime.no-unit.next":          "Use the distribution's own package of the runtime.",
	}
}
