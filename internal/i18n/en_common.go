package i18n

func enCommon() map[string]string {
	return map[string]string{
		"fault.internal":      "Something went wrong that has no name yet: {cause}",
		"fault.internal.next": "Please report it with the run's event log.",
	}
}
