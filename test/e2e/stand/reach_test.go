package stand

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// internet is an Internet that answers by host.
type internet map[string]int

func (n internet) RoundTrip(r *http.Request) (*http.Response, error) {
	code, ok := n[r.URL.Host]
	switch {
	case !ok:
		return nil, errors.New("no such host")
	case code == 0: // never answers
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	w.WriteHeader(code)
	return w.Result(), nil
}

// The demo takes the real upstream only if each host of the spec gives its file.
func TestWhichUpstream(t *testing.T) {
	t.Parallel()
	text, err := assets.BundleSpec(upstream.System)
	if err != nil {
		t.Fatal(err)
	}
	probes, err := Probes(text)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(probes, "\n")
	for _, want := range []string{"http://deb.debian.org/debian/dists/", "https://dl.k8s.io/", "https://github.com/",
		"https://registry.k8s.io/v2/"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not probed:\n%s", want, all)
		}
	}
	if strings.ContainsAny(all, "{}%") {
		t.Errorf("an address is not filled in:\n%s", all)
	}
	for name, c := range map[string]struct {
		host    string
		code    int
		reached bool
	}{
		"all there":                 {"github.com", 200, true},
		"a registry wants a token":  {"registry.k8s.io", 401, true},
		"a proxy refuses a host":    {"dl.k8s.io", 403, false},
		"a mirror lacks it":         {"deb.debian.org", 404, false},
		"a login page of a gateway": {"github.com", 511, false},
		"one never answers":         {"github.com", 0, false},
		"one is unknown":            {"github.com", -1, false},
	} {
		n := internet{"deb.debian.org": 200, "dl.k8s.io": 200, "github.com": 200, "ghcr.io": 401,
			"registry.k8s.io": 200}
		if n[c.host] = c.code; c.code < 0 {
			delete(n, c.host)
		}
		if err := Reaches(t.Context(), n, probes, 50*time.Millisecond); (err == nil) != c.reached {
			t.Errorf("%s: %v", name, err)
		}
	}
}
