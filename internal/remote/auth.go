package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// errSpent ends an authentication in which the password was refused already: a second try with the same one only brings a locked account
// nearer.
var errSpent = errors.New("the password was refused")

// maxKeys is how many keys are offered. sshd hangs up after six failures, and the password must have its turn before.
const maxKeys = 5

// login is what is offered to a node, and what was really offered in the last handshake.
type login struct {
	target  Target
	signers []ssh.Signer
	names   []string // of the signers
	close   func()

	mu    sync.Mutex
	tried []string
	spent bool
}

// newLogin reads the keys. It may ask for passphrases, so it comes before the connection.
func newLogin(ctx context.Context, t Target) (*login, error) {
	l := &login{target: t, close: func() {}}
	for _, file := range t.Keys {
		s, err := readKey(ctx, file, t.Passphrase)
		if err != nil {
			return nil, refused("ssh.key-file", err, "file", file)
		}
		l.signers, l.names = append(l.signers, s), append(l.names, file)
	}
	if t.Agent {
		if err := l.addAgent(ctx); err != nil && len(l.signers) == 0 && t.Password == "" {
			return nil, refused("ssh.agent", err)
		}
	}
	if len(l.signers) == 0 && t.Password == "" {
		return nil, refused("ssh.no-credentials", nil, "user", t.User)
	}
	return l, nil
}

// CheckKey says what is wrong with the file of a private key by itself. That nobody knows its passphrase yet is not wrong.
func CheckKey(file string) error {
	i, err := os.Stat(file)
	if err == nil && !i.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	if err == nil {
		_, err = readKey(context.Background(), file, func(context.Context, string) (string, error) { return "", errLocked })
	}
	if err == nil || errors.Is(err, errLocked) {
		return nil
	}
	return refused("ssh.key-file", err, "file", file)
}

var errLocked = errors.New("the key is encrypted")

func readKey(ctx context.Context, file string, ask func(context.Context, string) (string, error)) (ssh.Signer, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(raw)
	var missing *ssh.PassphraseMissingError
	if !errors.As(err, &missing) {
		return s, err
	}
	if ask == nil {
		return nil, errors.New("the key is encrypted and nobody can be asked for its passphrase")
	}
	pass, err := ask(ctx, file)
	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKeyWithPassphrase(raw, []byte(pass))
}

func (l *login) addAgent(ctx context.Context) error {
	sock := os.Getenv("SSH_AUTH_SOCK")
	if sock == "" {
		return errors.New("SSH_AUTH_SOCK is not set")
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", sock)
	if err != nil {
		return err
	}
	signers, err := agent.NewClient(c).Signers()
	if err != nil || len(signers) == 0 {
		_ = c.Close()
		if err == nil {
			err = errors.New("the agent has no keys")
		}
		return err
	}
	l.close = func() { _ = c.Close() }
	for _, s := range signers {
		if len(l.signers) < maxKeys {
			l.signers, l.names = append(l.signers, s), append(l.names, "agent "+ssh.FingerprintSHA256(s.PublicKey()))
		}
	}
	return nil
}

func (l *login) note(what string) {
	l.mu.Lock()
	l.tried = append(l.tried, what)
	l.mu.Unlock()
}

// take hands out the password, once for a handshake.
func (l *login) take(what string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spent {
		return "", errSpent
	}
	l.spent = true
	l.tried = append(l.tried, what)
	return l.target.Password, nil
}

// methods are for one handshake.
func (l *login) methods() []ssh.AuthMethod {
	l.mu.Lock()
	l.tried, l.spent = nil, false
	l.mu.Unlock()
	var m []ssh.AuthMethod
	if len(l.signers) > 0 {
		m = append(m, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			for _, n := range l.names {
				l.note("publickey " + n)
			}
			return l.signers, nil
		}))
	}
	if l.target.Password != "" {
		m = append(m,
			ssh.PasswordCallback(func() (string, error) { return l.take("password") }),
			ssh.KeyboardInteractive(func(_, _ string, questions []string, echos []bool) ([]string, error) {
				if len(questions) == 0 {
					return nil, nil
				}
				// Anything but one hidden question is not the password's; answering could give it to whoever asks.
				if len(questions) != 1 || echos[0] {
					return nil, fmt.Errorf("the node asks %d questions, and not for a password alone", len(questions))
				}
				p, err := l.take("keyboard-interactive")
				return []string{p}, err
			}))
	}
	return m
}

func (l *login) offered() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tried) == 0 {
		return []string{"none"}
	}
	return append([]string(nil), l.tried...)
}
