package i18n

// enRun holds the sentences of the verbs that run a plan.
func enRun() map[string]string {
	return map[string]string{
		"cli.deploy.short":  "Install the cluster of a deploy.yaml, or resume an interrupted run",
		"cli.deploy.long":   "Install the cluster of a deploy.yaml from its offline bundles over SSH.\n\nEverything is checked before anything is touched. An interrupted run resumes when deploy is run again;\non a finished cluster it changes nothing. The exit code is 0 only if the cluster is what deploy.yaml says.",
		"cli.cleanup.short": "Remove from every node what deploy put there",
		"cli.cleanup.long":  "Remove from every node what was recorded there: services, packages, files, directories and etcd's data (after a\nsnapshot to this machine). What was there before stays.",

		"cli.flag.deploy-file": "deploy.yaml to follow (default ~/.eggo/deploy.yaml)",
		"cli.flag.host-keys":   "unknown host keys: ask, strict or accept-new (default: ask on a terminal, else strict)",
		"cli.flag.state":       "state directory (default /var/lib/eggo, for other users $XDG_STATE_HOME/eggo)",
		"cli.flag.report":      "how to report: plain or json",
		"cli.flag.yes":         "do not ask for the cluster's name",
		"cli.flag.purge":       "remove the runtime's store (images, containers) and the pods' logs, too",

		"ask.cluster-name":  "All of this will be removed from the nodes above. Type the cluster's name ({cluster}) to continue:",
		"ask.password":      "Password of {user}:",
		"ask.sudo":          "sudo password of {user}:",
		"ask.password-node": "Password of {user} on {node}:",
		"ask.sudo-node":     "sudo password of {user} on {node}:",
		"ask.bastion":       "Password of {user} on the bastion {host}: ",
		"ask.passphrase":    "Passphrase of {file}:",

		"run.stopping": "Stopping: the running steps end first. Press Ctrl-C again to break off.",

		"cli.flag.foreground": "keep the run in this process, for supervisors, containers and units; without it the run is a process of its own, which outlives this one",
		"front.greet":         "Logging in to {count} {count:node|nodes} …",
		"front.closed":        "Standard output is closed; the run continues, and this command waits for its end. Ctrl-C stops the run. To see it: {attach}",
		"front.left":          "The terminal is gone; the run continues. To see it: {attach}",
		"front.aborting":      "Aborting: the running steps are broken off. Press Ctrl-C again to kill the process of the run.",
		"front.not-shown":     "The run has ended, but standard output takes nothing: its last {count} {count:event is|events are} not shown. All of it: {logs}",
		"front.no-step":       "no step",

		"next.kubeconfig": "The kubeconfig is {path} (API server https://{endpoint})",
		"next.node":       "{node} ({ip}): {roles}",
		"next.kubectl":    "Next: kubectl --kubeconfig {path} get nodes   (no kubectl here? Copy /usr/local/bin/kubectl from {node})",
		"next.cleanup":    "To remove the cluster: {command}",
		"next.cleaned":    "The logs of all runs and etcd's snapshots stay in {path}",
		"next.resume":     "To resume: {command}",
		"next.log":        "Event log: {path}",

		"fault.usage.verb":               "There is no command {verb}.",
		"fault.usage.verb.next":          "eggo-tui --help lists the commands.",
		"fault.usage.verb-like":          "There is no command {verb}; did you mean {like}?",
		"fault.usage.verb-like.next":     "eggo-tui --help lists the commands.",
		"fault.usage.needs-yes":          "Without a terminal, {verb} needs --yes.",
		"fault.usage.needs-yes.next":     "Add --yes if you are sure.",
		"fault.usage.not-confirmed":      "That is not the cluster's name; nothing was touched.",
		"fault.usage.not-confirmed.next": "Run it again and type the name as deploy.yaml has it.",
		"fault.usage.secret":             "The password cannot be had from {what}: {cause}",
		"fault.usage.secret.next":        "Use prompt on a terminal, env:NAME or file:PATH.",
		"fault.usage.host-keys":          "--host-keys {value} is none of ask, strict, accept-new.",
		"fault.usage.host-keys.next":     "Choose one of them.",
		"fault.run.interrupted":          "Interrupted; nothing is lost.",
		"fault.run.interrupted.next":     "Run the same command again: it resumes from here.",
		"fault.run.left":                 "This command has left the run, which continues.",
		"fault.run.left.next":            "To see it: eggo-tui attach.",
		"fault.run.killed":               "The process of run {run} was killed. What became of {count:this step|these steps} is not known: {steps}",
		"fault.run.killed.next":          "Run the same command again; it checks what is done: {command}. The run's log is in {dir}.",
		"fault.run.died":                 "The process of run {run} ended before the run did ({how}). What became of {count:this step|these steps} is not known: {steps}",
		"fault.run.died.next":            "See {dir}/process.log for what it said, then run the same command again; it checks what is done: {command}",
		"fault.run.failed":               "{count} {count:step|steps} failed.",
		"fault.run.failed.next":          "Fix the causes above and run the same command again: it resumes from here.",
		"fault.bundle.no-source":         "deploy.yaml names no bundle for {arch}.",
		"fault.bundle.no-source.next":    "Set package-src (armsrc, x86src) or install.package-source.srcpath.",
	}
}
