package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// debian answers for deb.debian.org from the mirror that this machine's own apt uses.
type debian struct {
	cache   string            // directory of what never changes
	mirrors map[string]string // "debian", "debian-security": base URL without a trailing slash
	client  *http.Client
	pause   time.Duration // before the second try
}

// newDebian reads the machine's apt configuration. A machine that has no source for the release asks deb.debian.org
// itself.
func newDebian(ctx context.Context, cache, codename string) (*debian, error) {
	sources, err := aptSources("/etc/apt")
	if err != nil {
		return nil, err
	}
	proxy, err := aptProxies(ctx)
	if err != nil {
		return nil, err
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.Proxy = proxy
	tr.DisableCompression = true
	tr.ResponseHeaderTimeout = time.Minute
	return &debian{cache: cache, mirrors: debianMirrors(sources, codename), client: &http.Client{Transport: tr},
		pause: time.Second}, nil
}

// aptSource is one repository of an apt configuration.
type aptSource struct {
	uri                string
	suites, components []string
}

// aptSources reads sources.list and sources.list.d in both formats (sources.list(5)). Disabled entries are left out.
func aptSources(dir string) ([]aptSource, error) {
	files, err := filepath.Glob(filepath.Join(dir, "sources.list.d", "*"))
	if err != nil {
		return nil, err
	}
	var out []aptSource
	for _, f := range append([]string{filepath.Join(dir, "sources.list")}, files...) {
		b, err := os.ReadFile(f)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, err
		case strings.HasSuffix(f, ".list"):
			out = append(out, oneLineSources(string(b))...)
		case strings.HasSuffix(f, ".sources"):
			out = append(out, stanzaSources(string(b))...)
		}
	}
	return out, nil
}

var sourceOptions = regexp.MustCompile(`^deb\s+(\[[^\]]*\]\s+)?`)

func oneLineSources(text string) (out []aptSource) {
	for _, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(strings.TrimSpace(l), "#")
		if !sourceOptions.MatchString(l) {
			continue
		}
		if f := strings.Fields(sourceOptions.ReplaceAllString(l, "")); len(f) >= 3 {
			out = append(out, aptSource{uri: f[0], suites: f[1:2], components: f[2:]})
		}
	}
	return out
}

func stanzaSources(text string) (out []aptSource) {
	for _, s := range stanzas(strings.NewReader(text)) {
		if strings.EqualFold(s["enabled"], "no") || !containsWord(s["types"], "deb") {
			continue
		}
		for _, u := range strings.Fields(s["uris"]) {
			out = append(out, aptSource{uri: u, suites: strings.Fields(s["suites"]),
				components: strings.Fields(s["components"])})
		}
	}
	return out
}

// stanzas reads deb822 paragraphs (deb822(5)): lower-case field names, continuation lines joined, comments left out.
func stanzas(r io.Reader) (out []map[string]string) {
	_ = eachStanza(r, func(s map[string]string) { out = append(out, s) }) // readers of memory do not fail
	return out
}

// eachStanza is stanzas for what is too long to be kept.
func eachStanza(r io.Reader, f func(map[string]string)) error {
	current, field := map[string]string{}, ""
	flush := func() {
		if len(current) > 0 {
			f(current)
		}
		current, field = map[string]string{}, ""
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l := lines.Text()
		switch {
		case strings.HasPrefix(l, "#"):
		case strings.TrimSpace(l) == "":
			flush()
		case l[0] == ' ' || l[0] == '\t':
			current[field] += "\n" + strings.TrimSpace(l)
		default:
			k, v, _ := strings.Cut(l, ":")
			field = strings.ToLower(strings.TrimSpace(k))
			current[field] = strings.TrimSpace(v)
		}
	}
	flush()
	return lines.Err()
}

func containsWord(s, word string) bool {
	for _, w := range strings.Fields(s) {
		if w == word {
			return true
		}
	}
	return false
}

// debianMirrors finds which of the machine's sources are Debian's archive and its security archive for a release.
func debianMirrors(sources []aptSource, codename string) map[string]string {
	m := map[string]string{"debian": "http://deb.debian.org/debian",
		"debian-security": "http://deb.debian.org/debian-security"}
	for i := len(sources) - 1; i >= 0; i-- { // the first of several wins
		s := sources[i]
		if u, err := url.Parse(s.uri); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
			!containsWord(strings.Join(s.components, " "), "main") {
			continue
		}
		for _, suite := range s.suites {
			switch suite {
			case codename:
				m["debian"] = strings.TrimRight(s.uri, "/")
			case codename + "-security":
				m["debian-security"] = strings.TrimRight(s.uri, "/")
			}
		}
	}
	return m
}

var proxyLine = regexp.MustCompile(`^Acquire::(http|https)::Proxy(?:::([^ ]+))? "([^"]*)";$`)

// aptProxies is the choice of a proxy that apt makes: its configuration's, for all hosts or one, else the
// environment's.
func aptProxies(ctx context.Context) (func(*http.Request) (*url.URL, error), error) {
	out, err := exec.CommandContext(ctx, "apt-config", "dump").Output()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return proxyFrom(string(out)), nil // without apt only the environment counts
}

func proxyFrom(dump string) func(*http.Request) (*url.URL, error) {
	set := map[string]string{} // "http", "http host"
	for _, l := range strings.Split(dump, "\n") {
		if m := proxyLine.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			set[strings.TrimSpace(m[1]+" "+m[2])] = m[3]
		}
	}
	return func(r *http.Request) (*url.URL, error) {
		for _, k := range []string{r.URL.Scheme + " " + r.URL.Hostname(), r.URL.Scheme} {
			switch p := set[k]; {
			case strings.EqualFold(p, "DIRECT"):
				return nil, nil
			case p != "" && p != "false":
				return url.Parse(p)
			}
		}
		return http.ProxyFromEnvironment(r)
	}
}

// immutable says whether a path of an archive always answers the same: packages and indexes by their digest.
func immutable(p string) bool {
	return strings.Contains(p, "/pool/") && (strings.HasSuffix(p, ".deb") || strings.HasSuffix(p, ".udeb")) ||
		strings.Contains(p, "/by-hash/SHA256/")
}

// upstreamURL maps debian/… or debian-security/… to the machine's mirror; "" if it is neither.
func (d *debian) upstreamURL(p string) string {
	archive, rest, _ := strings.Cut(p, "/")
	base, ok := d.mirrors[archive]
	if !ok || rest == "" || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return ""
	}
	u := url.URL{Path: rest}
	return base + "/" + u.EscapedPath()
}

// ServeHTTP answers /debian/… and /debian-security/….
func (d *debian) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := strings.TrimPrefix(r.URL.Path, "/")
	up := d.upstreamURL(p)
	if up == "" {
		http.NotFound(w, r)
		return
	}
	if immutable("/" + p) {
		file, err := d.cached(r.Context(), p, up)
		if err == nil {
			http.ServeFile(w, r, file)
			return
		}
		answer(w, r, err)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, up, nil)
	if err != nil {
		answer(w, r, err)
		return
	}
	copyHeader(req.Header, r.Header, "If-Modified-Since", "If-None-Match", "Range", "If-Range")
	res, err := d.client.Do(req)
	if err != nil {
		answer(w, r, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	copyHeader(w.Header(), res.Header, "Content-Type", "Content-Length", "Content-Range", "Last-Modified", "Etag",
		"Accept-Ranges")
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

func copyHeader(to, from http.Header, names ...string) {
	for _, n := range names {
		if v := from.Get(n); v != "" {
			to.Set(n, v)
		}
	}
}

// statusError is an answer of the mirror that is not 200.
type statusError struct {
	url  string
	code int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: status %d", e.url, e.code) }

func answer(w http.ResponseWriter, r *http.Request, err error) {
	var s *statusError
	switch {
	case errors.As(err, &s):
		http.Error(w, http.StatusText(s.code), s.code)
	case r.Context().Err() == nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// cached is the file of an immutable path, fetched if it is not there yet.
func (d *debian) cached(ctx context.Context, p, up string) (string, error) {
	file := filepath.Join(d.cache, filepath.FromSlash(p))
	if exists(file) {
		return file, nil
	}
	body, err := d.get(ctx, up)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	f, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o644))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := io.Copy(f, body); err != nil {
		return "", err
	}
	return file, f.CloseAtomicallyReplace()
}

// tries is how often a download is tried; a mirror behind a balancer fails now and then.
const tries = 3

// get opens a file of the mirror. Failures of the connection and of the server (5xx) are tried again, after one and two
// seconds.
func (d *debian) get(ctx context.Context, up string) (body io.ReadCloser, err error) {
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(d.pause * time.Duration(try)):
			}
		}
		body, err = d.open(ctx, up)
		var s *statusError
		if err == nil || ctx.Err() != nil || errors.As(err, &s) && s.code < 500 {
			return body, err
		}
	}
	return nil, err
}

func (d *debian) open(ctx context.Context, up string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, up, nil)
	if err != nil {
		return nil, err
	}
	res, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, &statusError{up, res.StatusCode}
	}
	return res.Body, nil
}
