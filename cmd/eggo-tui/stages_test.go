package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases/phasestest"
)

// A run that ended well removes what no cluster uses and says so; the last cluster's bundle goes with its cleanup.
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
	var told []string
	open := func() *session {
		files, err := store.Dir{Root: root}.Open(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		s := &session{root: root, files: files}
		s.bus = event.NewBus(time.Now, sinkFunc(func(r event.Record) error {
			if n, ok := r.Event.(event.Notice); ok {
				told = append(told, n.Text.Key+" "+n.Text.Args["count"])
			}
			return nil
		}))
		return s
	}
	there := func() int {
		list, _ := filepath.Glob(filepath.Join(root, "bundles", "*", "complete.json"))
		return len(list)
	}
	s := open()
	b, err := bundle.Stage(t.Context(), file, s.stagesDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.used(b)
	other := strings.Repeat("b", 64)
	place(filepath.Join(s.stagesDir(), strings.Repeat("c", 64), "complete.json"), "{}")
	place(filepath.Join(s.stagesDir(), other, "complete.json"), "{}")
	place(filepath.Join(root, "two", savedName), "cluster-id: two\n")
	place(filepath.Join(root, "two", "stages.json"), `{"stages":["`+other+`"]}`)
	place(filepath.Join(root, "one", savedName), "cluster-id: one\n")
	// What a newer version may use, and what cannot be read, keeps all of them.
	for name, text := range map[string]string{filepath.Join("three", "format"): `{"format":99}`, filepath.Join("two", "stages.json"): "{"} {
		path := filepath.Join(root, name)
		was, _ := os.ReadFile(path)
		place(path, text)
		if err := s.pruneStages(); err != nil || there() != 3 || len(told) != 1 || !strings.HasPrefix(told[0], "notice.stages-kept") {
			t.Fatalf("%s: %v, %d stages, %q", name, err, there(), told)
		}
		told = nil
		if must(t, os.Remove(path)); was != nil {
			place(path, string(was))
		}
	}
	if err := s.pruneStages(); err != nil || there() != 2 || strings.Join(told, ";") != "notice.stages-pruned 1" {
		t.Fatalf("%v, %d stages, %q", err, there(), told)
	}
	if err := os.Rename(filepath.Join(root, "one", savedName), filepath.Join(root, "one", savedName+".cleaned")); err != nil {
		t.Fatal(err)
	}
	clean := open()
	if err := clean.pruneStages(); err != nil || there() != 2 {
		t.Fatalf("a run that uses it still: %v, %d stages", err, there())
	}
	s.releaseStages()
	if err := clean.pruneStages(); err != nil || there() != 1 || len(told) != 2 {
		t.Fatalf("%v, %d stages, %q", err, there(), told)
	}
}

type sinkFunc func(event.Record) error

func (f sinkFunc) Emit(r event.Record) error { return f(r) }
