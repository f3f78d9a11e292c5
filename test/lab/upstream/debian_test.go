package upstream

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDebianComesFromTheMirrorThatAptUses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"deb822": {
			map[string]string{"sources.list.d/debian.sources": "Types: deb\n# a comment\nURIs: " +
				"http://m.example/debian/\nSuites: bookworm bookworm-updates\nComponents: main\n\nTypes: deb\nURIs: " +
				"http://m.example/sec\nSuites:\n bookworm-security\nComponents: main\n"},
			map[string]string{"debian": "http://m.example/debian", "debian-security": "http://m.example/sec"},
		},
		"one line": {
			map[string]string{"sources.list": "# deb http://no/ bookworm main\ndeb-src http://no bookworm main\ndeb " +
				"[signed-by=/a arch=amd64] https://m.example/d bookworm main contrib # end\ndeb http://m.example/s " +
				"bookworm-security main\n"},
			map[string]string{"debian": "https://m.example/d", "debian-security": "http://m.example/s"},
		},
		"others' repositories, other releases, media and what is switched off are not Debian's mirror": {
			map[string]string{
				"sources.list.d/a.list": "deb https://docker.example/linux/debian bookworm stable\ndeb " +
					"http://m.example/debian trixie main\ndeb cdrom:[x]/ bookworm main\n",
				"sources.list.d/b.sources": "Enabled: no\nTypes: deb\nURIs: http://m.example/debian\nSuites: " +
					"bookworm\nComponents: main\n",
				"sources.list.d/c.save": "deb http://m.example/debian bookworm main\n",
			},
			map[string]string{"debian": "http://deb.debian.org/debian",
				"debian-security": "http://deb.debian.org/debian-security"},
		},
		"the first of several wins": {
			map[string]string{"sources.list": "deb http://one/debian bookworm main\ndeb http://two/debian bookworm " +
				"main\n"},
			map[string]string{"debian": "http://one/debian",
				"debian-security": "http://deb.debian.org/debian-security"},
		},
	} {
		dir := t.TempDir()
		for f, text := range c.files {
			if err := writeFile(filepath.Join(dir, f), []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		sources, err := aptSources(dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, debianMirrors(sources, "bookworm")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestTheProxyIsTheOneOfApt(t *testing.T) {
	t.Setenv("http_proxy", "")
	t.Setenv("HTTP_PROXY", "")
	choose := proxyFrom("Acquire::http::Proxy \"http://p:3128\";\nAcquire::http::Proxy::near.example \"DIRECT\";\n" +
		"Acquire::https::Proxy::far.example \"http://q:1\";\n")
	for u, want := range map[string]string{
		"http://deb.debian.org/x": "http://p:3128", "http://near.example/x": "", "https://far.example/": "http://q:1",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := choose(r)
		got := ""
		if p != nil {
			got = p.String()
		}
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", u, got, err, want)
		}
	}
}

// mirror is a Debian archive that counts how often each path was asked for.
type mirror struct {
	mu    sync.Mutex
	files map[string]string
	fails map[string]int // how many times a path answers 503 first
	asked map[string]int
}

func newMirror(t *testing.T) (*mirror, *debian) {
	t.Helper()
	m := &mirror{files: map[string]string{}, fails: map[string]int{}, asked: map[string]int{}}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return m, &debian{
		cache: t.TempDir(), client: s.Client(), pause: time.Millisecond,
		mirrors: map[string]string{"debian": s.URL + "/d", "debian-security": s.URL + "/s"},
	}
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[r.URL.Path]++
	body, ok := m.files[r.URL.Path]
	switch {
	case m.asked[r.URL.Path] <= m.fails[r.URL.Path]:
		http.Error(w, "later", http.StatusServiceUnavailable)
	case !ok:
		http.NotFound(w, r)
	default:
		w.Header().Set("Etag", `"1"`)
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader(body))
	}
}

func ask(t *testing.T, h http.Handler, path string, header ...string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	b, _ := io.ReadAll(w.Body)
	return fmt.Sprint(w.Code, " ", strings.TrimSpace(string(b)))
}

func TestPackagesAreKeptAndIndexesAreAskedForAgain(t *testing.T) {
	m, d := newMirror(t)
	const deb, sec, rel = "/d/pool/main/x/x_1%2b1.deb", "/s/pool/updates/main/y.deb", "/d/dists/bookworm/InRelease"
	m.files = map[string]string{"/d/pool/main/x/x_1+1.deb": "package", sec: "secure", rel: "signed"}
	m.fails[sec] = 2
	for range 2 {
		for path, want := range map[string]string{
			"/debian/pool/main/x/x_1+1.deb":            "200 package",
			"/debian-security/pool/updates/main/y.deb": "200 secure", // after two failures of the mirror
			"/debian/dists/bookworm/InRelease":         "200 signed",
			"/debian/pool/main/none.deb":               "404 Not Found",
			"/ubuntu/dists/noble/InRelease":            "404 404 page not found",
			"/debian/":                                 "404 404 page not found",
		} {
			if got := ask(t, d, path); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
	}
	want := map[string]int{"/d/pool/main/x/x_1+1.deb": 1, sec: 3, rel: 2, "/d/pool/main/none.deb": 2}
	if diff := cmp.Diff(want, m.asked); diff != "" {
		t.Errorf("asked of the mirror (%s): %s", deb, diff)
	}
	if got := ask(t, d, "/debian/dists/bookworm/InRelease", "If-None-Match", `"1"`); got != "304 " {
		t.Errorf("conditional: %s", got)
	}
	if got := ask(t, d, "/debian/pool/main/x/x_1+1.deb", "Range", "bytes=4-"); got != "206 age" {
		t.Errorf("range: %s", got)
	}
}

func TestAnInterruptedPackageIsNotKept(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("half"))
	}))
	defer s.Close()
	d := &debian{cache: t.TempDir(), client: s.Client(), mirrors: map[string]string{"debian": s.URL}}
	if got := ask(t, d, "/debian/pool/main/x.deb"); !strings.HasPrefix(got, "502") {
		t.Error(got)
	}
	_ = filepath.Walk(d.cache, func(p string, i os.FileInfo, err error) error {
		if err == nil && i.Mode().IsRegular() {
			t.Errorf("kept %s", p)
		}
		return nil
	})
}

func FuzzStanzas(f *testing.F) {
	f.Add("A: b\n c\n\nD: e\n")
	f.Add("#x\n :\n\t\n:")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range stanzas(strings.NewReader(text)) {
			if len(s) == 0 {
				t.Error("an empty paragraph")
			}
		}
	})
}
