package i18n

// enBuild is the builder of bundles: spec, lock, resolving, writing.
func enBuild() map[string]string {
	return map[string]string{
		"bundle.cli.flag.os": "operating system of the nodes that the default cluster is packed for: {systems} (debian-12 unless given)",

		"fault.usage.os":               "--os {os} is not an operating system that there is a default spec for",
		"fault.usage.os.next":          "Use one of {systems}, or write a spec of your own: eggo-bundle spec > my.yaml, then build -f my.yaml.",
		"fault.usage.os-and-file":      "--os and -f cannot be given together",
		"fault.usage.os-and-file.next": "The spec that -f names says in its own key os what it is for.",

		"fault.spec.one-of":       "{key} needs exactly one of these keys: {keys}",
		"fault.spec.chart":        "{key}: name and version belong to repository, and only to it",
		"fault.spec.include":      "{key}: {file} cannot be included: {cause}",
		"fault.spec.include.next": "Paths are beside the file that names them.",

		"fault.lock.read":       "{file} cannot be used: {cause}",
		"fault.lock.read.next":  "Restore it from where you keep it, or let eggo-bundle update write it anew.",
		"fault.lock.write":      "{file} cannot be written: {cause}",
		"fault.lock.write.next": "Check the directory's permissions and free space.",
	}
}
