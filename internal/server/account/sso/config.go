package sso

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// Config says which provider there is. It is a file in YAML; with the client's secret in it, it is for the owner alone.
type Config struct {
	Issuer       string   `yaml:"issuer"`
	ClientID     string   `yaml:"client-id"`
	ClientSecret string   `yaml:"client-secret"`
	URL          string   `yaml:"url"` // of this server, as browsers know it
	CA           string   `yaml:"ca"`  // file with the CAs of the provider; empty: those of the system
	Scopes       []string `yaml:"scopes"`
	NameClaim    string   `yaml:"name-claim"`
	GroupsClaim  string   `yaml:"groups-claim"`
	Groups       []Group  `yaml:"groups"`

	path string
}

// Group gives the members of a group of the provider a role.
type Group struct {
	Group   string      `yaml:"group"`
	Role    access.Role `yaml:"role"`
	Cluster string      `yaml:"cluster"` // empty: all
	// Since is when the entry was written: a cluster of this name that was deleted after that is another one.
	Since time.Time `yaml:"since"`
}

// Load reads the file.
func Load(path string) (Config, error) {
	fail := func(err error) (Config, error) {
		return Config{}, event.NewFault(event.ClassUsage, "sso.config", err, "path", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Config{}, event.NewFault(event.ClassUsage, "sso.mode", nil, "path", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return fail(err)
	}
	c := Config{path: path}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		return fail(err)
	}
	if err := c.complete(); err != nil {
		return fail(err)
	}
	return c, nil
}

// complete checks the configuration and fills in what may be absent.
func (c *Config) complete() error {
	c.URL = strings.TrimSuffix(c.URL, "/")
	for key, text := range map[string]string{"issuer": c.Issuer, "url": c.URL} {
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" {
			return errors.New(key + ": not an https:// URL")
		}
	}
	if c.ClientID == "" {
		return errors.New("client-id is empty")
	}
	if len(c.Groups) == 0 {
		return errors.New("groups is empty: nobody would have a role")
	}
	for _, g := range c.Groups {
		if g.Group == "" || !g.Role.May(access.View) {
			return errors.New("groups: " + g.Group + ": it needs a name, and one of the roles viewer, operator, admin")
		}
	}
	if c.NameClaim == "" {
		c.NameClaim = "preferred_username"
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"openid", "profile", "email", "groups"}
	}
	return nil
}

// identity is what claims mean to this server.
func (c *Config) identity(issuer, subject string, claims map[string]any) (account.Identity, error) {
	name, _ := claims[c.NameClaim].(string)
	if name == "" {
		return account.Identity{}, event.NewFault(event.ClassAuth, "sso.no-name", nil, "claim", c.NameClaim)
	}
	out := account.Identity{Subject: issuer + " " + subject, Name: name}
	member := map[string]bool{}
	switch list := claims[c.GroupsClaim].(type) {
	case string:
		member[list] = true
	case []any:
		for _, g := range list {
			if s, ok := g.(string); ok {
				member[s] = true
			}
		}
	}
	for _, g := range c.Groups {
		switch {
		case !member[g.Group]:
		case g.Cluster == "":
			out.Role = account.Higher(out.Role, g.Role)
		default:
			out.Given = append(out.Given, g.given())
		}
	}
	return out, nil
}

// given is the role on a cluster that a group gives.
func (g Group) given() account.Given {
	return account.Given{Cluster: g.Cluster, Role: g.Role, Since: g.Since}
}

// Lapsed says of which groups the role on a cluster does not count, because the cluster that it was for was deleted.
func (c *Config) Lapsed(ctx context.Context, a *account.Accounts) ([]event.Msg, error) {
	var list []account.Given
	for _, g := range c.Groups {
		list = append(list, g.given())
	}
	gone, err := a.Lapsed(ctx, list)
	var out []event.Msg
	for _, g := range c.Groups {
		if at, is := gone[g.given()]; is {
			out = append(out, event.M("server.sso-lapsed", "file", c.path, "group", g.Group, "role", string(g.Role),
				"cluster", g.Cluster, "time", at.Format(time.RFC3339)))
		}
	}
	return out, err
}
