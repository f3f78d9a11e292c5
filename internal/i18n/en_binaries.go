package i18n

// enBinaries are the sentences about the versions of binaries and about rolling restarts.
func enBinaries() map[string]string {
	return map[string]string{
		"step.check.old-binaries": "Remove replaced versions of binaries",

		"change.link":          "link {path} to {to}",
		"change.switch":        "switch {path} from {was} to {to}",
		"change.balancer-down": "take the API server of {server} out of the load balancer",
		"change.balancer-up":   "put the API server of {server} back into the load balancer",

		"drift.balancer-down":  "the load balancer on {node} sends no one to the API server of {server}; unless a run is restarting it now, run deploy to put it back",
		"drift.binary-several": "{node} has several versions of {binary}: {versions}; {linked} is started",
		"drift.binary-runs":    "{node} runs {runs}, and would start {linked}: {binary} was not restarted",
		"drift.binary-unlike":  "the nodes have different versions of {binary}: {versions}",

		"notice.away": "{component} on {node} was away for {seconds} s",

		"notice.away-voting": "{component} on {node} was away for {seconds} s; before, it took {stopping} s to stop and still voted",

		"fault.node.unsafe-versions":      "{node}: {what} is a link, or somebody other than root owns it or may write to it. Eggo keeps the versions of binaries there.",
		"fault.node.unsafe-versions.next": "Make it a directory that only root may write to (chown root:root, chmod 755), or move it away if it is not needed.",
		"fault.balancer.server-down":      "The load balancer on {node} still sends no one to the API server of {server}: {cause}",
		"fault.balancer.server-down.next": "When {node} can be reached, run deploy again: it puts the server back.",
		"fault.node.version-linked":       "{node}: {what} leads to a version of its binary that was replaced in this run. The version is kept.",
		"fault.node.version-linked.next":  "Run deploy again: it switches the link and removes the version.",
		"fault.node.no-binary":            "{node}: the binary {what} is gone, or cannot be executed.",
		"fault.node.no-binary.next":       "Run deploy again: it places the binary again.",
	}
}
