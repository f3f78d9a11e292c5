package i18n

// enBuild is the builder of bundles: spec, lock, resolving, writing.
func enBuild() map[string]string {
	return map[string]string{
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

		"build.warn.guess":                 "{addon}: {image} looks like an image and is not packed; if it is one, list it under images of the addon or of the spec",
		"build.warn.latest":                "{image}: the tag latest means another image from day to day; bundle.lock pins today's",
		"build.warn.unused":                "{image}: no addon names it; if it is wanted all the same, say why in the spec (why: …)",
		"build.warn.lock-replaced":         "{file} cannot be used and is written anew; what it pinned for other architectures is lost",
		"fault.lock.other":                 "{file} pins the bundle {name}, not {want}",
		"fault.lock.other.next":            "Give this bundle a directory of its own (-o), or its lock another place (--lock FILE).",
		"build.warn.unsigned-repomd":       "{repository} does not sign its metadata; the packages' own signatures are what counts",
		"fault.build.base":                 "{file}, the base of the difference, cannot be opened: {cause}",
		"fault.build.base.next":            "Check --base; for several architectures write {hole} where they differ in its name.",
		"fault.build.locked":               "{what} for {arch} does not stand in {file} as the spec asks for it, and --locked forbids to look for it",
		"fault.build.locked.next":          "Run eggo-bundle update where there is a network, check what changes, and keep the new lock.",
		"fault.build.file":                 "{file} cannot be read: {cause}",
		"fault.build.file.next":            "The spec names it. Paths in a spec are beside the spec.",
		"fault.build.gone":                 "{what}: what was taken from its archive is no longer in the cache",
		"fault.build.gone.next":            "Run the same command again: the archive is read anew.",
		"fault.build.changed":              "{file} changed while the bundle was made",
		"fault.build.changed.next":         "Run the same command again when the file is at rest.",
		"fault.build.chart-http":           "{what}: the repository offers the chart over plain http ({url}) and gives no sum for it",
		"fault.build.chart-http.next":      "Give its https address as url, or add sha256 to the addon.",
		"fault.build.source-password":      "{file} has an address with a password in it",
		"fault.build.source-password.next": "Move it to ~/.netrc: bundle.lock has the address, and everybody could read it there.",
		"fault.build.no-sha256":            "{repository} gives no sha256 for {package}",
		"fault.build.no-sha256.next":       "Its metadata is made with sha512 only. Use another mirror, or download the packages and name their directory (dir: …).",
		"fault.build.image-missing":        "The addon {addon} names the image {image}, which the bundle for {arch} does not have",
		"fault.build.image-missing.next":   "Add it under images, or let discover: [addons] find it.",
		"fault.build.image-alias":          "The addon {addon} pins {image}, and no image of the bundle for {arch} has this digest",
		"fault.build.image-alias.next":     "List the image with the same digest under images, or let discover: [addons] find it: pods that pin a digest do not take the tag.",
		"fault.build.package-arch":         "{package} is for {got}, not for {arch}",
		"fault.build.package-arch.next":    "The lock was edited or is of another spec. eggo-bundle update writes it anew.",
	}
}
