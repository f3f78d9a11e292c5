package i18n

// enAddon has the faults and notes of manifests, charts and the images that they name.
func enAddon() map[string]string {
	return map[string]string{
		"addon.note.deprecated":       "{addon}: the chart is deprecated by its authors",
		"addon.note.hooks":            "{addon}: nobody runs hooks where a manifest is applied; these are applied as plain objects: {hooks}",
		"addon.note.hooks-dropped":    "{addon}: hooks for other times than the installation are left out: {hooks}",
		"addon.note.kubernetes-patch": "{version} is newer than {known}, the last one that this program's list of images was compared with",
		"addon.note.no-namespace":     "{addon}: these name no namespace, and nothing here says whether their kinds are in one, so they may not get into {namespace}: {objects}",
		"addon.note.schema":           "{addon}: the values were not checked for {charts}: the schema refers to others elsewhere",

		"fault.addon.too-large":          "{addon} is larger than what is accepted ({limit}, and a bounded number of entries)",
		"fault.addon.yaml":               "{addon} cannot be read as YAML: {cause}",
		"fault.addon.template":           "{addon} is a template that was not rendered (line {line})",
		"fault.addon.template.next":      "Give the rendered manifest, or the Helm chart itself.",
		"fault.addon.duplicate-key":      "{addon}: the key {key} is there twice (line {line})",
		"fault.addon.not-object":         "{addon}: the document at line {line} is no Kubernetes object: it lacks kind or apiVersion",
		"fault.addon.not-object.next":    "Only manifests can be addons; values for a chart belong to the chart.",
		"fault.addon.image":              "{addon}, line {line}: {path} is {image}, which is not the name of an image",
		"fault.addon.hint":               "The hint {hint} cannot be used: {cause}",
		"fault.addon.hint.next":          "A path looks like spec.images[*].name; fields with dots stand as [\"a.b\"].",
		"fault.addon.hint-value":         "{addon}, line {line}: the hint {hint} points at something that names no image",
		"fault.addon.kubernetes-version": "{version} is not a version of Kubernetes such as v1.34.2",
		"fault.addon.kubernetes-unknown": "The images of Kubernetes {version} are not known to this program; it knows {from} to {to}",
		"fault.addon.kubernetes-unknown.next": "Use a newer eggo-bundle, or list the images in the spec, as \"kubeadm config images list\" of that version " +
			"prints them.",

		"fault.addon.read":                   "{file} cannot be read: {cause}",
		"fault.addon.file-type":              "{file} is neither .yaml, .yml nor .json",
		"fault.addon.file-type.next":         "Keep only manifests in a directory of addons.",
		"fault.addon.file-kind":              "{file} is not a regular file; links are not followed",
		"fault.addon.file-name":              "{file} would be called {name} in the bundle, which an addon may not",
		"fault.addon.file-name.next":         "Use letters, digits, dots, dashes and underscores, at most 128 with the directories.",
		"fault.addon.file-collision":         "{file} and {other} would both be called {name} in the bundle",
		"fault.addon.kustomization":          "{file} is an instruction for kustomize, not a manifest",
		"fault.addon.kustomization.next":     "Give the output of \"kustomize build\".",
		"fault.addon.chart":                  "{addon}: the chart cannot be used: {cause}",
		"fault.addon.chart-member":           "{addon}: {file} of the chart cannot be used: {cause}",
		"fault.addon.chart-names":            "{addon}: {name} cannot be the name of a release or a namespace",
		"fault.addon.chart-library":          "{addon}: the chart is a library; it makes no objects",
		"fault.addon.chart-dependency":       "{addon}: the chart needs charts that it does not contain: {missing}",
		"fault.addon.chart-dependency.next":  "Run \"helm dependency update\" on the chart, or switch them off in the values.",
		"fault.addon.chart-kubernetes":       "{addon}: the chart is for Kubernetes {want}, not for {version}",
		"fault.addon.chart-values":           "{addon}: the values cannot be used: {cause}",
		"fault.addon.chart-schema":           "{addon}: the values do not fit the chart: {problems}",
		"fault.addon.chart-range":            "{chart}: {version} is neither a version nor a range: {cause}",
		"fault.addon.render":                 "{addon}: the chart cannot be rendered: {cause}",
		"fault.addon.render-empty":           "{addon}: the chart makes no objects with these values",
		"fault.addon.render-limit":           "{addon}: rendering the chart takes more than {time} or {memory} of memory",
		"fault.addon.not-deterministic":      "{addon}: these templates give another text each time: {templates}",
		"fault.addon.not-deterministic.next": "They make up passwords or certificates, use the time, or a random order. Set such values, or render the chart once and give the manifest.",

		"fault.addon.index":         "The index of {repository} cannot be used: {cause}",
		"fault.addon.index-chart":   "{repository} has no chart {chart}",
		"fault.addon.index-version": "{repository} has no version {version} of the chart {chart}",
		"fault.addon.index-url":     "{repository}: the chart {chart} {version} cannot be fetched: {cause}",
	}
}
