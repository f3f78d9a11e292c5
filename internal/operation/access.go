package operation

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/remote"
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

// resolveSecrets replaces the sources of secrets that deploy.yaml names by the secrets.
func resolveSecrets(ctx context.Context, c *config.Cluster, a Asker) error {
	type secret struct {
		SecretQuestion
		to *string
	}
	user := c.SSH.User
	secrets := []secret{
		{SecretQuestion{"password", c.Eggo.PasswordFrom, event.M("ask.password", "user", user)}, &c.SSH.Password},
		{SecretQuestion{"sudo", c.Eggo.SudoPasswordFrom, event.M("ask.sudo", "user", user)}, &c.Eggo.SudoPassword},
	}
	for i := range c.Eggo.Bastions {
		b := &c.Eggo.Bastions[i]
		what := event.M("ask.bastion", "host", b.Host, "user", cmp.Or(b.User, user))
		secrets = append(secrets, secret{SecretQuestion{"bastion " + b.Host, b.PasswordFrom, what}, &b.Password})
	}
	for _, s := range secrets {
		if s.From == "" {
			continue
		}
		v, err := "", ErrNobody
		if a != nil {
			v, err = a.Secret(ctx, s.SecretQuestion)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return event.NewFault(event.ClassUsage, "usage.secret", err, "what", s.From)
		}
		*s.to = v
	}
	return nil
}

// access is how the nodes of the operation are logged in to.
func (p *prepared) access(policy remote.Policy) Access {
	return Access{
		Cluster: p.cluster, HostKeys: policy, Asker: p.deps.Asker,
		KnownHosts: func() string {
			return cmp.Or(p.cluster.Eggo.KnownHosts, filepath.Join(p.files.Dir(), "known_hosts"))
		},
		Emit:  func(e event.Event) { _ = p.emit(e) },
		Added: func(ctx context.Context) error { return p.files.Persist(ctx, phases.KeptKnownHosts) },
	}
}
