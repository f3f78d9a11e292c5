package i18n

// enNodes holds the sentences of nodes that come and go: join, delete, cleanup, and the cluster's own deploy.yaml.
func enNodes() map[string]string {
	return map[string]string{
		"cli.flag.id":                         "the cluster by its name: its own deploy.yaml in the state directory is taken",
		"fault.usage.no-cluster":              "There is no cluster {cluster} in {dir} (there: {known}).",
		"fault.usage.no-cluster.next":         "Give its deploy.yaml with -f, or another --state-dir.",
		"fault.usage.deploy-yaml-moved":       "Another run has just changed {file}.",
		"fault.usage.deploy-yaml-moved.next":  "Run the same command again.",
		"fault.config.edit":                   "{file} cannot be edited: {cause}",
		"fault.config.edit.next":              "Write the lists of machines as deploy.yaml of the manual has them, then run the same command again.",
		"fault.config.add-balancer":           "A load balancer cannot be added to {file} by join.",
		"fault.config.add-balancer.next":      "Set loadbalance in deploy.yaml and run deploy.",
		"fault.preflight.node-lost":           "The cluster has {node} ({ip}), which deploy.yaml no longer names.",
		"fault.preflight.node-lost.next":      "To take it out of the cluster: eggo-tui delete {node} --id {cluster}. To keep it, put it back into deploy.yaml.",
		"fault.preflight.role-lost":           "{node} is {roles} in the cluster, but deploy.yaml no longer says so.",
		"fault.preflight.role-lost.next":      "Delete it (eggo-tui delete {node} --id {cluster}) and join it again with the roles that it is to have.",
		"fault.preflight.node-forgotten":      "The cluster has {node} ({ip}), which this deploy.yaml does not name.",
		"fault.preflight.node-forgotten.next": "Clean up by the cluster's own deploy.yaml: eggo-tui cleanup --id {cluster}.",
	}
}
