package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// asking returns an Asker that asks at the terminal, one question at a time, and each secret once. It reads secrets
// that stand in the environment or in a file.
func (env *environment) asking() ask.Asker {
	m := ask.Remember(ask.NewQueue(atTerminal{env}), nil)
	m.Blank = true
	return ask.WithStored(m, env.Getenv)
}

// answered returns an Asker that answers from earlier answers, files and the environment, and asks no user.
func (env *environment) answered(answers map[string]string) ask.Asker {
	return ask.WithStored(ask.WithAnswers(ask.Nobody{}, answers), env.Getenv)
}

// atTerminal asks the user at the terminal.
type atTerminal struct{ env *environment }

// Ask implements ask.Asker.
func (a atTerminal) Ask(ctx context.Context, q ask.Question) (out ask.Answer, err error) {
	switch q := q.(type) {
	case ask.Secret:
		out.Secret, err = askSecret(ctx, a.env, a.env.P.Msg(q.What))
	case ask.HostKeys:
		out.Trusted, err = keysAtTerminal(ctx, a.env, q)
	case ask.Signer:
		var yes bool
		yes, err = a.signer(ctx, q)
		out.Trusted = []bool{yes}
	case ask.Progress:
		if q.Total > 0 && q.Done == 0 {
			fmt.Fprintln(a.env.Stderr, a.env.P.T("front.greet", "count", fmt.Sprint(q.Total)))
		}
	}
	return out, err
}

func (a atTerminal) signer(ctx context.Context, q ask.Signer) (bool, error) {
	if _, person := terminal(a.env); !person {
		return false, ask.ErrNobody
	}
	line, err := askLine(ctx, a.env, a.env.P.T("ask.signer.line", "bundle", event.Clean(q.Bundle), "name", q.Name,
		"arch", q.Arch, "type", q.Type, "fingerprint", q.Fingerprint))
	answer := strings.ToLower(line)
	return answer == "y" || answer == "yes", err
}

// terminal is the file that a person answers at, if there is one.
func terminal(env *environment) (*os.File, bool) {
	f, ok := env.Stdin.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// askLine asks for a line at the terminal. An interruption ends the wait.
func askLine(ctx context.Context, env *environment, prompt string) (string, error) {
	fmt.Fprint(env.Stderr, prompt+" ")
	return interruptible(ctx, func() (string, error) { return readLine(env.Stdin) })
}

// askSecret asks without showing the answer, and gives the terminal back as it was, also when the wait is interrupted.
func askSecret(ctx context.Context, env *environment, prompt string) (string, error) {
	f, ok := terminal(env)
	if !ok {
		return "", errors.New("there is no terminal to ask at")
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(env.Stderr, prompt+" ")
	defer fmt.Fprintln(env.Stderr)
	answer, err := interruptible(ctx, func() (string, error) {
		data, err := term.ReadPassword(fd)
		return string(data), err
	})
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(fd, before))
	}
	return answer, err
}

// interruptible runs a read that no context can end; after an interruption its goroutine ends with the program.
func interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := read()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads byte by byte, so that the next question finds what follows the line.
func readLine(r io.Reader) (string, error) {
	var line strings.Builder
	one := make([]byte, 1)
	for line.Len() < 4096 {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		line.Write(one[:n])
		if errors.Is(err, io.EOF) && line.Len() > 0 {
			break
		}
		if err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(line.String()), nil
}

// needsYes returns the fault of a verb that must be confirmed where no user can be asked; nil if yes is set or
// there is a terminal.
func (env *environment) needsYes(yes bool, verb string) error {
	if _, person := terminal(env); yes || person {
		return nil
	}
	return event.NewFault(event.ClassUsage, "usage.needs-yes", nil, "verb", verb)
}
