package i18n

// enFamilies holds the sentences of bundles for several operating systems and of the rpm family.
func enFamilies() map[string]string {
	return map[string]string{
		"step.preflight.bundle-file":       "Verify and unpack the bundle {file}",
		"fault.preflight.no-bundle":        "{node} is {arch}, and none of the bundles is for that.",
		"fault.preflight.no-bundle.next":   "Add one for {arch} under package-src or eggo.bundles.",
		"fault.preflight.no-packager":      "{node} runs {is}, but has none of its package managers: {programs}.",
		"fault.preflight.no-packager.next": "Install one on {node}.",
		"fault.bundle.versions":            "The bundle {bundle} has Kubernetes {version}, {other} has {other_version}.",
		"fault.bundle.versions.next":       "Build both from specs of the same version.",
		"fault.packages.locked":            "{node}: {what} has kept rpm's database to itself for eight minutes.",
		"fault.packages.locked.next":       "Let it end, or end it, and run the same command again.",
	}
}
