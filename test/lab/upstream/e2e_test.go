package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestEverythingThatTheSpecNamesIsServed builds what is not there yet, which needs the network, and fetches all of it.
func TestEverythingThatTheSpecNamesIsServed(t *testing.T) {
	if os.Getenv("EGGO_E2E") == "" {
		t.Skip("EGGO_E2E is not set")
	}
	spec, err := LoadSpec("")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Spec: spec, Report: Printer(testWriter{t})}
	if err := Build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s, err := Serve(t.Context(), "", "127.0.0.1:0", spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	items, err := List(o)
	if err != nil {
		t.Fatal(err)
	}
	sums, texts := map[string]string{}, map[string]string{}
	for _, i := range items {
		u := mapped(t, s, i.Name)
		if !strings.Contains(u, "://") {
			checkImage(t, u)
			continue
		}
		sums[i.Name], texts[i.Name] = fetch(t, u)
	}
	for _, b := range spec.Binaries {
		expand := strings.NewReplacer("{arch}", runtime.GOARCH, "{kubernetes}", spec.Kubernetes)
		if b.Checksum != "" && sums[expand.Replace(b.URL)] != "" &&
			!strings.Contains(texts[expand.Replace(b.Checksum)], sums[expand.Replace(b.URL)]) {
			t.Errorf("%s is not what its checksum file says", b.URL)
		}
	}
	for _, r := range spec.Packages.Repositories {
		for _, suite := range r.Suites {
			if _, text := fetch(t, mapped(t, s, r.URL+"/dists/"+suite+"/InRelease")); !strings.Contains(text,
				"BEGIN PGP SIGNED MESSAGE") {
				t.Errorf("%s %s: not a signed release", r.URL, suite)
			}
		}
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// mapped is what a builder that was given the server's mirrors asks for instead.
func mapped(t *testing.T, s *Server, from string) string {
	t.Helper()
	for _, m := range s.Mirrors() {
		a, b, _ := strings.Cut(m, "=")
		if rest, ok := strings.CutPrefix(from, a+"/"); ok {
			return b + "/" + rest
		}
	}
	t.Fatalf("no mirror for %s", from)
	return ""
}

func checkImage(t *testing.T, image string) {
	t.Helper()
	ref, err := name.ParseReference(image, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	idx, err := remote.Index(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(idx); err != nil {
		t.Errorf("%s: %v", image, err)
	}
	m, err := idx.IndexManifest()
	if err != nil || !slices.ContainsFunc(m.Manifests, func(d v1.Descriptor) bool {
		return d.Platform != nil && d.Platform.Architecture == runtime.GOARCH
	}) {
		t.Errorf("%s: not for %s: %+v, %v", image, runtime.GOARCH, m, err)
	}
}

// fetch returns the sha256 of an answer and its first bytes.
func fetch(t *testing.T, u string) (sum, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	h := sha256.New()
	var head strings.Builder
	if _, err := io.CopyN(io.MultiWriter(h, &head), res.Body, 4096); err == nil {
		_, err = io.Copy(h, res.Body)
		if err != nil {
			t.Fatal(err)
		}
	}
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", u, res.Status)
	}
	return hex.EncodeToString(h.Sum(nil)), head.String()
}
