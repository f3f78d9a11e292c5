package i18n

// enPack has the faults of writing a bundle.
func enPack() map[string]string {
	return map[string]string{
		"fault.pack.no-space":       "No room for {file}: about {needed} are needed in {dir}, {free} are free",
		"fault.pack.no-space.next":  "Free some space, or write to another disk with -o. What was fetched already is kept in the cache.",
		"fault.pack.disk-full":      "The disk became full while {file} was written",
		"fault.pack.disk-full.next": "Free some space in {dir}, or write to another disk with -o, and run the same command again: what was fetched is kept.",
		"fault.pack.too-large":      "The file system of {file} does not take a file of that size",
		"fault.pack.too-large.next": "FAT ends at 4 GiB: write parts with --split 4G, or use another file system. It may also be a limit of this process (ulimit -f).",
		"fault.pack.parts":          "{file} would have more than {limit} parts",
		"fault.pack.parts.next":     "Give --split a larger size.",
		"fault.pack.busy":           "{file} is being written by another build",
		"fault.pack.busy.next":      "Wait until that one is finished, or write to another directory with -o.",
		"fault.pack.write":          "{file} cannot be written: {cause}",
		"fault.pack.short":          "The content of {blob} ended after {got} of {want} bytes",
		"fault.pack.short.next":     "Run the same command again: what was fetched is kept.",
		"fault.pack.oversize":       "{blob} has more than the {want} bytes that it should have",
		"fault.pack.oversize.next":  "Run the same command again; if it stays so, what the source says of it is wrong.",
	}
}
