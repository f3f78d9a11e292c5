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
	l := c.access.Cluster.LoginOf(n.Name)
	return remote.Target{
		Name: n.Name, Addr: n.IP.String(), Port: n.Port, User: l.User,
		Password: l.Password, SudoPassword: l.SudoPassword, Keys: c.keys(l.PrivateKeyPath, l.Password), Agent: true,
		Passphrase: c.passphrase,
	}
}

func (c *connections) passphrase(ctx context.Context, file string) (string, error) {
	if c.access.Asker == nil {
		return "", operation.ErrNobody
	}
	return c.access.Asker.Secret(ctx, operation.SecretQuestion{
		ID: operation.KeyQuestion(file), From: "prompt", What: event.M("ask.passphrase", "file", file),
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

// bastion is the last of those to a node; nil if there is none. All nodes share the cluster's.
func (c *connections) bastion(n config.Node) *remote.Bastion {
	c.mu.Lock()
	defer c.mu.Unlock()
	login, of := c.access.Cluster.LoginOf(n.Name), ""
	if login.OwnBastions {
		of = n.Name
	} else {
		login = c.access.Cluster.LoginOf("")
	}
	last, made := c.last[of]
	if made {
		return last
	}
	for _, b := range login.Bastions {
		t := remote.Target{
			Name: b.Host, Addr: b.Host, Port: b.Port, User: cmp.Or(b.User, login.User), Agent: true,
			Passphrase: c.passphrase,
		}
		// A bastion with a key or a password of its own is not offered the machines'.
		t.Password = b.Password
		if b.Password == "" && b.PrivateKeyPath == "" {
			t.Password = login.Password
		}
		t.Keys = c.keys(cmp.Or(b.PrivateKeyPath, login.PrivateKeyPath), t.Password)
		if b.Password != "" && b.PrivateKeyPath == "" {
			t.Keys = nil
		}
		last = remote.NewBastion(t, c.options(last))
		c.bastions = append(c.bastions, last)
	}
	c.last[of] = last
	return last
}
