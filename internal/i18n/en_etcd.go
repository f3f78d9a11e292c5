package i18n

// enEtcd holds the sentences of etcd snapshot and etcd restore.
func enEtcd() map[string]string {
	return map[string]string{
		"cli.etcd.short":          "Save etcd's data, or put saved data back",
		"cli.etcd.snapshot.short": "Save a snapshot of etcd on this machine",
		"cli.etcd.snapshot.long":  "Save etcd's data as a file on this machine: in the cluster's directory, or where --out says. The file is complete,\nits sum is right and it can be read, or there is none. Nothing on the nodes changes.",
		"cli.etcd.restore.short":  "Make the etcd cluster anew from a snapshot",
		"cli.etcd.restore.long":   "Make the whole etcd cluster anew from a snapshot. What was changed in Kubernetes since then is lost; what is there\nnow is saved first. API servers stand still while the data change places; workloads run on. The old data stay on\nthe nodes. Cut off anywhere, the same command goes on.",
		"cli.etcd.arg.file":       "FILE",
		"cli.flag.snapshot-out":   "file to write (default: a new one in the cluster's directory)",

		"phase.snapshot": "Snapshot",
		"phase.restore":  "Restore",

		"step.snapshot.save":       "Save a snapshot of etcd on this machine",
		"step.restore.begin":       "Note the restore on this machine",
		"step.restore.before":      "Save what is there now",
		"step.restore.send":        "Send the snapshot",
		"step.restore.make":        "Make the member's new data",
		"step.restore.stop":        "Stop the control plane's services",
		"step.restore.exchange":    "Stop etcd and exchange its data",
		"step.restore.etcd":        "Start etcd",
		"step.restore.health":      "Check the restored etcd cluster",
		"step.restore.apiserver":   "Start kube-apiserver",
		"step.restore.ready":       "Wait for the API server",
		"step.restore.controllers": "Start kube-controller-manager and kube-scheduler",
		"step.restore.kubelet":     "Is the node in the snapshot?",
		"step.check.heard":         "The kubelet is heard of again",
		"step.check.restored":      "End the restore",

		"change.restore-make":     "make etcd's new data in {path}",
		"change.restore-stop":     "stop kube-scheduler, kube-controller-manager and kube-apiserver",
		"change.restore-exchange": "stop etcd, keep its data as {path}, put the new data in their place",

		"why.restore-exchanged": "the data have changed places already",
		"why.restore-made":      "the new data are made already",
		"why.restore-gone":      "cannot be reached",

		"notice.snapshot-saved": "snapshot {path}: {size} bytes, revision {revision}, sha256 {sha256}",
		"notice.restore-old":    "the data from before are kept in {path}; remove them when you do not need them any more",
		"next.restored":         "Addons and settings that are newer than the snapshot come back with: eggo-tui deploy -f {file}",
		"ask.restore":           "snapshot {path}: revision {revision}, {size} bytes, members {members}",

		"fault.snapshot.unreadable":      "The snapshot {path} cannot be read: {cause}",
		"fault.snapshot.unreadable.next": "Name a file that etcd snapshot or etcdctl has made; snapshots of a cluster are in snapshots/ of its directory.",
		"fault.snapshot.truncated":       "{path} is no whole snapshot: its length is not that of a database with its sum.",
		"fault.snapshot.truncated.next":  "It was cut off, or is the raw database of a member. Take another copy of the file, or another snapshot.",
		"fault.snapshot.damaged":         "The snapshot {path} is damaged: its content does not have the sum that stands at its end.",
		"fault.snapshot.damaged.next":    "Take another copy of the file, or another snapshot.",
		"fault.snapshot.no-state":        "This machine has no certificates of the cluster in {dir}: {cause}",
		"fault.snapshot.no-state.next":   "Run it where the cluster was deployed from, or name that directory's parent with --state-dir.",
		"fault.snapshot.none":            "No member of etcd gave a snapshot: {cause}",
		"fault.snapshot.none.next":       "Check etcd on the nodes: systemctl status etcd",
		"fault.snapshot.member":          "{node} gave no snapshot: {cause}",
		"fault.snapshot.member.next":     "Check etcd there: systemctl status etcd",

		"fault.preflight.restore-without":           "{node} cannot be reached; the restore continues without it.",
		"fault.preflight.restore-half":              "A restore of etcd is half done: {done} of {members} members have the restored data.",
		"fault.preflight.restore-half.next":         "Finish it first, with the same snapshot: eggo-tui etcd restore FILE --id {cluster}.",
		"fault.preflight.restore-without.next":      "If the snapshot does not know the node, restart its kubelet when it is back, or run deploy.",
		"fault.preflight.restore-not-deployed":      "{node} is no node of the cluster {cluster}.",
		"fault.preflight.restore-not-deployed.next": "Deploy the cluster first; a restore puts data into a cluster that is there.",
		"fault.preflight.restore-no-etcdutl":        "{node} lacks the program etcdutl.",
		"fault.preflight.restore-no-etcdutl.next":   "Build a bundle with this version's eggo-bundle and run deploy with it; that adds the program and stops nothing.",
		"fault.preflight.restore-space":             "{node}: /var/lib/etcd has {free} MiB free, the restore needs {need} MiB.",
		"fault.preflight.restore-space.next":        "Make room there; data kept by earlier restores are in /var/lib/etcd/default.etcd.before-*.",
		"fault.preflight.snapshot-foreign":          "The snapshot {path} is of another cluster than {cluster}: the authority in it is not this cluster's.",
		"fault.preflight.snapshot-foreign.next":     "Name a snapshot of this cluster.",
		"fault.restore.not-restored":                "{node}: etcd does not have the restored data, its revision is {revision}.",
		"fault.restore.not-restored.next":           "Check the journal of etcd on the node, then run the same command again.",
	}
}
