package i18n

// enPorts are the sentences about firewalls, hooks, host names and packages of the less usual types.
func enPorts() map[string]string {
	return map[string]string{
		"step.infrastructure.ports": "Open ports in the firewall",
		"step.clean.ports":          "Close the ports that were opened",

		"change.open-ports":  "open in the firewall: {rules}",
		"change.close-ports": "close in the firewall what is needed no more: {rules}",
		"change.undo-ports":  "close in the firewall what was opened",

		"why.no-firewall": "no firewall is active",
		"notice.ports":    "{node} has {firewall} active, which does not let in {ports}: Eggo opens them, and cleanup closes them again",

		"fault.preflight.firewall-unsure":      "{node} has {firewall} active with rules whose effect is not told here; they may refuse {ports} even when these are opened.",
		"fault.preflight.firewall-unsure.next": "Eggo opens the ports; see that no rule of {firewall} refuses them to the other nodes and to pods.",

		"step.hook":                           "Run {hook}",
		"step.infrastructure.hostname":        "Set the host name",
		"step.infrastructure.cleanup-scripts": "Keep the scripts of a cleanup on the node",
		"change.hook":                         "run {hook} as root ({type})",
		"change.keep-script":                  "keep {hook} for the cleanup",
		"change.hostname":                     "set the host name to {name}",
		"why.node-gone":                       "the node cannot be reached",
		"why.no-script":                       "the script is not on the node",
		"notice.hook-cut":                     "{hook} printed {bytes} bytes more than are kept",
		"cli.flag.cluster-prehook":            "script, or directory of scripts, that runs as root before anything is touched: PATH[,ROLE]; ROLE is master, worker, etcd or loadbalance (default master)",
		"cli.flag.cluster-posthook":           "the same, when everything is done",
		"cli.flag.prehook":                    "script, or directory of scripts, that runs as root on the machines of this command before they are touched: PATH[,ROLE] (default role master)",
		"cli.flag.posthook":                   "the same, when they are done",
		"fault.hook.role":                     "The hook's role {role} is none of {choices}.",
		"fault.hook.role.next":                "Write PATH,ROLE with one of these roles, or PATH alone for the masters.",
		"fault.hook.path":                     "The hook's path {path} is not absolute.",
		"fault.hook.path.next":                "Name the script, or the directory of scripts, by its whole path.",
		"fault.hook.unreadable":               "The hook {path} cannot be read: {cause}",
		"fault.hook.unreadable.next":          "Check the path and the rights on it.",
		"fault.hook.empty":                    "The directory {path} has no hook in it.",
		"fault.hook.empty.next":               "Put scripts into it, or leave the flag out.",
		"fault.hook.not-regular":              "The hook {path} is not a regular file.",
		"fault.hook.not-regular.next":         "Name the script itself; links and directories in a directory are not followed.",
		"fault.hook.name":                     "The hook {path} is not named like a script: letters, digits, . _ - and the ending .sh or .bash.",
		"fault.hook.name.next":                "Give it such a name; a directory of hooks holds nothing else.",
		"fault.hook.owner":                    "The hook {path} belongs to another user, and it would run as root.",
		"fault.hook.owner.next":               "Look at it, and make a copy of your own (mode 0750).",
		"fault.hook.mode":                     "The hook {path} can be written or used by more than its owner and group; it would run as root.",
		"fault.hook.mode.next":                "Look at it, then chmod 0750 it (a directory: chmod go-w).",
		"fault.hook.size":                     "The hook {path} is empty or larger than 1 MiB.",
		"fault.hook.size.next":                "A hook has 1 byte to 1 MiB; fetch what is larger from within it.",
		"fault.hook.failed":                   "{hook} ended with exit code {status} on {node}: {cause}",
		"fault.hook.failed.next":              "Mend the script or what it complains of on {node}, then run the same command again.",
		"fault.hook.timeout":                  "{hook} was not done on {node} after {timeout} and was killed with all that it had started: {cause}",
		"fault.hook.timeout.next":             "See what it waits for on {node}; a hook of the command line has 120 s, a script of deploy.yaml its timeout.",
		"fault.hook.unknown":                  "The connection to {node} broke while {hook} ran; whether it did its work is not known.",
		"fault.hook.unknown.next":             "Look at {node}, then run the same command again: the hook runs anew.",
		"fault.hook.not-in-bundle":            "The script {hook} is not in the bundle of {node}.",
		"fault.hook.not-in-bundle.next":       "Add it to files in the spec and build the bundle again, or take it out of deploy.yaml.",
	}
}
