package i18n

// enReader has the faults of reading bundles in parts, of difference bundles and of unpacking one.
func enReader() map[string]string {
	return map[string]string{
		"fault.bundle.part-missing":        "{file}: the part {part} is missing",
		"fault.bundle.part-missing.next":   "Copy {part} beside the other parts.",
		"fault.bundle.part-first":          "{part} is not the first part of a bundle",
		"fault.bundle.part-first.next":     "Name {first}; the other parts are found beside it.",
		"fault.bundle.part-empty":          "{file}: the part {part} is empty",
		"fault.bundle.part-empty.next":     "Copy {part} again.",
		"fault.bundle.part-size":           "{file}: the part {part} is cut off: it has {got} bytes, the others {want}",
		"fault.bundle.part-size.next":      "Copy {part} again.",
		"fault.bundle.part-truncated":      "{file}: the last part, {part}, is cut off, or parts after it are missing",
		"fault.bundle.part-truncated.next": "Compare the size of {part} with the original, and look for parts after it.",
		"fault.bundle.part-sum":            "{file}: the part {part} was changed: sha256 {got}, should be {want}",
		"fault.bundle.part-sum.next":       "Copy {part} again. If it has another part's sum, the two were mixed up.",
		"fault.bundle.part-damaged":        "{file} is damaged in the part {part}, or in one before it: {cause}",
		"fault.bundle.part-damaged.next":   "Copy the .sha256 file of the bundle beside the parts to learn which one, or copy all parts again.",
		"fault.bundle.part-extra":          "{file}: the part {part} does not belong to this bundle, which ends before it",
		"fault.bundle.part-extra.next":     "Remove {part}; it may be left of an older bundle of the same name.",
		"fault.bundle.part-sums":           "{file}: {sums} is not a list of the parts with their sums: {cause}",
		"fault.bundle.part-sums.next":      "Copy {sums} again, or remove it: without it a damaged part is still found, but perhaps not named.",

		"fault.bundle.base-missing":       "{file} carries only what has changed since the bundle {name} for {arch} with the id {base}, which is not here",
		"fault.bundle.base-missing.next":  "Put that bundle into the same directory; eggo-bundle inspect shows a bundle's id. Or use the full bundle.",
		"fault.bundle.base-damaged":       "{file}: its base in {base} does not give {member} as it should be",
		"fault.bundle.base-damaged.next":  "Remove {base} and put the bundle that it was unpacked from beside this one.",
		"fault.bundle.no-difference":      "The bundle {name} for {arch} is the same as its base: nothing has changed",
		"fault.bundle.no-difference.next": "Use the bundle that is there; there is nothing to carry.",
		"fault.bundle.wrong-name":         "{file} is the bundle {got}, not {want}",

		"fault.bundle.extract-exists":      "{dir} is not empty, and it does not hold just this bundle: {cause}",
		"fault.bundle.extract-exists.next": "Choose a directory that is empty or not there yet.",
		"fault.bundle.extract-space":       "No space left in {dir} while unpacking {member} of {file}; nothing was kept",
		"fault.bundle.extract-space.next":  "Free some space, or choose a directory on another disk.",
	}
}
