package i18n

// enDebs has the faults of Debian packages, their metadata and apt's sources, beside those in enBundle.
func enDebs() map[string]string {
	return map[string]string{
		"fault.deb.root":              "{package} is not the name of a package, with or without a version",
		"fault.deb.root.next":         "Write name, name=version or name (>= version), each package once.",
		"fault.deb.unresolvable":      "{count} problems with packages for {arch}: {problems}",
		"fault.deb.unresolvable.next": "Add the repositories or suites that have what is missing (→), and leave out one of each two that exclude each other (⨯).",
		"fault.deb.baseline":          "The list of what the target has already cannot be used: {cause}",
		"fault.deb.baseline.next": "Make it on the target with dpkg-query -W -f '${Package}\\t${Version}\\t${Architecture}\\t${Status}\\n', " +
			"or take its /var/lib/dpkg/status.",
		"fault.deb.meta":              "A package's recorded metadata cannot be used: {cause}",
		"fault.deb.meta.next":         "Resolve the packages anew; someone may have changed the lock by hand.",
		"fault.deb.sources":           "{file}, line {line}, is not an apt source: {cause}",
		"fault.deb.file":              "{file} is not a Debian package: {cause}",
		"fault.deb.wrong-arch":        "{file} is for {got}, not for {arch}",
		"fault.deb.wrong-arch.next":   "Get the file for {arch}, or leave it out of this bundle.",
		"fault.deb.mismatch":          "{file} says that it is {got}; the metadata say {package}",
		"fault.deb.mismatch.next":     "The repository contradicts itself. Use another mirror, and tell its administrator.",
		"fault.deb.unsigned":          "The repository of {suite} is not signed",
		"fault.deb.unsigned.next":     "Use a signed repository. If you answer for this one yourself, mark it as trusted.",
		"fault.deb.release-weak":      "The Release file of {suite} has no SHA256 sums, only such as can be forged",
		"fault.deb.release-weak.next": "Use another mirror, or ask its administrator to add SHA256 sums.",
	}
}
