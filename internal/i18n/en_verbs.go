package i18n

// enVerbs has the sentences of the verbs that look, plan and keep, and of the flags that they share with others.
func enVerbs() map[string]string {
	return map[string]string{
		"cli.flag.on-failure":         "what to do when a step fails for good: abort (start nothing more), skip (leave the node out), retry=N (default: go on with what does not need it)",
		"fault.usage.on-failure":      "--on-failure {value} is none of abort, skip, retry=N.",
		"fault.usage.on-failure.next": "Use abort, skip or retry=3.",
		"report.decided-retry":        "{step}: failed, is tried again as --on-failure says: {fault}",
		"plan.unsure":                 "what exactly shows when what comes before it is done",
		"change.api":                  "API server: {method} {path}",
		"change.etcd":                 "etcd: {method}",
		"fault.node.rehearsal":        "a script was to run on the node in a rehearsal, where nothing is changed",
		"fault.node.rehearsal.next":   "This is a fault of the program; please report it.",
	}
}
