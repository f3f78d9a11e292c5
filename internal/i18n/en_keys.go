package i18n

// enKeys has what keys of components and versions of Kubernetes ask of a deploy.yaml and of a bundle.
func enKeys() map[string]string {
	return map[string]string{
		"fault.config.flag-unknown":        "{name} has no flag {value} in any known version of Kubernetes",
		"fault.config.flag-unknown.next":   "Remove it, or check it against {name} --help.",
		"fault.config.flag-misspelt":       "{name} has no flag {value}; did you mean {like}?",
		"fault.config.flag-misspelt.next":  "Write {like}.",
		"fault.config.flag-removed":        "{name} no longer has {value}: it was removed in Kubernetes {version}, and {name} would not start",
		"fault.config.flag-removed.next":   "Remove it.",
		"fault.config.flag-replaced":       "{name} no longer has {value}: it was removed in Kubernetes {version}, and {name} would not start",
		"fault.config.flag-replaced.next":  "Write {instead} instead.",
		"fault.config.flag-newer":          "{name} has {value} only since Kubernetes {version}, which is newer than the bundle's",
		"fault.config.flag-newer.next":     "Remove it, or use a bundle of that version.",
		"fault.config.flag-no-field":       "{name} reads its configuration file, beside which {value} has no effect",
		"fault.config.flag-no-field.next":  "Remove it.",
		"fault.config.flag-must":           "{value} must hold {instead}, which the cluster is built on",
		"fault.config.flag-must.next":      "Write {instead}, with more behind a comma if {value} takes it.",
		"fault.config.flag-bool":           "{value} is true or false, not {given}",
		"fault.config.flag-bool.next":      "Write true or false.",
		"fault.config.flag-integer":        "{value} is a whole number, not {given}",
		"fault.config.flag-integer.next":   "Write a number without a unit.",
		"fault.config.flag-duration":       "{value} is a duration, not {given}",
		"fault.config.flag-duration.next":  "Write a number with a unit, such as 30s, 5m or 1h30m.",
		"fault.config.owned-key":           "{value} is set by this program from {instead}",
		"fault.config.owned-key.next":      "Remove it here and write {instead}.",
		"fault.bundle.kubernetes-old":      "the bundle for {arch} has Kubernetes {version}; the oldest that can be installed is {oldest}",
		"fault.bundle.kubernetes-old.next": "Use a bundle of {oldest} to {newest}.",
		"fault.bundle.kubernetes-new":      "the bundle for {arch} has Kubernetes {version}, newer than {newest}, the newest that this program knows",
		"fault.bundle.kubernetes-new.next": "It is installed as {newest} would be; a newer release of this program may be safer.",
		"fault.preflight.cgroup-v1":        "{node} has cgroup v1, on which Kubernetes {version} runs only because its kubelet is told to (failCgroupV1: false)",
		"fault.preflight.cgroup-v1.next":   "Boot it with systemd.unified_cgroup_hierarchy=1 when you can; support of cgroup v1 ends.",
	}
}
