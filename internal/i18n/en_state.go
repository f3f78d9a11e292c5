package i18n

// enState are the sentences about what is kept: the state directory and its disk, formats, and the limits of the control host.
func enState() map[string]string {
	return map[string]string{
		"fault.preflight.descriptors":      "This host may have {limit} files open at a time, and connections to {nodes} {nodes:node|nodes} need {need}.",
		"fault.preflight.descriptors.next": "Raise the limit before the run: ulimit -n {need}, or LimitNOFILE={need} in the unit that starts it.",
	}
}
