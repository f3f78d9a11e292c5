package staging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A run that ended well removes what no cluster uses; the last cluster's bundle goes with its cleanup. What a newer
// version may use, and what cannot be read, keeps all of them.
func TestUnpackedBundlesGoWithTheirClusters(t *testing.T) {
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "eggo-amd64.tar.gz")
	if err := phasestest.WriteBundle(file); err != nil {
		t.Fatal(err)
	}
	place := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := store.Dir{Root: root}
	files, err := st.Open(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	open := func() operation.BundleSession {
		return New(root).Session(operation.BundleUse{Emit: func(event.Event) error { return nil }})
	}
	prune := func(s operation.BundleSession) (int, error) {
		gone, err := s.Prune(t.Context(), files, func() ([]string, error) { return st.Stages(t.Context()) })
		return len(gone), err
	}
	there := func() int {
		list, _ := filepath.Glob(filepath.Join(Dir(root), "*", "complete.json"))
		return len(list)
	}
	s := open()
	if _, err := s.Stage(t.Context(), config.BundleSource{Path: file}); err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("b", 64)
	place(filepath.Join(Dir(root), strings.Repeat("c", 64), "complete.json"), "{}")
	place(filepath.Join(Dir(root), other, "complete.json"), "{}")
	place(filepath.Join(root, "two", store.ConfigName), "cluster-id: two\n")
	place(filepath.Join(root, "two", "stages.json"), `{"stages":["`+other+`"]}`)
	place(filepath.Join(root, "one", store.ConfigName), "cluster-id: one\n")
	for name, text := range map[string]string{
		filepath.Join("three", "format"): `{"format":99}`, filepath.Join("two", "stages.json"): "{",
	} {
		path := filepath.Join(root, name)
		was, _ := os.ReadFile(path)
		place(path, text)
		if n, err := prune(s); err == nil || n != 0 || there() != 3 {
			t.Fatalf("%s: %v, %d gone, %d stages", name, err, n, there())
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if was != nil {
			place(path, string(was))
		}
	}
	if n, err := prune(s); err != nil || n != 1 || there() != 2 {
		t.Fatalf("%v, %d gone, %d stages", err, n, there())
	}
	own := filepath.Join(root, "one", store.ConfigName)
	if err := os.Rename(own, own+".cleaned"); err != nil {
		t.Fatal(err)
	}
	clean := open()
	if n, err := prune(clean); err != nil || n != 0 || there() != 2 {
		t.Fatalf("a run that uses it still: %v, %d gone, %d stages", err, n, there())
	}
	s.Release()
	if n, err := prune(clean); err != nil || n != 1 || there() != 1 {
		t.Fatalf("%v, %d gone, %d stages", err, n, there())
	}
}
