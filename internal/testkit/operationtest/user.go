package operationtest

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// User is a backend.Asker: each secret is Password, and every key is trusted.
type User struct{ Asked []string } // the keys of the questions for secrets

// Password is every secret of a User.
const Password = "open sesame"

// Secret implements backend.Asker.
func (u *User) Secret(_ context.Context, what event.Msg) (string, error) {
	u.Asked = append(u.Asked, what.Key)
	return Password, nil
}

// Signer implements backend.Asker.
func (u *User) Signer(context.Context, backend.Signer) (bool, error) { return true, nil }

// HostKeys implements backend.Asker.
func (u *User) HostKeys(_ context.Context, keys []backend.HostKey, _ backend.KnownHosts) ([]bool, error) {
	return slices.Repeat([]bool{true}, len(keys)), nil
}

// Doing implements backend.Asker.
func (u *User) Doing(event.Msg) {}
