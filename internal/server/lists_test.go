package server

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// shelf has bundles whose heads are known; no other can be read.
type shelf struct {
	operation.Bundles
	heads map[string]*bundle.Manifest
}

func (s shelf) Head(path string) (*bundle.Manifest, []byte, error) {
	if m := s.heads[filepath.Base(path)]; m != nil {
		return m, nil, nil
	}
	return nil, nil, fs.ErrNotExist
}

// The bundles of the directory are listed with what they are, one that cannot be read with why, and nothing else that
// is there.
func TestTheListOfBundles(t *testing.T) {
	s := begin(t, func(o *Options) {
		d := o.Deps()
		d.Bundles = shelf{heads: map[string]*bundle.Manifest{
			"a.tar.gz": {Name: "eggo", Kubernetes: "v1.34.2", Arch: "amd64"}}}
		o.Deps = func() operation.Deps { return d }
	})
	if a := s.want(s.call("vera", "GET", "/api/v1/bundles", ""), 200, ""); !strings.Contains(a.text, `"items":[]`) {
		t.Error(a.text)
	}
	for _, name := range []string{"a.tar.gz", "broken.tar.gz", "a.tar.gz.sig", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(s.bundles, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got problem.List[Bundle]
	if err := json.Unmarshal([]byte(s.call("vera", "GET", "/api/v1/bundles", "").text), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 2 {
		t.Fatalf("%+v", got)
	}
	whole, broken := got.Items[0], got.Items[1]
	if want := (Bundle{Path: filepath.Join(s.bundles, "a.tar.gz"), Name: "eggo", Kubernetes: "v1.34.2",
		Arch: "amd64"}); whole != want {
		t.Errorf("%+v", whole)
	}
	if filepath.Base(broken.Path) != "broken.tar.gz" || broken.Fault == nil || broken.Fault.Code == "" ||
		broken.Name != "" {
		t.Errorf("%+v", broken)
	}
}

// A list of the clusters that are ready has no cluster that is being created; without that it is there.
func TestTheListOfClustersThatAreReady(t *testing.T) {
	s := begin(t)
	list := func(query string) string {
		t.Helper()
		var got problem.List[Cluster]
		a := s.want(s.call("vera", "GET", "/api/v1/clusters"+query, ""), 200, "")
		if err := json.Unmarshal([]byte(a.text), &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range got.Items {
			names = append(names, c.Name)
		}
		return strings.Join(names, " ")
	}
	s.running()
	s.want(s.call("ann", "POST", "/api/v1/clusters", strings.NewReplacer(`"one"`, `"two"`, "192.0.2.", "198.51.100.").
		Replace(oneCluster)), 202, "")
	if all, ready := list(""), list("?ready=true"); all != "one two" || ready != "one" {
		t.Errorf("all: %s; ready: %s", all, ready)
	}
	if list("?ready=false") != "one two" {
		t.Error("ready=false is not all")
	}
}
