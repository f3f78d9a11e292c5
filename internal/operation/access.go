package operation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// hostKeyPolicy is what was said, else ask where somebody answers and strict where nobody does.
func hostKeyPolicy(said string, d Deps) (remote.Policy, error) {
	switch said {
	case "ask":
		return remote.Ask, nil
	case "strict":
		return remote.Strict, nil
	case "accept-new":
		return remote.AcceptNew, nil
	case "":
		if d.Asker != nil && !d.Unattended {
			return remote.Ask, nil
		}
		return remote.Strict, nil
	}
	return remote.Strict, event.NewFault(event.ClassUsage, "usage.host-keys", nil, "value", said)
}

// fromUser is the source of a secret that a user is prompted for.
const fromUser = "prompt"

const keyQuestion = "key "

// KeyQuestion is the ID of the question for the passphrase of a private key.
func KeyQuestion(file string) string { return keyQuestion + file }

// KeyOf returns the file of the key that a question with this ID asks the passphrase of, and whether it is one.
func KeyOf(id string) (file string, is bool) { return strings.CutPrefix(id, keyQuestion) }

// IsKeyQuestion reports whether an ID is that of such a question, and has the path of a file.
func IsKeyQuestion(id string) bool { return strings.HasPrefix(id, keyQuestion) }

// Asks are the IDs of the questions for secrets that a run of a cluster may ask, sorted: what deploy.yaml says is asked
// for, and the passphrases of the private keys that it names.
func Asks(c *config.Cluster) []string {
	list, _ := loginSecrets(c)
	keys := []string{c.SSH.PrivateKeyPath}
	hops := slices.Clone(c.Eggo.Bastions)
	for _, l := range c.Eggo.Machines {
		keys, hops = append(keys, l.PrivateKeyPath), append(hops, l.Bastions...)
	}
	for _, b := range hops {
		keys = append(keys, b.PrivateKeyPath)
	}
	var out []string
	for _, s := range list {
		if s.From == fromUser {
			out = append(out, s.ID)
		}
	}
	for host, r := range c.Eggo.Registries {
		if r.PasswordFrom == fromUser {
			out = append(out, registryQuestion(host))
		}
	}
	for _, file := range keys {
		if file != "" {
			out = append(out, KeyQuestion(file))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func registryQuestion(host string) string { return "registry " + host }

// loginSecrets are the secrets of all logins with the places where they belong: those of single machines are in copies
// of their logins.
func loginSecrets(c *config.Cluster) ([]secret, map[string]*config.Login) {
	user := c.SSH.User
	secrets := []secret{
		{ask.Secret{ID: "password", From: c.Eggo.PasswordFrom, What: event.M("ask.password", "user", user)},
			&c.SSH.Password},
		{ask.Secret{ID: "sudo", From: c.Eggo.SudoPasswordFrom, What: event.M("ask.sudo", "user", user)},
			&c.Eggo.SudoPassword},
	}
	secrets = append(secrets, bastionSecrets(c.Eggo.Bastions, user)...)
	logins := map[string]*config.Login{}
	for _, name := range slices.Sorted(maps.Keys(c.Eggo.Machines)) {
		l := c.Eggo.Machines[name]
		user := cmp.Or(l.User, user)
		password := event.M("ask.password-node", "user", user, "node", name)
		sudo := event.M("ask.sudo-node", "user", user, "node", name)
		secrets = append(secrets,
			secret{ask.Secret{ID: "password " + name, From: l.PasswordFrom, What: password}, &l.Password},
			secret{ask.Secret{ID: "sudo " + name, From: l.SudoPasswordFrom, What: sudo}, &l.SudoPassword})
		secrets = append(secrets, bastionSecrets(l.Bastions, user)...)
		logins[name] = &l
	}
	return secrets, logins
}

// ResolveSecrets replaces the sources of secrets that deploy.yaml names by the secrets.
func ResolveSecrets(ctx context.Context, c *config.Cluster, a ask.Asker) error {
	secrets, logins := loginSecrets(c)
	for _, s := range secrets {
		if err := s.resolve(ctx, a); err != nil {
			return err
		}
	}
	for name, l := range logins {
		c.Eggo.Machines[name] = *l
	}
	return nil
}

// registrySecrets replaces the sources of the passwords of private registries by the passwords.
func registrySecrets(ctx context.Context, c *config.Cluster, a ask.Asker) error {
	for _, host := range slices.Sorted(maps.Keys(c.Eggo.Registries)) {
		r := c.Eggo.Registries[host]
		s := secret{ask.Secret{ID: registryQuestion(host), From: r.PasswordFrom,
			What: event.M("ask.registry", "host", host, "user", r.Username)}, &r.Password}
		if err := s.resolve(ctx, a); err != nil {
			return err
		}
		c.Eggo.Registries[host] = r
	}
	return nil
}

// secret is one that may have to be asked for, and its place.
type secret struct {
	ask.Secret
	to *string
}

func bastionSecrets(bastions []config.Bastion, user string) (out []secret) {
	for i := range bastions {
		b := &bastions[i]
		user := cmp.Or(b.User, user)
		what := event.M("ask.bastion", "host", b.Host, "user", user)
		q := ask.Secret{ID: "bastion " + b.Login(user), From: b.PasswordFrom, What: what}
		out = append(out, secret{q, &b.Password})
	}
	return out
}

// errEmpty says that a secret is empty.
var errEmpty = errors.New("it is empty")

func (s secret) resolve(ctx context.Context, a ask.Asker) error {
	if s.From == "" {
		return nil
	}
	v, err := ask.ForSecret(ctx, a, s.Secret)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && config.Blank(v) { // else the login would be tried as if deploy.yaml named no secret
		err = errEmpty
	}
	if err != nil {
		return event.NewFault(event.ClassUsage, "usage.secret", err, "what", s.From)
	}
	*s.to = v
	return nil
}

// access is how the nodes of the operation are logged in to.
func (p *prepared) access(policy remote.Policy) Access {
	return Access{
		Cluster: p.cluster, HostKeys: policy, Asker: p.deps.Asker, Accepted: p.request.Base().Accepted,
		KnownHosts: func() string {
			return cmp.Or(p.known, p.cluster.Eggo.KnownHosts, filepath.Join(p.files.Dir(), "known_hosts"))
		},
		AlsoKnown: func() []string { return p.also },
		Emit:      func(e event.Event) { _ = p.emit(e) },
		Added:     func(ctx context.Context) error { return p.files.Persist(ctx, phases.KeptKnownHosts) },
	}
}
