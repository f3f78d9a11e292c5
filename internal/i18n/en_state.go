package i18n

// enState are the sentences about what is kept: the state directory and its disk, formats, and the limits of the control host.
func enState() map[string]string {
	return map[string]string{
		"fault.bundle.no-space":           "No space to unpack {file} in {dir}: it needs {need}, and {free} are free, of which {reserve} are kept for the event log.",
		"fault.bundle.no-space.next":      "Free some space on that disk, or choose a state directory on another one with --state-dir. Nothing of the bundle is left there.",
		"fault.bundle.ratio":              "{file} has {size} and says that it unpacks to {unpacked}, more than {ratio} times as much: no bundle does that.",
		"fault.bundle.ratio.next":         "Do not use it. Ask its provider how it was made, or build it again.",
		"fault.bundle.stage-damaged":      "The unpacked bundle in {dir} is damaged, and another run uses it.",
		"fault.bundle.stage-damaged.next": "Wait until that run has ended, then run the command again: the bundle is unpacked anew.",
		"notice.stages-pruned":            "Removed {count} unpacked {count:bundle|bundles} that no cluster uses: {size}",
		"notice.stages-kept":              "Unpacked bundles that no cluster uses could not be removed: {cause}",

		"fault.preflight.descriptors":     "This host may have {limit} files open at a time, and connections to {nodes} {nodes:node|nodes} need {need}.",
		"fault.state.newer-format":        "{path} has format {format}; this version of Eggo reads up to {ours}.",
		"fault.state.newer-format.next":   "A newer version of Eggo has worked on this cluster. Use that version, or a newer one, for it.",
		"fault.journal.newer-format":      "The event log {path} has format {format}; this version of Eggo reads up to {ours}.",
		"fault.journal.newer-format.next": "A newer version of Eggo wrote it. Use that version, or a newer one, for this cluster.",
		"fault.event.newer-format":        "The event log has format {format}; this version of Eggo reads up to {ours}.",
		"fault.event.newer-format.next":   "A newer version of Eggo wrote it. Read it with that version.",
		"fault.node.record-format":        "The record /var/lib/eggo-node/record on {node} has format {format}; this version of Eggo reads up to {ours}.",
		"fault.node.record-format.next":   "A newer version of Eggo has worked on {node}. Use that version, or a newer one, for this cluster.",
		"fault.node.record-unknown":       "The record /var/lib/eggo-node/record on {node} has entries that this version of Eggo cannot revert: {kinds}.",
		"fault.node.record-unknown.next":  "A newer version of Eggo has worked on {node}. Clean up with that version; nothing is removed until then.",

		"fault.preflight.descriptors.next": "Raise the limit before the run: ulimit -n {need}, or LimitNOFILE={need} in the unit that starts it.",
	}
}
