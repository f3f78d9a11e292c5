package i18n

// enEngine has the sentences of the event log, the engine and the journal.
func enEngine() map[string]string {
	return map[string]string{
		"engine.blocked":             "needs {step}, which failed",
		"engine.host-lost":           "{host} could not be reached in {step}",
		"engine.host-left-out":       "{host} is left out since {step} failed",
		"fault.engine.left-out":      "done, but without {hosts}",
		"fault.engine.left-out.next": "Each failure is listed with its cause. Fix it and run the same command again: it does what is missing.",
		"engine.done-before":         "done by an earlier run",

		"fault.event.bad-record":        "a line of the event log cannot be read: {cause}",
		"fault.event.bad-record.next":   "Do not edit events.jsonl; start the command again, which makes a new log.",
		"fault.event.unknown-type":      "the event log holds an event of a type that this program does not know: {type}",
		"fault.event.unknown-type.next": "It was written by a newer version: read it with that version.",

		"fault.engine.duplicate-phase":      "the plan has two phases named {phase}",
		"fault.engine.duplicate-phase.next": "This is a fault of the program; please report it.",
		"fault.engine.duplicate-step":       "the plan has a step without a name, or two steps named \"{id}\"",
		"fault.engine.duplicate-step.next":  "This is a fault of the program; please report it.",
		"fault.engine.unknown-phase":        "the step {id} belongs to a phase that the plan does not have: {phase}",
		"fault.engine.unknown-phase.next":   "This is a fault of the program; please report it.",
		"fault.engine.unknown-host":         "the step {id} runs on a node that the plan does not have: {host}",
		"fault.engine.unknown-host.next":    "This is a fault of the program; please report it.",
		"fault.engine.unknown-need":         "the step {id} needs a step that the plan does not have: {need}",
		"fault.engine.unknown-need.next":    "This is a fault of the program; please report it.",
		"fault.engine.cycle":                "steps of the plan need each other in a circle: {steps}",
		"fault.engine.cycle.next":           "This is a fault of the program; please report it.",

		"fault.engine.panic":             "the program broke down in this step: {value}",
		"fault.engine.panic.next":        "This is a fault of the program; please report it with the run's event log.",
		"fault.engine.timeout":           "the step was not done within {timeout}",
		"fault.engine.timeout.next":      "Check the node's log of this run for what it was waiting for, then run the same command again: it resumes from here.",
		"fault.engine.steps-failed":      "{count} steps failed",
		"fault.engine.steps-failed.next": "Each of them is listed with its cause. Fix the causes and run the same command again: it resumes from here.",
		"fault.engine.interrupted":       "the run was stopped; {left} steps are left",
		"fault.engine.interrupted.next":  "Run the same command again: it resumes from here.",

		"journal.cut-line": "the last line of the event log was cut off in the middle and is left out",

		"fault.journal.write":            "the event log {path} cannot be written: {cause}",
		"fault.journal.write.next":       "Nothing is done that cannot be recorded. Make room on the jump host (df -h), then run the same command again: it resumes from here.",
		"fault.journal.open":             "the run directory {path} cannot be made or opened: {cause}",
		"fault.journal.open.next":        "Check that the path exists, belongs to you and is not full.",
		"fault.journal.read":             "the event log {path} cannot be read: {cause}",
		"fault.journal.read.next":        "Check that the file exists and belongs to you.",
		"fault.journal.damaged":          "the event log {path} is damaged in line {line}: {cause}",
		"fault.journal.damaged.next":     "Keep a copy for a report. Running the command again makes a new log and checks every node itself.",
		"fault.journal.bad-cluster":      "\"{cluster}\" cannot be the name of a cluster: it is used as the name of a directory",
		"fault.journal.bad-cluster.next": "Use letters, digits, '-', '_' and '.' in cluster-id.",
		"fault.lock.cluster-held":        "another run works on this cluster: {verb}, process {pid}, started by {user} on {host} at {since}",
		"fault.lock.cluster-held.next":   "Wait until it has ended, or watch it with \"eggo-tui attach\".",
		"fault.lock.cluster-failed":      "the lock {path} cannot be taken: {cause}",
		"fault.lock.cluster-failed.next": "Check that the directory belongs to you and is on a file system that knows locks.",
	}
}
