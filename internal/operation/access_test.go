package operation

import (
	"context"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// typed answers every secret with its ID, as a keeper of answers would find it.
type typed struct {
	Asker
	ids map[string]int
}

func (a typed) Secret(_ context.Context, q SecretQuestion) (string, error) {
	a.ids[q.ID]++
	return q.ID, nil
}

// Logins to one bastion as different users, or on different ports, have secrets of their own.
func TestLoginsOfOneBastion(t *testing.T) {
	hop := func(user string, port int) []config.Bastion {
		return []config.Bastion{{Host: "2001:db8::1", Port: port, User: user, PasswordFrom: "prompt"}}
	}
	c := &config.Cluster{SSH: config.SSH{User: "ops"}}
	c.Eggo.Bastions = hop("", 22)
	c.Eggo.Machines = map[string]config.Login{
		"m1": {OwnBastions: true, Bastions: hop("admin", 22)},
		"m2": {OwnBastions: true, Bastions: hop("ops", 2222)},
		"m3": {OwnBastions: true, Bastions: hop("ops", 0)}, // the cluster's, in other words
	}
	a := typed{ids: map[string]int{}}
	if err := ResolveSecrets(t.Context(), c, a); err != nil {
		t.Fatal(err)
	}
	for id, n := range map[string]int{
		"bastion ops@[2001:db8::1]:22": 2, "bastion admin@[2001:db8::1]:22": 1, "bastion ops@[2001:db8::1]:2222": 1,
	} {
		if a.ids[id] != n {
			t.Errorf("%s: asked for %d times, want %d: %v", id, a.ids[id], n, a.ids)
		}
	}
}
