package config

import (
	"net"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxBastions on the way; more is a mistake, and each costs a handshake inside a handshake.
const maxBastions = 8

// bastion reads the hops: one as text in the way of ssh -J (user@host:port, several with commas), one map, or a list of both.
func (l *loader) bastion(v val) {
	switch {
	case isNull(v.node):
	case v.node.Kind == yaml.SequenceNode:
		l.items(v, l.bastionHop)
	default:
		l.bastionHop(v)
	}
	if len(l.c.Eggo.Bastions) > maxBastions {
		l.err(v, "config.bastions-many", "count", strconv.Itoa(len(l.c.Eggo.Bastions)), "max", strconv.Itoa(maxBastions))
	}
	seen := map[string]bool{}
	for _, b := range l.c.Eggo.Bastions {
		at := net.JoinHostPort(b.Host, strconv.Itoa(b.Port))
		if seen[at] {
			l.err(v, "config.bastion-twice", "value", at)
		}
		seen[at] = true
	}
}

func (l *loader) bastionHop(v val) {
	if v.node.Kind == yaml.ScalarNode {
		text, ok := l.line(v)
		if !ok {
			return
		}
		for hop := range strings.SplitSeq(text, ",") {
			b, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				l.err(v, "config.bastion", "value", clip(hop))
				return
			}
			l.c.Eggo.Bastions = append(l.c.Eggo.Bastions, b)
		}
		return
	}
	b := Bastion{Port: 22}
	l.fields(v, map[string]reader{
		"host":             l.text(&b.Host, ruleHost),
		"port":             l.integer(&b.Port, 1, 65535),
		"user":             l.text(&b.User, ruleUser),
		"private-key-path": l.text(&b.PrivateKeyPath, ruleLocalBase),
		"password":         l.secret(&b.Password),
		"password-from":    l.text(&b.PasswordFrom, ruleSource),
	})
	if v.node.Kind != yaml.MappingNode || !l.require(v, "host") || b.Host == "" {
		return
	}
	if b.Password != "" && b.PasswordFrom != "" {
		key := v.path + ".password-from"
		l.errAt(l.where(key), key, "config.two-secrets", "other", "password", "line", strconv.Itoa(l.where(v.path+".password").line))
	}
	l.c.Eggo.Bastions = append(l.c.Eggo.Bastions, b)
}

// parseHop reads [user@]host[:port], an IPv6 address in brackets.
func parseHop(s string) (Bastion, bool) {
	b := Bastion{Port: 22, Host: s}
	if user, rest, ok := strings.Cut(s, "@"); ok {
		if !ruleUser.ok(user) {
			return b, false
		}
		b.User, b.Host = user, rest
	}
	if host, port, err := net.SplitHostPort(b.Host); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
			return b, false
		}
		b.Host, b.Port = host, n
	} else if inner, ok := strings.CutPrefix(b.Host, "["); ok {
		b.Host = strings.TrimSuffix(inner, "]")
	}
	// Brackets are for IPv6 addresses alone.
	return b, ruleHost.ok(b.Host) && strings.Contains(s, "[") == strings.Contains(b.Host, ":")
}
