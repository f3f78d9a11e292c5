package remote

import "golang.org/x/crypto/ssh"

// Awaited is parseAwaited for tests.
func Awaited(what string) (state, process, lock string, ok bool) {
	a, ok := parseAwaited(mark{what: what})
	return a.state, a.process, a.lock, ok
}

// PublicKey is a key as in a .pub file.
func PublicKey(key ssh.PublicKey) string { return publicKey(key) }
