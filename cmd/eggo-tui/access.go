package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// hostKeyPolicy is the flag's, else ask on a terminal and strict without one.
func hostKeyPolicy(flag string, env *environment) (remote.Policy, error) {
	switch flag {
	case "ask":
		return remote.Ask, nil
	case "strict":
		return remote.Strict, nil
	case "accept-new":
		return remote.AcceptNew, nil
	case "":
		if _, ok := terminal(env); ok || env.Ask != nil {
			return remote.Ask, nil
		}
		return remote.Strict, nil
	}
	return remote.Strict, event.NewFault(event.ClassUsage, "usage.host-keys", nil, "value", flag)
}

// resolveSecrets replaces the sources of secrets that deploy.yaml names by the secrets.
func resolveSecrets(ctx context.Context, env *environment, c *config.Cluster) error {
	type source struct {
		from string
		to   *string
		id   string
		ask  event.Msg
	}
	sources := []source{
		{c.Eggo.PasswordFrom, &c.SSH.Password, "password", event.M("ask.password", "user", c.SSH.User)},
		{c.Eggo.SudoPasswordFrom, &c.Eggo.SudoPassword, "sudo", event.M("ask.sudo", "user", c.SSH.User)},
	}
	for i := range c.Eggo.Bastions {
		b := &c.Eggo.Bastions[i]
		sources = append(sources, source{b.PasswordFrom, &b.Password, "bastion " + b.Host, event.M("ask.bastion", "host", b.Host, "user", cmp.Or(b.User, c.SSH.User))})
	}
	for _, s := range sources {
		if s.from == "" {
			continue
		}
		v, err := secret(ctx, env, s.from, s.id, s.ask)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return event.NewFault(event.ClassUsage, "usage.secret", err, "what", s.from)
		}
		*s.to = v
	}
	return nil
}

func secret(ctx context.Context, env *environment, from, id string, what event.Msg) (string, error) {
	kind, rest, _ := strings.Cut(from, ":")
	switch kind {
	case "prompt":
		return env.asker().secret(ctx, id, what)
	case "env":
		if v := env.Getenv(rest); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("%s is not set", rest)
	case "file":
		data, err := os.ReadFile(rest)
		return strings.TrimRight(string(data), "\r\n"), err
	}
	return "", fmt.Errorf("unknown source %q", kind)
}

// reach makes what it takes to connect to the nodes; nothing is dialled.
func (s *session) reach() error { return s.reachAs(sessionAsker{s}) }

func (s *session) reachAs(a operation.Asker) (err error) {
	s.conns, err = dial.New(dial.Options{Home: s.env.Getenv("HOME")}).Connections(operation.Access{
		Cluster: s.cluster, HostKeys: s.policy, Asker: a, Emit: func(e event.Event) { _ = s.bus.Emit(e) },
		KnownHosts: func() string { return cmp.Or(s.cluster.Eggo.KnownHosts, filepath.Join(s.dir, "known_hosts")) },
	})
	return err
}

// sessionAsker is whoever a session asks when there is a question, at the terminal one question at a time.
type sessionAsker struct{ s *session }

// Secret implements operation.Asker.
func (a sessionAsker) Secret(ctx context.Context, q operation.SecretQuestion) (string, error) {
	a.s.ask.Lock()
	defer a.s.ask.Unlock()
	return a.s.env.asker().secret(ctx, q.ID, q.What)
}

// HostKey implements operation.Asker.
func (a sessionAsker) HostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	if a.s.env.Ask == nil {
		a.s.ask.Lock()
		defer a.s.ask.Unlock()
	}
	return a.s.env.asker().hostKey(ctx, q)
}

// Signer implements operation.Asker.
func (a sessionAsker) Signer(ctx context.Context, q operation.SignerQuestion) (bool, error) {
	return a.s.env.asker().signer(ctx, backend.Signer(q))
}

// LoggedIn implements operation.Logins.
func (a sessionAsker) LoggedIn(err error) {
	if screen, is := a.s.env.Ask.(*screenAsker); is {
		screen.led(err)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
