package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
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

// target is how a node is reached.
func (s *session) target(n config.Node) remote.Target {
	t := remote.Target{
		Name: n.Name, Addr: n.IP.String(), Port: n.Port, User: s.cluster.SSH.User,
		Password: s.cluster.SSH.Password, SudoPassword: s.cluster.Eggo.SudoPassword, Agent: true,
		Passphrase: s.passphrase,
	}
	if t.SudoPassword == "" {
		t.SudoPassword = t.Password
	}
	t.Keys = s.keys(s.cluster.SSH.PrivateKeyPath, t.Password)
	return t
}

func (s *session) passphrase(ctx context.Context, file string) (string, error) {
	s.ask.Lock()
	defer s.ask.Unlock()
	return s.env.asker().secret(ctx, "key "+file, event.M("ask.passphrase", "file", file))
}

// keys are the private keys that are offered: the one that is named, else, without a password, the user's own.
func (s *session) keys(named, password string) []string {
	if named != "" {
		return []string{named}
	}
	var out []string
	if password == "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			if p := filepath.Join(s.env.Getenv("HOME"), ".ssh", name); exists(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// via is the last of the bastions that deploy.yaml names, each behind the one before it; nil if there is none. All nodes share them.
func (s *session) via() *remote.Bastion {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bastions != nil || len(s.cluster.Eggo.Bastions) == 0 {
		return s.lastBastion()
	}
	for _, b := range s.cluster.Eggo.Bastions {
		t := remote.Target{Name: b.Host, Addr: b.Host, Port: b.Port, User: cmp.Or(b.User, s.cluster.SSH.User), Agent: true, Passphrase: s.passphrase}
		// A hop with a key or a password of its own is not offered the machines'.
		t.Password = b.Password
		if b.Password == "" && b.PrivateKeyPath == "" {
			t.Password = s.cluster.SSH.Password
		}
		t.Keys = s.keys(cmp.Or(b.PrivateKeyPath, s.cluster.SSH.PrivateKeyPath), t.Password)
		if b.Password != "" && b.PrivateKeyPath == "" {
			t.Keys = nil
		}
		s.bastions = append(s.bastions, remote.NewBastion(t, s.wayOptions(s.lastBastion())))
	}
	return s.lastBastion()
}

func (s *session) lastBastion() *remote.Bastion {
	if len(s.bastions) == 0 {
		return nil
	}
	return s.bastions[len(s.bastions)-1]
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func (s *session) remoteOptions() remote.Options { return s.wayOptions(s.via()) }

func (s *session) wayOptions(via *remote.Bastion) remote.Options {
	known := s.cluster.Eggo.KnownHosts
	if known == "" {
		known = filepath.Join(s.dir, "known_hosts")
	}
	s.sharing.Do(func() { s.shared = remote.NewShared(remote.Limits{}) })
	return remote.Options{Via: via, HostKeys: s.policy, KnownHosts: known, Ask: s.askHostKey, Step: engine.StepID,
		LegacyAlgorithms: s.cluster.Eggo.SSHLegacyAlgorithms, Shared: s.shared,
		Emit: func(e event.Event) { _ = s.bus.Emit(e) }}
}

// askHostKey asks about a first contact: at the terminal one key at a time.
func (s *session) askHostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	if s.env.Ask == nil {
		s.ask.Lock()
		defer s.ask.Unlock()
	}
	return s.env.asker().hostKey(ctx, q)
}
