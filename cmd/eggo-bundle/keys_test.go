package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
)

// TestAPassphraseIsTypedTwice: what cannot be meant is refused, and no key is made.
func TestAPassphraseIsTypedTwice(t *testing.T) {
	for _, c := range []struct{ first, second, code string }{
		{"", "", "keygen.empty"},
		{"horse", "hoarse", "keygen.different"},
		{"horse", "horse", ""},
	} {
		person, terminal := ptytest.New(t)
		asked := make(chan string, 2)
		env := &environment{Stdin: terminal, Stderr: prompts(asked), P: i18n.NewPrinter(i18n.English)}
		go func() {
			for _, answer := range []string{c.first, c.second} {
				<-asked
				fmt.Fprint(person, answer+"\n")
			}
		}()
		got, err := newPassphrase(t.Context(), env)
		var f *event.Fault
		if c.code == "" && (err != nil || string(got) != c.first) || c.code != "" &&
			(!errors.As(err, &f) || f.Code != c.code) {
			t.Errorf("%q, then %q: %q, %v", c.first, c.second, got, err)
		}
	}
}

// prompts tells of every question.
type prompts chan string

func (p prompts) Write(b []byte) (int, error) {
	if string(b) != "\n" {
		p <- string(b)
	}
	return len(b), nil
}
