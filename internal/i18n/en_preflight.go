package i18n

// enPreflight are the sentences about nodes that are ours already, or look as if, and about networks that hinder.
func enPreflight() map[string]string {
	return map[string]string{
		"notice.flannel-iface": "{addon} leaves the interface to chance; flannel is told to use each node's own address",
		"notice.no-nameserver": "not every node's resolv.conf names a nameserver: CoreDNS answers for the cluster alone and asks nobody for other names",

		"fault.preflight.state-elsewhere":      "{node} belongs to the cluster {cluster}, but this state directory does not hold that cluster's authority ({dir}).",
		"fault.preflight.state-elsewhere.next": "Copy pki from the state directory on the jump host that installed it to {dir}/pki, or clean the node up from there.",
		"fault.preflight.renamed":              "{node} was installed under the name {was}.",
		"fault.preflight.renamed.next":         "Give it the name {was} in deploy.yaml, or clean it up under that name first.",
		"fault.preflight.version":              "{node} runs Kubernetes {is}, and the bundle has {bundle}; upgrades are not supported yet.",
		"fault.preflight.version.next":         "Use the bundle that it was installed from.",
		"fault.preflight.foreign-files":        "{node} has files that Eggo did not make where its own would go: {files}.",
		"fault.preflight.foreign-files.next":   "Move them away if they are not needed; Eggo does not overwrite files of others.",
		"fault.preflight.foreign-runtime":      "{node} already runs a container runtime that Eggo did not set up: {runtime}.",
		"fault.preflight.foreign-runtime.next": "Remove it if nothing needs it, or use a machine without it.",
		"fault.preflight.no-route":             "{node} has no route for {service}: neither flannel nor the way to Services works without one.",
		"fault.preflight.no-route.next":        "Add a default route on {node} (ip route add default via ADDRESS, and in its network configuration); the gateway need not answer.",
	}
}
