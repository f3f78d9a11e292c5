// Package exitcode is the table of exit codes of eggo-tui and eggo-bundle, described for users in docs/exit-codes.md.
package exitcode

import (
	"context"
	"errors"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Code is an exit code of the programs.
type Code int

// The exit codes. They are part of the command line's interface: a number never changes its meaning.
const (
	OK          Code = 0   // done, and the world is as described
	Failed      Code = 1   // failed
	Usage       Code = 2   // usage error or invalid deploy.yaml; nothing was touched
	Partial     Code = 3   // finished, but some nodes failed or were skipped
	Auth        Code = 4   // authentication or host key problem, before any change
	Preflight   Code = 5   // preflight failed; nothing was touched
	Bundle      Code = 6   // the bundle is damaged or incomplete
	Locked      Code = 11  // another run holds the lock
	Interrupted Code = 130 // interrupted; can be resumed
)

// OfClass returns the exit code of a class of faults; an unknown class is a plain failure.
func OfClass(c event.Class) Code {
	switch c {
	case event.ClassUsage:
		return Usage
	case event.ClassPartial:
		return Partial
	case event.ClassAuth:
		return Auth
	case event.ClassPreflight:
		return Preflight
	case event.ClassBundle:
		return Bundle
	case event.ClassLocked:
		return Locked
	case event.ClassInterrupted:
		return Interrupted
	case event.ClassFailed:
	}
	return Failed
}

// Of returns the exit code of an error: that of the fault in its chain, Interrupted for a cancelled context, else
// Failed; OK for nil.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return OfClass(f.Class)
	}
	if errors.Is(err, context.Canceled) {
		return Interrupted
	}
	return Failed
}
