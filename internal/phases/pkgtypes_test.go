package phases

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// A manifest by URL is fetched by the jump host before anything is touched, or refused there.
func TestManifestsByURL(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/good.yaml":
			_, _ = w.Write([]byte("kind: A\napiVersion: v1\nmetadata: {name: a}\n"))
		case "/bad.yaml":
			_, _ = w.Write([]byte("just words\n"))
		default:
			http.NotFound(w, q)
		}
	}))
	defer srv.Close()
	r := newTestRun()
	r.Cluster.Packages[workerRole] = []config.Package{{Name: srv.URL + "/good.yaml", Type: "yaml"},
		{Name: srv.URL + "/bad.yaml", Type: "yaml"}, {Name: srv.URL + "/none.yaml", Type: "yaml"}}
	got := slices.DeleteFunc(r.findings(t, preflight.Deploy(), worker),
		func(c string) bool { return c != "error preflight.manifest" })
	if len(got) != 2 {
		t.Error(got)
	}
}
