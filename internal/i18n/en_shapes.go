package i18n

// enShapes holds the sentences of clusters with several control planes, members of etcd and a load balancer.
func enShapes() map[string]string {
	return map[string]string{
		"step.etcd.membership": "Who is a member of etcd",

		"change.etcd-add": "add {member} to etcd's members",

		"notice.etcd-stranger": "etcd has the member {member} ({url}), which deploy.yaml does not have; eggo-tui delete removes it",

		"fault.rolling.stopped":            "{what} was not restarted on {node}: it did not come up again on {other}.",
		"fault.rolling.stopped.next":       "Mend {what} on {other} first; the others go on as they were. Then run deploy again.",
		"fault.kube.no-control-plane":      "No control plane can be reached.",
		"fault.kube.no-control-plane.next": "Start one of the control planes, and see whether SSH reaches it.",
		"fault.etcd.data-lost":             "No machine has etcd's data, though {joined} has joined the cluster: they are lost.",
		"fault.etcd.data-lost.next":        "Restore a snapshot (STATE/snapshots holds those that were made), or clean the cluster up and deploy it anew.",
		"fault.etcd.no-quorum":             "etcd has no quorum: {cause}",
		"fault.etcd.no-quorum.next":        "Start the members that are down (journalctl -u etcd on each of them); more than half of them must answer.",
		"fault.etcd.member-unwell":         "etcd's member {member} does not answer: {cause}",
		"fault.etcd.member-unwell.next":    "Mend it, or take it out by eggo-tui delete, before another member is added: each dead member weakens the cluster.",
		"fault.etcd.not-listed":            "etcd does not list a member for {node}, though it has etcd's data.",
		"fault.etcd.not-listed.next":       "If its member was removed, move /var/lib/etcd/default.etcd on {node} away and run deploy again.",
	}
}
