// Package ask defines the questions of operations, and Asker, which front ends implement. It is separate from operation
// because front ends must not link SSH, phases and bundles.
//
// It imports no more than config and run/event. Begin reading at Asker.
package ask

import (
	"context"
	"errors"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ErrNobody is returned when no user can be asked.
var ErrNobody = errors.New("nobody is there to ask")

// Asker answers questions: a user at a terminal or a screen, or answers from before. It may be called by several
// goroutines at once. It ignores reports that it does not know.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one of Secret, HostKeys and Signer, or a report that has no answer: Progress or LoggedIn.
type Question interface{ question() }

// Answer of a question. The zero value answers reports, and refuses everything else.
type Answer struct {
	Secret  string
	Trusted []bool // for each of the host keys, or for the signer
}

// Secret asks for a password or passphrase.
type Secret struct {
	// ID names it, the same in every process: password, sudo, "bastion USER@HOST:PORT", "key FILE", "password NODE".
	ID string
	// From is the source in deploy.yaml: prompt, env:NAME, file:PATH.
	From string
	What event.Msg
}

// HostKeys asks which of the keys of unknown hosts are right.
type HostKeys struct {
	Keys []HostKey
	// Known compares keys with a known_hosts file that the user names; nil if nothing can.
	Known KnownHosts
}

// Signer asks whether a key that signed a bundle is trusted from now on.
type Signer struct{ Bundle, Name, Arch, Type, Fingerprint string }

// Progress reports what the user waits for.
type Progress struct {
	What event.Msg
	// Done of Total nodes have been logged in to, or cannot be reached. Total is 0 for any other wait.
	Done, Total int
}

// LoggedIn reports how a login to a node ended.
type LoggedIn struct{ Err error }

func (Secret) question()   {}
func (HostKeys) question() {}
func (Signer) question()   {}
func (Progress) question() {}
func (LoggedIn) question() {}

// ForSecret asks for a secret. A nil Asker is the same as Nobody.
func ForSecret(ctx context.Context, a Asker, q Secret) (string, error) {
	if a == nil {
		return "", ErrNobody
	}
	answer, err := a.Ask(ctx, q)
	return answer.Secret, err
}

// Trusts asks a question about trust, and reports whether all of it is trusted. A nil Asker is the same as Nobody.
func Trusts(ctx context.Context, a Asker, q Question) (bool, error) {
	if a == nil {
		return false, ErrNobody
	}
	answer, err := a.Ask(ctx, q)
	if err != nil || len(answer.Trusted) == 0 {
		return false, err
	}
	for _, yes := range answer.Trusted {
		if !yes {
			return false, nil
		}
	}
	return true, nil
}

// Tell makes a report. A nil Asker does not hear it.
func Tell(ctx context.Context, a Asker, report Question) {
	if a != nil {
		_, _ = a.Ask(ctx, report)
	}
}

// Nobody is an Asker without a user: it refuses unknown host keys, and returns ErrNobody for other questions.
type Nobody struct{}

// Ask implements Asker.
func (Nobody) Ask(_ context.Context, q Question) (Answer, error) {
	switch q := q.(type) {
	case Secret, Signer:
		return Answer{}, ErrNobody
	case HostKeys:
		return Answer{Trusted: make([]bool, len(q.Keys))}, nil
	}
	return Answer{}, nil
}
