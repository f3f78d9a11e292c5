package i18n

func unprovoked() map[string]bool { return nil }
