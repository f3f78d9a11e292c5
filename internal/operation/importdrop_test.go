package operation

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// An import whose run does not begin leaves nothing: neither the keys of CAs nor a directory that it has made.
func TestAnImportThatDoesNotBegin(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	own := filepath.Join(f.root, "sim")
	next, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(own, "pki", "ca.key")); err != nil {
		t.Fatal(err)
	}
	if err := DropImport(t.Context(), d, next); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(own); err == nil {
		t.Error("the directory is still there")
	}
	if err := os.Mkdir(own, 0o700); err != nil { // the store of the test copies it
		t.Fatal(err)
	}
	// What is not of the import stays.
	if next, err = ReadImport(t.Context(), importOf(), d, func([]event.Finding) {}); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(own, "bundle-amd64.tar.gz")
	if err := errors.Join(os.WriteFile(bundle, nil, 0o600), DropImport(t.Context(), d, next)); err != nil {
		t.Error(err)
	}
	_, gone := os.Lstat(filepath.Join(own, "pki"))
	if _, err := os.Lstat(bundle); err != nil || gone == nil {
		t.Error("the bundle is gone, or the keys are not:", err, gone)
	}
	if err := os.Remove(bundle); err != nil {
		t.Fatal(err)
	}
	// A CA that cannot be used is found before anything is written.
	node := f.lab.Nodes["m1"].Path("/etc/kubernetes/pki/ca.key")
	if err := errors.Join(os.Remove(node), os.WriteFile(node, []byte("no key\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if f := event.AsFault(err); f == nil || f.Code != "pki.external-bad" {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(own, "pki")); err == nil {
		t.Error("there are keys of a cluster that was not imported")
	}
}

// A run that was killed leaves the mark of its import. What the cluster has by then is its own, whatever becomes of the
// next import.
func TestAnImportThatIsRefusedAfterOneThatWasKilled(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	own := filepath.Join(f.root, "sim")
	next, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(own, importName))
	if err := errors.Join(err, os.WriteFile(filepath.Join(own, "deploy.yaml"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(own, "pki", "ca.key")
	stays := func(after string) {
		t.Helper()
		if _, err := os.Lstat(key); err != nil {
			t.Fatal("after", after, err)
		}
	}
	if err := DropImport(t.Context(), d, next); err != nil {
		t.Error(err)
	}
	stays("a run that did not begin")
	var told []event.Finding
	_, err = ReadImport(t.Context(), importOf(), d, func(f []event.Finding) { told = append(told, f...) })
	if err != nil || !slices.ContainsFunc(told, func(f event.Finding) bool { return f.Fault.Code == "import.again" }) {
		t.Errorf("the same import again: %v %+v", err, told)
	}
	bad := filepath.Join(own, "pki", "sa.key")
	if err := os.WriteFile(bad, []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if f := event.AsFault(err); f == nil || f.Code != "import.key-differs" || f.Args["file"] != bad {
		t.Error(err)
	}
	stays("an import with another key")
}

// That a cluster was imported is said by an import alone.
func TestADeployYamlThatSaysByHandThatTheClusterWasImported(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	text := string(f.lab.DeployYAML())
	if strings.Contains(text, "\neggo:") {
		text = strings.Replace(text, "\neggo:\n", "\neggo:\n  imported: true\n", 1)
	} else {
		text += "\neggo:\n  imported: true\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var told config.Problems
	d.Problems = func(_ string, list config.Problems) { told = append(told, list...) }
	err := did(t, request.Deploy{Common: request.Common{Source: request.Source{File: file}}}, d)
	if got := event.AsFault(err); got == nil || got.Code != "config.invalid" || len(f.locked) > 0 {
		t.Error(err, f.locked)
	}
	last := len(told) - 1
	if last < 0 || told[last].Code != "config.imported-by-hand" || told[last].Line < 2 {
		t.Errorf("%+v", told)
	}
}
