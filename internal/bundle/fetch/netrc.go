package fetch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Netrc has credentials by host, as curl and git read them from ~/.netrc.
type Netrc struct{ by map[string]login }

type login struct{ user, password string }

// String and GoString keep the passwords out of whatever prints one.
func (Netrc) String() string   { return "netrc" }
func (Netrc) GoString() string { return "netrc" }

const maxSmall = 4 << 20 // bytes of a file that a person wrote

func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("more than %d bytes", maxSmall)
	}
	return data, err
}

// LoadNetrc reads the file that $NETRC names, else ~/.netrc, which may be missing. The fault is "fetch.netrc", class
// usage; it never has words of the file in it.
func LoadNetrc(getenv func(string) string) (*Netrc, error) {
	name, named := getenv("NETRC"), true
	if name == "" {
		if getenv("HOME") == "" {
			return &Netrc{}, nil
		}
		name, named = filepath.Join(getenv("HOME"), ".netrc"), false
	}
	data, err := readSmall(name)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return &Netrc{}, nil
	}
	n := &Netrc{}
	if err == nil {
		n, err = parseNetrc(string(data))
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "fetch.netrc", err, "file", name)
	}
	return n, nil
}

// parseNetrc reads "machine HOST login USER password SECRET" in any layout, # comments at the beginning of a word,
// words in double quotes with backslashes as curl knows them, and macdef up to an empty line. The first entry of a host
// counts. "default" is passed over: it would give its password to every host there is.
func parseNetrc(text string) (*Netrc, error) {
	n := &Netrc{by: map[string]login{}}
	host, cur := "", login{}
	end := func() {
		if _, twice := n.by[host]; host != "" && !twice {
			n.by[host] = cur
		}
		host, cur = "", login{}
	}
	t := &words{text: text, line: 1}
	for {
		w, ok := t.next()
		if !ok {
			end()
			return n, t.err
		}
		value := ""
		switch w {
		case "machine", "login", "password", "account":
			if value, ok = t.next(); !ok {
				return nil, fmt.Errorf("line %d: nothing follows", t.line)
			}
		}
		switch w {
		case "machine":
			end()
			host = strings.ToLower(value)
		case "default":
			end()
		case "login":
			cur.user = value
		case "password":
			cur.password = value
		case "account":
		case "macdef":
			t.skipMacro()
		default:
			return nil, fmt.Errorf("line %d: an unknown word", t.line)
		}
	}
}

// words splits a netrc.
type words struct {
	text string
	line int
	err  error
}

const blanks = " \t\r\n"

func (t *words) next() (string, bool) {
	for t.text != "" {
		switch c := t.text[0]; {
		case strings.IndexByte(blanks, c) >= 0:
			t.skip(1)
		case c == '#':
			t.skip(len(t.text[:lineEnd(t.text)]))
		case c == '"':
			return t.quoted()
		default:
			n := strings.IndexAny(t.text, blanks)
			if n < 0 {
				n = len(t.text)
			}
			return t.skip(n), true
		}
	}
	return "", false
}

func (t *words) skip(n int) string {
	s := t.text[:n]
	t.line += strings.Count(s, "\n")
	t.text = t.text[n:]
	return s
}

func lineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func (t *words) quoted() (string, bool) {
	var b strings.Builder
	for i := 1; i < len(t.text); i++ {
		switch c := t.text[i]; c {
		case '"':
			t.skip(i + 1)
			return b.String(), true
		case '\n':
			i = len(t.text)
		case '\\':
			if i++; i < len(t.text) {
				b.WriteByte(unescape(t.text[i]))
			}
		default:
			b.WriteByte(c)
		}
	}
	t.err = fmt.Errorf("line %d: a quote is not closed", t.line)
	t.text = ""
	return "", false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func (t *words) skipMacro() {
	for t.text != "" {
		line := strings.Trim(t.skip(lineEnd(t.text)), " \t\r")
		if t.text != "" {
			t.skip(1)
		}
		if line == "" {
			return
		}
	}
}

// Transport adds the credentials of each host to what is asked from that host, over https, on loopback, or at a host of
// insecure. As it looks at every request by itself, a redirect to another host carries none but that host's own. It
// leaves requests alone that have credentials; a registry's client, which negotiates them, must not be built on it.
func (n *Netrc) Transport(rt http.RoundTripper, insecure ...string) http.RoundTripper {
	if n == nil || len(n.by) == 0 {
		return rt
	}
	return &netrcTransport{n, rt, insecure}
}

type netrcTransport struct {
	n        *Netrc
	rt       http.RoundTripper
	insecure []string
}

func (t *netrcTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	l, ok := t.n.by[strings.ToLower(req.URL.Hostname())]
	private := req.URL.Scheme == "https" || Loopback(req.URL.Hostname()) || listed(t.insecure, req.URL)
	if ok && private && req.URL.User == nil && req.Header.Get("Authorization") == "" {
		req = req.Clone(req.Context()) // a RoundTripper must not change the caller's
		req.SetBasicAuth(l.user, l.password)
	}
	return t.rt.RoundTrip(req)
}

func (t *netrcTransport) CloseIdleConnections() {
	if c, ok := t.rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
