package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

// TestAPassphraseIsTypedTwice: what cannot be meant is refused, and no key is made.
func TestAPassphraseIsTypedTwice(t *testing.T) {
	for _, c := range []struct{ first, second, code string }{
		{"", "", "keygen.empty"},
		{"horse", "hoarse", "keygen.different"},
		{"horse", "horse", ""},
	} {
		person, terminal := newTerminal(t)
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

// newTerminal is a terminal, with the end at which a person sits. It takes what is typed before it is asked, too.
func newTerminal(t *testing.T) (person io.Writer, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return master, terminal
}
