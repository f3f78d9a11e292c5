package i18n

// enDiff has the words of the table that compares two bundles.
func enDiff() map[string]string {
	return map[string]string{
		"diff.word.added":      "added",
		"diff.word.removed":    "removed",
		"diff.word.upgraded":   "upgraded",
		"diff.word.downgraded": "downgraded",
		"diff.word.changed":    "changed",

		"diff.kind.deb":      "deb package",
		"diff.kind.rpm":      "rpm package",
		"diff.kind.metadata": "metadata",
		"diff.kind.binary":   "program",
		"diff.kind.addon":    "addon",
		"diff.kind.file":     "file",
		"diff.kind.dir":      "file of a directory",
		"diff.kind.image":    "image",
		"diff.kind.install":  "package asked for",

		"diff.field.version":     "version",
		"diff.field.content":     "content",
		"diff.field.arch":        "architecture",
		"diff.field.name":        "name",
		"diff.field.kubernetes":  "Kubernetes",
		"diff.field.os.family":   "family of the system",
		"diff.field.os.id":       "system",
		"diff.field.os.release":  "release of the system",
		"diff.field.os.codename": "codename of the system",
		"diff.field.roles":       "roles",
		"diff.field.file":        "file",
		"diff.field.target":      "place on the node",
		"diff.field.layout":      "layout",
		"diff.field.base":        "base of the difference",
		"diff.field.mode":        "mode",
	}
}
