package operationtest

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
)

// User is a ask.Asker: each secret is Password, and every key is trusted.
type User struct{ Asked []string } // the keys of the questions for secrets

// Password is every secret of a User.
const Password = "open sesame"

// Ask implements ask.Asker.
func (u *User) Ask(_ context.Context, q ask.Question) (ask.Answer, error) {
	switch q := q.(type) {
	case ask.Secret:
		u.Asked = append(u.Asked, q.What.Key)
		return ask.Answer{Secret: Password}, nil
	case ask.HostKeys:
		return ask.Answer{Trusted: slices.Repeat([]bool{true}, len(q.Keys))}, nil
	case ask.Signer:
		return ask.Answer{Trusted: []bool{true}}, nil
	}
	return ask.Answer{}, nil
}
