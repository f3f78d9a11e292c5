package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// remoteShell is a shell of a node that runs one command line after another in one login, which takes seconds under
// emulation.
type remoteShell struct {
	cmd   command
	in    io.WriteCloser
	out   *bufio.Reader
	errs  words
	token string // what ends an output stands nowhere else
}

func (l *Lab) openShell(ctx context.Context, node string) (*remoteShell, error) {
	s := &remoteShell{cmd: command{l.SSH(ctx, node, "sh")}, token: rand.Text()}
	return s, s.start()
}

func (s *remoteShell) start() error {
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.out = bufio.NewReader(out)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	return s.cmd.Start()
}

// run runs a command line and returns its stdout; an error has what it and those before it wrote to stderr.
func (s *remoteShell) run(line string) (string, error) {
	if _, err := fmt.Fprintf(s.in, "( %s\n) </dev/null; echo %s $?\n", line, s.token); err != nil {
		return "", s.ended(err)
	}
	out, err := s.until(s.token + " ")
	if err != nil {
		return "", err
	}
	status, err := s.until("\n")
	if err != nil {
		return "", err
	}
	if status != "0" {
		return out, fmt.Errorf("%s: exit status %s%s", shorten(line), status, lastWords(s.errs.String()))
	}
	return out, nil
}

// until reads up to a text and returns what stands before it.
func (s *remoteShell) until(end string) (string, error) {
	var b strings.Builder
	for {
		part, err := s.out.ReadString(end[len(end)-1])
		b.WriteString(part)
		if before, ok := strings.CutSuffix(b.String(), end); ok {
			return before, nil
		}
		if err != nil {
			return "", s.ended(err)
		}
	}
}

// ended says why the shell is gone.
func (s *remoteShell) ended(err error) error {
	return errors.Join(fmt.Errorf("%s: %w%s", s.cmd.shown(), err, lastWords(s.errs.String())), s.close())
}

func (s *remoteShell) close() error {
	_ = s.in.Close()
	return s.cmd.Wait()
}

// words keeps what is written while it is read.
type words struct {
	sync.Mutex
	b strings.Builder
}

func (w *words) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.b.Write(p)
}

func (w *words) String() string {
	w.Lock()
	defer w.Unlock()
	return w.b.String()
}
