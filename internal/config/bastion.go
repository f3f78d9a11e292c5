package config

import (
	"cmp"
	"net"
	"strconv"
	"strings"
)

// maxBastions on the way; more is a mistake, and each costs a handshake inside a handshake.
const maxBastions = 8

// bastions takes the hops at a path.
func (l *loader) bastions(path string, list []HopSpec) (out []Bastion) {
	for i, s := range list {
		at := itemKey(path, i)
		if l.bad[at] {
			continue
		}
		text := func(key, said string) string { return l.word("<hop>."+key, below(at, key), said) }
		b := Bastion{Host: text("host", s.Host), Port: l.number("<hop>.port", below(at, "port"), s.Port),
			User: text("user", s.User), PrivateKeyPath: text("private-key-path", s.PrivateKeyPath),
			Password: text("password", s.Password), PasswordFrom: text("password-from", s.PasswordFrom)}
		if !l.require(at, "<hop>", s) || b.Host == "" {
			continue
		}
		l.oneSecret(at, "password", b.Password, b.PasswordFrom)
		out = append(out, b)
	}
	v := l.spot(path)
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

// oneSecret reports a secret of a login that is both there and said to come from elsewhere.
func (l *loader) oneSecret(path, name, value, from string) {
	if value != "" && from != "" {
		l.err(l.spot(below(path, name+"-from")), "config.two-secrets", "other", name, "line",
			strconv.Itoa(l.spot(below(path, name)).pos.line))
	}
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
