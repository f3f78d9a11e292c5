//go:build !faults

package event

// Recording says whether Provoked keeps what it gets: only in tests built with the tag "faults" (make test-race).
const Recording = false

// Provoked is told of every fault that is made.
func Provoked(*Fault) {}
