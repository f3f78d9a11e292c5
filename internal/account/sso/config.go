package sso

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/access"
	"github.com/eggo-k8s/eggo/internal/account"
	"github.com/eggo-k8s/eggo/internal/event"
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
}

// Group gives the members of a group of the provider a role.
type Group struct {
	Group   string      `yaml:"group"`
	Role    access.Role `yaml:"role"`
	Cluster string      `yaml:"cluster"` // empty: all
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
	var c Config
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
	out := account.Identity{Subject: issuer + " " + subject, Name: name, Grants: account.Grants{}}
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
			out.Grants[g.Cluster] = account.Higher(out.Grants[g.Cluster], g.Role)
		}
	}
	return out, nil
}
