package phases

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// What each type of a list means, beside what the manifest says or in its place.
func TestPackagesOfAllTypes(t *testing.T) {
	m := manifest()
	m.Members = append(m.Members,
		bundle.Member{Path: "site.conf", Kind: bundle.ExtraFile, Name: "site.conf", Mode: 0o640},
		bundle.Member{Path: "tools/a/x", Kind: bundle.ExtraDir, Name: "tools", Mode: 0o750},
		bundle.Member{Path: "tools/y", Kind: bundle.ExtraDir, Name: "tools", Mode: 0o644},
		bundle.Member{Path: "post.sh", Kind: bundle.ExtraFile, Name: "post.sh"})
	manifests := []string{"/usr/local/bin/kubelet", "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"}
	for name, c := range map[string]struct {
		list  []config.Package
		files []string
	}{
		"a file": {[]config.Package{{Name: "site.conf", Type: "file", Dst: "/etc/kubernetes"}},
			[]string{"/etc/kubernetes/site.conf"}},
		"a directory": {[]config.Package{{Name: "tools", Type: "dir", Dst: "/opt/cni/bin"}},
			[]string{"/opt/cni/bin/tools/a/x", "/opt/cni/bin/tools/y"}},
		"a directory as binary": {[]config.Package{{Name: "tools", Type: "binary", Dst: "/tmp"}},
			[]string{"/tmp/tools/a/x", "/tmp/tools/y"}},
		"beside what there is": {[]config.Package{{Name: "site.conf", Type: "file", Dst: "/etc/kubernetes",
			Addition: true}}, append(slices.Clone(manifests), "/etc/kubernetes/site.conf")},
		"images and a script": {[]config.Package{{Name: "agnhost", Type: "image"},
			{Name: "post.sh", Type: "shell", Schedule: "postjoin"}}, manifests},
		"from the machine's own": {[]config.Package{{Name: "jq", Type: "repo", Addition: true}}, manifests},
	} {
		r := newTestRun()
		r.Cluster.Packages[workerRole] = c.list
		if diff := cmp.Diff(c.files, files(r.Members(worker, m))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, p := range c.list {
			if !p.In(m) {
				t.Errorf("%s: %s is not found", name, p.Name)
			}
			p.Name = "absent"
			if p.Type != "repo" && p.In(m) {
				t.Errorf("%s: %s is found", name, p.Name)
			}
		}
	}
	r := newTestRun()
	r.Cluster.Packages[cpRole] = []config.Package{{Name: "agnhost:2.57", Type: "image"},
		{Name: "metrics.yaml", Type: "yaml"}, {Name: "https://x.example/y.yaml", Type: "yaml"}}
	if got := r.Images(master, m); len(got) != 3 {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"kube-flannel.yml", "metrics.yaml", "https://x.example/y.yaml"},
		r.AddonFiles(m)); diff != "" {
		t.Error(diff)
	}
}

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
	got := slices.DeleteFunc(r.judged(t, preflight.Deploy(), worker),
		func(c string) bool { return c != "error preflight.manifest" })
	if len(got) != 2 {
		t.Error(got)
	}
}
