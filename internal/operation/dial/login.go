package dial

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// target is how a node is reached.
func (c *connections) target(n config.Node) remote.Target {
	all := c.access.Cluster
	t := remote.Target{
		Name: n.Name, Addr: n.IP.String(), Port: n.Port, User: all.SSH.User,
		Password: all.SSH.Password, SudoPassword: all.Eggo.SudoPassword, Agent: true,
		Passphrase: c.passphrase,
	}
	if t.SudoPassword == "" {
		t.SudoPassword = t.Password
	}
	t.Keys = c.keys(all.SSH.PrivateKeyPath, t.Password)
	return t
}

func (c *connections) passphrase(ctx context.Context, file string) (string, error) {
	if c.access.Asker == nil {
		return "", operation.ErrNobody
	}
	return c.access.Asker.Secret(ctx, operation.SecretQuestion{
		ID: "key " + file, From: "prompt", What: event.M("ask.passphrase", "file", file),
	})
}

// keys are the private keys that are offered: the one that is named, else, without a password, the user's own.
func (c *connections) keys(named, password string) []string {
	switch {
	case named != "":
		return []string{named}
	case password != "":
		return nil
	}
	return Keys(c.dialer.home)
}

// Keys are the private keys that a user has by the usual names.
func Keys(home string) []string {
	var out []string
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		p := filepath.Join(home, ".ssh", name)
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// bastion is the last of the bastions that deploy.yaml names, each behind the one before it; nil if there is none. All
// nodes share them.
func (c *connections) bastion() *remote.Bastion {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.access.Cluster
	if c.bastions != nil || len(all.Eggo.Bastions) == 0 {
		return c.lastBastion()
	}
	for _, b := range all.Eggo.Bastions {
		t := remote.Target{
			Name: b.Host, Addr: b.Host, Port: b.Port, User: cmp.Or(b.User, all.SSH.User), Agent: true,
			Passphrase: c.passphrase,
		}
		// A bastion with a key or a password of its own is not offered the machines'.
		t.Password = b.Password
		if b.Password == "" && b.PrivateKeyPath == "" {
			t.Password = all.SSH.Password
		}
		t.Keys = c.keys(cmp.Or(b.PrivateKeyPath, all.SSH.PrivateKeyPath), t.Password)
		if b.Password != "" && b.PrivateKeyPath == "" {
			t.Keys = nil
		}
		c.bastions = append(c.bastions, remote.NewBastion(t, c.options(c.lastBastion())))
	}
	return c.lastBastion()
}

func (c *connections) lastBastion() *remote.Bastion {
	if len(c.bastions) == 0 {
		return nil
	}
	return c.bastions[len(c.bastions)-1]
}
