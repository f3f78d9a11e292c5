package fetch

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Mirrors map where things are fetched from; names stay upstream's. From is a URL prefix (https://dl.k8s.io), mapped to
// another URL prefix, or a registry's host (registry.k8s.io), mapped to host[/prefix].
type Mirrors struct {
	urls     [][2]string
	registry map[string]string
	// public are those of a preset, which the user has not chosen one by one.
	public *Mirrors
}

// Pair is where something is fetched from, and where from instead.
type Pair struct {
	From, To string
	Public   bool // of a preset
}

// WithPublic adds mirrors that are trusted with nothing: they are asked only for what the source vouches for by its
// signature, checksum or digest. The mirrors that there are count before them; one that maps FROM to itself takes it
// out of the preset.
func (m *Mirrors) WithPublic(pairs []string) (*Mirrors, error) {
	public, err := ParseMirrors(pairs)
	if err != nil {
		return nil, err
	}
	return &Mirrors{urls: m.urls, registry: m.registry, public: public}, nil
}

// Pairs are all that holds, sorted.
func (m *Mirrors) Pairs() []Pair {
	if m == nil {
		return nil
	}
	have := map[string]bool{}
	var out []Pair
	add := func(p Pair) {
		if !have[p.From] {
			out = append(out, p)
		}
		have[p.From] = true
	}
	for _, x := range m.urls {
		add(Pair{From: x[0], To: x[1]})
	}
	for from, to := range m.registry {
		add(Pair{From: from, To: to})
	}
	for _, p := range m.public.Pairs() {
		p.Public = true
		add(p)
	}
	slices.SortFunc(out, func(a, b Pair) int { return strings.Compare(a.From, b.From) })
	return out
}

// PairLines are the FROM=TO lines of a file; empty lines and those that begin with # are passed over.
func PairLines(text []byte) []string {
	var out []string
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
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

// URL maps a URL by the longest prefix that ends at a path element. vouched says that the source vouches for what
// comes: only then a public mirror counts.
func (m *Mirrors) URL(u string, vouched bool) string {
	to, found := m.own(u)
	if !found && vouched && m != nil {
		to, _ = m.public.own(u)
	}
	return to
}

// own maps a URL by one's own mirrors.
func (m *Mirrors) own(u string) (to string, found bool) {
	if m == nil {
		return u, false
	}
	best := [2]string{}
	for _, x := range m.urls {
		rest, ok := strings.CutPrefix(u, x[0])
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '?') && len(x[0]) > len(best[0]) {
			best = x
		}
	}
	if best[0] == "" {
		return u, false
	}
	return best[1] + u[len(best[0]):], true
}

// Registry maps a registry's host to the host and repository prefix ("" or "a/b/") to ask instead. vouched says that
// a digest is known: only then a public mirror counts, so that none says what a tag means.
func (m *Mirrors) Registry(host string, vouched bool) (string, string) {
	if m == nil {
		return host, ""
	}
	to, ok := m.registry[host]
	if !ok && vouched {
		return m.public.Registry(host, true)
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
