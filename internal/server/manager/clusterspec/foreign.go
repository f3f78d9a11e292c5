package clusterspec

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/spelling"
)

// refused returns why a request cannot set a key: it is unknown, or names a file or a password.
func refused(key string) Finding {
	if slices.ContainsFunc(config.Keys(), func(k config.Key) bool {
		return k.Path == key || strings.HasPrefix(k.Path, key+".")
	}) {
		return wrong("body.settings."+key, "setting", "key", key)
	}
	like := spelling.Nearest(key, config.SettableKeys())
	return wrong("body.settings."+key, "setting-unknown", "key", key, "like", like)
}

// foreign returns the files and passwords that the logins of machines and bastions name.
func foreign(c *config.Cluster) (out []Finding) {
	for _, l := range config.LocalLogins(c) {
		out = append(out, wrong("body.settings."+l.Key, "setting", "key", l.Path))
	}
	return out
}

// bastions returns what is wrong with the bastions to machines: none of them may be the server.
func (r Rules) bastions(c *config.Cluster) (out []Finding) {
	own := r.own()
	check := func(key string, list []config.Bastion) {
		for _, b := range list {
			if a, is := config.HostAddress(b.Host); is {
				out = append(out, taken("body.settings."+key, own, a, b.Host)...)
			}
		}
	}
	check("eggo.bastion", c.Eggo.Bastions)
	for _, name := range slices.Sorted(maps.Keys(c.Eggo.Machines)) {
		check("eggo.machines", c.Eggo.Machines[name].Bastions)
	}
	return out
}

// registriesOf returns registries as deploy.yaml has them.
func registriesOf(list []Registry, files []RegistryFiles) (map[string]config.RegistrySpec, []Finding) {
	var out []Finding
	all := map[string]config.RegistrySpec{}
	for i, r := range list {
		at := "body.registries[" + strconv.Itoa(i) + "]"
		_, twice := all[r.Host]
		switch {
		case r.Host == "":
			out = append(out, wrong(at+".host", "empty", "field", "host"))
		case twice:
			out = append(out, wrong(at+".host", "same-registry", "host", r.Host))
		}
		if r.CA != "" && !certificates(r.CA) {
			out = append(out, wrong(at+".ca", "registry-ca", "host", r.Host))
		}
		if r.Password != "" && config.Blank(r.Password) {
			out = append(out, wrong(at+".password", "empty", "field", "password"))
		}
		if r.Host != "" {
			all[r.Host] = config.RegistrySpec{Username: r.Username, PasswordFrom: from(files[i].Password),
				CAPath: files[i].CA}
		}
	}
	return all, out
}

// registryAt is the part of a request that a key below eggo.registries comes from, which has the host in it.
func registryAt(location string, list []Registry) string {
	key, is := strings.CutPrefix(location, "body.registries.")
	if !is {
		return location
	}
	fields := map[string]string{"": ".host", ".username": ".username", ".password-from": ".password", ".ca-path": ".ca"}
	for i, r := range list {
		if field, its := strings.CutPrefix(key, r.Host); its && fields[field] != "" {
			return "body.registries[" + strconv.Itoa(i) + "]" + fields[field]
		}
	}
	return "body.registries"
}

// certificates says whether a text is certificates in PEM, and nothing else.
func certificates(text string) bool {
	rest := []byte(text)
	for n := 0; ; n++ {
		block, more := pem.Decode(rest)
		if block == nil {
			return n > 0
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil || block.Type != "CERTIFICATE" {
			return false
		}
		rest = more
	}
}
