package i18n

// enTrust is about what comes from outside: where its files may go, and who signed it.
func enTrust() map[string]string {
	return map[string]string{
		"fault.bundle.outside":          "{file} would put {count} {count:file|files} where no bundle may put any: {places}",
		"fault.bundle.outside.next":     "Do not install it, and ask who built it. The files of a bundle go to {choices} or below, and never in place of Eggo's own.",
		"bundle.cli.outside":            "It would put {count} {count:file|files} where no bundle may put any, and is refused:",
		"bundle.cli.col.place":          "PLACE",
		"bundle.cli.col.why":            "WHY",
		"bundle.cli.outside.characters": "not a path of ASCII letters, digits and . _ / + @ = - or too long",
		"bundle.cli.outside.not-listed": "in no directory of the list",
		"bundle.cli.outside.unit":       "a unit, which only deploy.yaml may place",
		"bundle.cli.outside.ours":       "Eggo's own file",

		"fault.build.outside":         "{member} would go to {place}, where no bundle may put a file",
		"fault.build.outside.next":    "Choose a directory from the list in docs/bundle-format.md, and names of ASCII letters, digits and . _ + @ = -",
		"fault.place.characters":      "{node}: {path}, for {member} of the bundle, has characters or a length that no path on a node may have.",
		"fault.place.characters.next": "Rename the file in the bundle: paths have ASCII letters, digits and . _ / + @ = - only.",
		"fault.place.not-listed":      "{node}: {member} of the bundle would go to {path}, which is not in a directory for files from outside.",
		"fault.place.not-listed.next": "Choose one of {choices} or a directory below.",
		"fault.place.unit":            "{node}: {member} of the bundle would go to {path}, where only units may be, and only those that deploy.yaml names.",
		"fault.place.unit.next":       "List it in deploy.yaml as a file with this dstpath and a name such as site.service, or choose another directory.",
		"fault.place.ours":            "{node}: {member} of the bundle would go to {path}, which Eggo itself writes.",
		"fault.place.ours.next":       "Give the file another name or another directory.",
		"fault.node.place-open":       "On {node}, users other than root can change {is}, and {path} is in it.",
		"fault.node.place-open.next":  "Let {is} belong to root and be writable by no one else, or choose another directory in deploy.yaml.",
		"fault.node.place-unit":       "On {node} there is a unit {is} already. {path} would take its place.",
		"fault.node.place-unit.next":  "Give the unit another name in the bundle, or take it out of deploy.yaml.",
	}
}
