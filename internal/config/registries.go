package config

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Registry is a registry that wants a login, or has a certificate of a CA that nodes do not know.
type Registry struct {
	Username     string
	Password     string
	PasswordFrom string // "", prompt, env:NAME, file:PATH
	CAPath       string // of the control host
	CA           []byte // what is in it, after ReadRegistryCAs
}

// hasLogin reports whether images are pulled from the registry with a login.
func (r Registry) hasLogin() bool { return r.Username != "" }

// BasicAuth is the login as an HTTP header has it; "" without one.
func (r Registry) BasicAuth() string {
	if !r.hasLogin() {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(r.Username+":"+r.Password))
}

// dockerHub is the name of docker.io in a docker configuration.
const dockerHub = "https://index.docker.io/v1/"

// PullLogins are the logins of registries as a docker configuration, which kubelets read; nil without one.
func (c *Cluster) PullLogins() ([]byte, error) {
	type login struct {
		Auth string `json:"auth"`
	}
	auths := map[string]login{}
	for host, r := range c.Eggo.Registries {
		if !r.hasLogin() {
			continue
		}
		if host == DefaultRegistry {
			host = dockerHub
		}
		auths[host] = login{base64.StdEncoding.EncodeToString([]byte(r.Username + ":" + r.Password))}
	}
	if len(auths) == 0 {
		return nil, nil
	}
	data, err := json.MarshalIndent(map[string]any{"auths": auths}, "", "  ")
	return append(data, '\n'), err
}

// ReadRegistryCAs reads the certificates that deploy.yaml names.
func (c *Cluster) ReadRegistryCAs() error {
	for _, host := range slices.Sorted(maps.Keys(c.Eggo.Registries)) {
		r := c.Eggo.Registries[host]
		if r.CAPath == "" {
			continue
		}
		data, _, err := readFile(r.CAPath)
		if err != nil {
			return err
		}
		if err := certificates(data); err != nil {
			return event.NewFault(event.ClassUsage, "config.registry-ca", err, "file", r.CAPath, "registry", host)
		}
		r.CA = data
		c.Eggo.Registries[host] = r
	}
	return nil
}

// certificates wants certificates in PEM, and nothing else.
func certificates(data []byte) error {
	count := 0
	for len(data) > 0 {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return errors.New("PEM block " + strconv.Quote(block.Type))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		count, data = count+1, rest
	}
	if count == 0 {
		return errors.New("no certificate in PEM format")
	}
	return nil
}

// registries takes eggo.registries: logins and CAs by host, or host:port.
func (l *loader) registries(list map[string]RegistrySpec) {
	if len(list) == 0 {
		return
	}
	l.c.Eggo.Registries = map[string]Registry{}
	for host, s := range list {
		path := "eggo.registries." + event.Clean(clip(host))
		text := func(key, said string) string { return l.word("<registry>."+key, below(path, key), said) }
		r := Registry{Username: text("username", s.Username), Password: text("password", s.Password),
			PasswordFrom: text("password-from", s.PasswordFrom), CAPath: text("ca-path", s.CAPath)}
		if !isHostPort(host) {
			l.errAt(l.nameAt("eggo.registries", host), l.written(path), "config.registry-host", "value", clip(host))
			continue
		}
		l.registryLogin(path, r)
		l.c.Eggo.Registries[host] = r
	}
}

// registryLogin compares the keys of one registry.
func (l *loader) registryLogin(path string, r Registry) {
	l.oneSecret(path, "password", r.Password, r.PasswordFrom)
	password := r.Password != "" || r.PasswordFrom != ""
	switch {
	case r.hasLogin() && !password:
		l.err(l.spot(path), "config.missing", "name", "password")
	case !r.hasLogin() && password:
		l.err(l.spot(path), "config.missing", "name", "username")
	case !password && r.CAPath == "":
		l.warn(l.spot(path), "config.registry-empty")
	}
}

// checkPrivate compares private registries with mirrors and insecure registries.
func (l *loader) checkPrivate() {
	for _, host := range slices.Sorted(maps.Keys(l.c.Eggo.Registries)) {
		r, key := l.c.Eggo.Registries[host], "eggo.registries."+host
		if r.CAPath != "" && l.c.InsecureHost(host) {
			l.errAt(l.where(key), key, "config.registry-ca-insecure", "value", host)
		}
		if !r.hasLogin() || l.c.Runtime == "containerd" {
			continue
		}
		for _, m := range l.c.Mirrors() {
			if u, err := url.Parse(m.URL); err == nil && u.Host == host {
				l.errAt(l.where(key), key, "config.mirror-login", "value", host, "runtime", l.c.Runtime)
			}
		}
	}
}
