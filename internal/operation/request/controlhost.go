package request

// OfControlHost returns the setting of a request that names a command to run or a file to read or write on the control
// host; "" if there is none. A user who can make such a request has the rights of the program there.
func OfControlHost(q Request) string {
	if h := q.Base().Hooks; len(h.Before)+len(h.After) > 0 {
		return "hooks"
	}
	name, value := "", ""
	switch q := q.(type) {
	case Upgrade:
		name, value = "probe", q.Probe
	case Snapshot:
		name, value = "out", q.Out
	case Backup:
		name, value = "dir", q.Dir
	case Import:
		name, value = "from-eggo", q.EggoDir
	}
	if value == "" {
		return ""
	}
	return name
}
