package remote

// Awaited is parseAwaited for tests.
func Awaited(what string) (state, process, lock string, ok bool) {
	a, ok := parseAwaited(mark{what: what})
	return a.state, a.process, a.lock, ok
}
