package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// asker asks somebody for what is written down nowhere.
type asker interface {
	// secret asks for a password or passphrase; id names it, the same in every process.
	secret(ctx context.Context, id string, what event.Msg) (string, error)
	// hostKey asks whether the key of a machine that is contacted for the first time is right.
	hostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error)
	// signer asks whether a key that signed a bundle is to be trusted from now on. Where nobody can say, the error is
	// errNobody.
	signer(ctx context.Context, q backend.Signer) (bool, error)
}

// errNobody: there is nobody to ask.
var errNobody = operation.ErrNobody

// answering answers an operation: what stands in the environment or in a file by itself, all else by asking.
type answering struct {
	asker
	getenv func(string) string
}

// Secret implements operation.Asker.
func (a answering) Secret(ctx context.Context, q operation.SecretQuestion) (string, error) {
	if v, asked, err := host.Stored(q, a.getenv); !asked {
		return v, err
	}
	return a.secret(ctx, q.ID, q.What)
}

// HostKey implements operation.Asker.
func (a answering) HostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	return a.hostKey(ctx, q)
}

// Signer implements operation.Asker.
func (a answering) Signer(ctx context.Context, q operation.SignerQuestion) (bool, error) {
	return a.signer(ctx, backend.Signer(q))
}

// Expect implements operation.Progress.
func (a answering) Expect(nodes int) {
	if g, is := a.asker.(greeter); is {
		g.expect(nodes)
	}
}

// Met implements operation.Progress.
func (a answering) Met(ctx context.Context, nodes int) {
	if g, is := a.asker.(greeter); is {
		g.met(ctx, nodes)
	}
}

// atTerminal asks the person at the terminal.
type atTerminal struct{ env *environment }

func (a atTerminal) secret(ctx context.Context, _ string, what event.Msg) (string, error) {
	return askSecret(ctx, a.env, a.env.P.Msg(what))
}

func (a atTerminal) hostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	trusted, err := keysAtTerminal(a.env)(ctx, []backend.HostKey{backend.HostKey(q)})
	return err == nil && len(trusted) == 1 && trusted[0], err
}

func (a atTerminal) signer(ctx context.Context, q backend.Signer) (bool, error) {
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
