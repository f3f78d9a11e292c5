package i18n

// enPKI has the faults of the certificates in the state directory.
func enPKI() map[string]string {
	return map[string]string{
		"fault.pki.mismatch":      "{file} does not belong to the key beside it.",
		"fault.pki.mismatch.next": "Restore both files from the same copy. Eggo makes no new authority for a cluster that may be running.",
		"fault.pki.damaged":       "{file} does not hold what its name says: {cause}",
		"fault.pki.damaged.next":  "Restore it from a copy. A damaged certificate of a node or a component may be removed with its key: both are made anew.",
		"fault.pki.lost":          "{file} is gone, and what was made with it is still there.",
		"fault.pki.lost.next":     "Restore it from a copy; a running cluster cannot do with another one. If no cluster runs any more, use cleanup first.",
		"fault.pki.expired":       "The authority {file} was valid until {until}.",
		"fault.pki.expired.next":  "Check this machine's clock. If it is right, the cluster needs a new authority: clean it up and deploy it again.",
		"fault.pki.clock":         "The authority {file} is valid from {from}, and this machine's clock says {now}.",
		"fault.pki.clock.next":    "Set this machine's clock.",
		"fault.pki.read":          "{file} cannot be read: {cause}",
		"fault.pki.read.next":     "Check its permissions; the state directory belongs to the user who deployed.",
		"fault.pki.write":         "{file} cannot be written: {cause}",
		"fault.pki.write.next":    "Check the disk and the permissions of the state directory.",
		"fault.pki.make":          "{file} cannot be made: {cause}",
		"fault.pki.make.next":     "Check the names and addresses in deploy.yaml.",
	}
}
