package sign

import (
	"context"
	"errors"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// fromAgent finds the key that the line of a .pub file names in the agent that listens on socket.
func fromAgent(ctx context.Context, file, line, socket string) (*Signer, error) {
	key, err := publicKey(strings.TrimSpace(line))
	if err != nil {
		return nil, usage("sign.key-format", err, "file", file)
	}
	if u := usable(key); u != nil {
		return nil, usage(u.code, nil, append(u.kv, "file", file)...)
	}
	id := ssh.FingerprintSHA256(key)
	if socket == "" {
		return nil, usage("sign.agent", errors.New("SSH_AUTH_SOCK is not set"), "file", file)
	}
	unreachable := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return event.NewFault(event.ClassFailed, "sign.agent", err, "file", file)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, unreachable(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		return nil, errors.Join(unreachable(err), conn.Close())
	}
	for _, s := range signers {
		if a, ok := s.(ssh.AlgorithmSigner); ok && string(s.PublicKey().Marshal()) == string(key.Marshal()) {
			return &Signer{key: parsed{a, key}, close: conn.Close}, nil
		}
	}
	_ = conn.Close()
	return nil, usage("sign.agent-key", nil, "file", file, "key", id)
}

// parsed is an agent's signer with its key parsed: the agent's own form of a key says nothing of its length.
type parsed struct {
	ssh.AlgorithmSigner
	key ssh.PublicKey
}

func (p parsed) PublicKey() ssh.PublicKey { return p.key }
