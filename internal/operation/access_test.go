package operation

import (
	"context"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// typed answers every secret with its ID, as a keeper of answers would find it.
type typed struct{ ids map[string]int }

func (a typed) Ask(_ context.Context, q ask.Question) (ask.Answer, error) {
	id := q.(ask.Secret).ID
	a.ids[id]++
	return ask.Answer{Secret: id}, nil
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

// says answers every question in the same way.
type says struct{ answer string }

func (a says) Ask(context.Context, ask.Question) (ask.Answer, error) {
	return ask.Answer{Secret: a.answer}, nil
}

// A secret of blanks and line breaks is missing, whatever it is for and wherever it comes from: nothing is logged in
// with it.
func TestAnEmptySecretIsMissing(t *testing.T) {
	named := map[string]func(*config.Cluster){
		"password": func(c *config.Cluster) { c.Eggo.PasswordFrom = "prompt" },
		"sudo":     func(c *config.Cluster) { c.Eggo.SudoPasswordFrom = "prompt" },
		"bastion": func(c *config.Cluster) {
			c.Eggo.Bastions = []config.Bastion{{Host: "b1", PasswordFrom: "prompt"}}
		},
		"password of a machine": func(c *config.Cluster) {
			c.Eggo.Machines = map[string]config.Login{"n1": {PasswordFrom: "prompt"}}
		},
		"sudo of a machine": func(c *config.Cluster) {
			c.Eggo.Machines = map[string]config.Login{"n1": {SudoPasswordFrom: "prompt"}}
		},
		"bastion of a machine": func(c *config.Cluster) {
			c.Eggo.Machines = map[string]config.Login{"n1": {OwnBastions: true,
				Bastions: []config.Bastion{{Host: "b1", PasswordFrom: "prompt"}}}}
		},
	}
	for what, name := range named {
		for _, blank := range []string{"", "\n", "\r\n", " ", "\t \n"} {
			kept := ask.Remember(says{answer: blank}, nil)
			told := ask.WithAnswers(ask.Nobody{}, map[string]string{"password": blank, "sudo": blank,
				"password n1": blank, "sudo n1": blank, "bastion root@b1:22": blank})
			askers := map[string]ask.Asker{"a prompt": says{answer: blank}, "before": told, "kept": kept}
			for from, asker := range askers {
				c := &config.Cluster{SSH: config.SSH{User: "root"}}
				name(c)
				err := ResolveSecrets(t.Context(), c, asker)
				if f := event.AsFault(err); f == nil || f.Code != "usage.secret" || f.Class != event.ClassUsage {
					t.Errorf("%s, %q from %s: %v", what, blank, from, err)
				}
			}
			if len(kept.Secrets()) > 0 {
				t.Errorf("%s, %q is kept, and would not be asked for again", what, blank)
			}
		}
	}
	c := &config.Cluster{SSH: config.SSH{User: "root"}}
	c.Eggo.PasswordFrom = "prompt"
	if err := ResolveSecrets(t.Context(), c, says{answer: " x "}); err != nil || c.SSH.Password != " x " {
		t.Errorf("%q %v", c.SSH.Password, err)
	}
}
