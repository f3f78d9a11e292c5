package config

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxBastions on the way; more is a mistake, and each costs a handshake inside a handshake.
const maxBastions = 8

// bastion reads the hops to all machines.
func (l *loader) bastion(v val) { l.c.Eggo.Bastions = l.bastions(v) }

// bastions reads hops: one as text in the way of ssh -J (user@host:port, several with commas), one map, or a list of
// both.
func (l *loader) bastions(v val) (out []Bastion) {
	switch {
	case isNull(v.node):
	case v.node.Kind == yaml.SequenceNode:
		l.items(v, func(v val) { out = append(out, l.bastionHop(v)...) })
	default:
		out = l.bastionHop(v)
	}
	if len(out) > maxBastions {
		l.err(v, "config.bastions-many", "count", strconv.Itoa(len(out)), "max", strconv.Itoa(maxBastions))
	}
	seen := map[string]bool{}
	for _, b := range out {
		at := net.JoinHostPort(b.Host, strconv.Itoa(b.Port))
		if seen[at] {
			l.err(v, "config.bastion-twice", "value", at)
		}
		seen[at] = true
	}
	return out
}

func (l *loader) bastionHop(v val) (out []Bastion) {
	if v.node.Kind == yaml.ScalarNode {
		text, ok := l.line(v)
		if !ok {
			return nil
		}
		for hop := range strings.SplitSeq(text, ",") {
			b, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				l.err(v, "config.bastion", "value", clip(hop))
				return out
			}
			out = append(out, b)
		}
		return out
	}
	var b Bastion
	l.fill("<hop>", &b)
	l.object(v, "<hop>", &b)
	if v.node.Kind != yaml.MappingNode || !l.require(v, l.table.needed("<hop>")...) || b.Host == "" {
		return nil
	}
	if b.Password != "" && b.PasswordFrom != "" {
		key := v.path + ".password-from"
		l.errAt(l.where(key), key, "config.two-secrets", "other", "password", "line",
			strconv.Itoa(l.where(v.path+".password").line))
	}
	return []Bastion{b}
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

// Login is how the bastion is logged in to, as user@host:port. user is who logs in where it has none of its own.
func (b Bastion) Login(user string) string {
	return cmp.Or(b.User, user) + "@" + net.JoinHostPort(b.Host, strconv.Itoa(cmp.Or(b.Port, 22)))
}

// Hops reads a way through bastions as ssh -J has it: user@host:port, several with commas between.
func Hops(text string) (out []Bastion, ok bool) {
	for hop := range strings.SplitSeq(text, ",") {
		b, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}
