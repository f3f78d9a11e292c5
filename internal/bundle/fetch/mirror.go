package fetch

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Mirrors map where things are fetched from; names stay upstream's. From is a URL prefix (https://dl.k8s.io), mapped to
// another URL prefix, or a registry's host (registry.k8s.io), mapped to host[/prefix].
type Mirrors struct {
	urls     [][2]string
	registry map[string]string
}

// ParseMirrors reads FROM=TO pairs. Plain http is accepted for loopback, and where FROM is plain http itself (signed
// package repositories). The fault is "fetch.mirror", class usage.
func ParseMirrors(pairs []string) (*Mirrors, error) {
	m := &Mirrors{registry: map[string]string{}}
	for _, p := range pairs {
		from, to, ok := strings.Cut(p, "=")
		from, to = strings.TrimSuffix(strings.TrimSpace(from), "/"), strings.TrimSuffix(strings.TrimSpace(to), "/")
		var err error
		switch {
		case !ok || from == "" || to == "":
			err = fmt.Errorf("%q is not FROM=TO", p)
		case strings.Contains(from, "://"):
			err = m.addURL(from, to)
		case strings.ContainsAny(from, "/ ") || strings.Contains(to, "://") || strings.ContainsAny(to, " "):
			err = fmt.Errorf("%q: a registry's host is mapped to host[/prefix]", p)
		default:
			m.registry[from] = to
		}
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "fetch.mirror", err)
		}
	}
	return m, nil
}

func (m *Mirrors) addURL(from, to string) error {
	f, err := url.Parse(from)
	if err != nil {
		return err
	}
	t, err := url.Parse(to)
	if err != nil {
		return err
	}
	switch {
	case t.Host == "" || t.Scheme != "http" && t.Scheme != "https":
		return fmt.Errorf("%q is not an http or https URL", to)
	case t.Scheme == "http" && f.Scheme != "http" && !Loopback(t.Hostname()):
		return fmt.Errorf("%q: plain http for https is accepted on loopback only", to)
	}
	m.urls = append(m.urls, [2]string{from, to})
	return nil
}

// URL maps a URL by the longest prefix that ends at a path element.
func (m *Mirrors) URL(u string) string {
	if m == nil {
		return u
	}
	best := [2]string{}
	for _, x := range m.urls {
		rest, ok := strings.CutPrefix(u, x[0])
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '?') && len(x[0]) > len(best[0]) {
			best = x
		}
	}
	if best[0] == "" {
		return u
	}
	return best[1] + u[len(best[0]):]
}

// Registry maps a registry's host to the host and repository prefix ("" or "a/b/") to ask instead.
func (m *Mirrors) Registry(host string) (string, string) {
	to, ok := "", false
	if m != nil {
		to, ok = m.registry[host]
	}
	if !ok {
		return host, ""
	}
	h, prefix, _ := strings.Cut(to, "/")
	if prefix != "" {
		prefix += "/"
	}
	return h, prefix
}

// Loopback says whether a host name or address is this machine itself.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
