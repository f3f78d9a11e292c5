package remote

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// answers holds the messages of a node during the authentication of one connection.
type answers struct {
	began    bool     // it answered the first request, so the key exchange is over
	allowed  []string // methods that it named last
	accepted []string // methods that it accepted, but that were not enough
	asks     []string // the questions of keyboard-interactive that it asked last
	answered string   // the question that the password was the answer to
}

// hear is an ssh.ClientConfig.AuthCallback that chooses nothing: it is called whenever the node has answered.
func (l *login) hear(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node.began, l.node.allowed, l.node.accepted = true, c.AllowedMethods, c.PartialSuccessMethods
	return nil, nil
}

// answer gives the password if that is what the node asks for by keyboard-interactive.
func (l *login) answer(_, _ string, questions []string, echos []bool) ([]string, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	l.mu.Lock()
	l.node.asks = questions
	l.mu.Unlock()
	// Anything but one hidden question is not the password's; an answer could give it to anyone who asks.
	if len(questions) != 1 || echos[0] {
		return nil, fmt.Errorf("the node asks %d questions, and not for a password alone", len(questions))
	}
	p, err := l.take("keyboard-interactive")
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node.answered = questions[0]
	return []string{p}, nil
}

// authenticating reports whether an error ended the authentication, and not the connection. sshd refuses a method in
// more ways than the library knows: with UsePAM no, for example, it refuses keyboard-interactive without a question.
func (l *login) authenticating(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ne net.Error
	return l.node.began && !errors.As(err, &ne) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// explain gives a login that ended with ssh.auth the code of its cause: a node that takes no passwords, or no keys, at
// all needs another fix than a wrong one, and so does a node that accepts what it was given and requires more.
func (l *login) explain(f *event.Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys, password := false, false
	for _, t := range l.tried {
		if strings.HasPrefix(t, "publickey ") {
			keys = true
		} else {
			password = true
		}
	}
	n := &l.node
	last := strings.Join(strings.Fields(strings.Join(n.asks, ", ")), " ")
	switch {
	case l.pending: // there were too many keys before it
	case len(n.accepted) > 0 && (!password || slices.Contains(n.accepted, "password")):
		l.further(f, strings.Join(n.allowed, ", "), last)
	case len(n.asks) > 0 && (!password || n.answered != "" && n.answered != n.asks[0]):
		l.further(f, "keyboard-interactive", last)
	case l.target.Password != "" && !password:
		_ = f.Recode("ssh.no-password-login")
	case l.target.Password == "" && !keys:
		_ = f.Recode("ssh.no-key-login")
	}
}

// further says what else the node requires. Its questions are its own words.
func (l *login) further(f *event.Fault, wanted, questions string) {
	if questions != "" {
		wanted = fmt.Sprintf("%s (%.100q)", wanted, questions)
	}
	f.Args["wanted"] = wanted
	_ = f.Recode("ssh.more-factors")
}
