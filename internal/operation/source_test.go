package operation

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// own is a cluster's deploy.yaml that somebody else may change.
type own struct {
	Files
	text, path string
}

func (o *own) Config() ([]byte, string, error) { return []byte(o.text), o.path, nil }

// What was read before the lock was taken has to be what is there under it; a draft may differ, and so may another
// file.
func TestADeployYamlThatIsChangedMeanwhile(t *testing.T) {
	const file = "/var/lib/eggo/one/deploy.yaml"
	for name, c := range map[string]struct {
		source source
		moved  bool
	}{
		"as it was":    {source{file: file, text: []byte("cluster-id: one\n")}, false},
		"changed":      {source{file: file, text: []byte("cluster-id: one\n# old\n")}, true},
		"a draft":      {source{file: file, text: []byte("cluster-id: one\n# new\n"), draft: true}, false},
		"another file": {source{file: "/root/deploy.yaml", text: []byte("cluster-id: one\n# new\n")}, false},
	} {
		err := c.source.loadOwn(&own{text: "cluster-id: one\n", path: file})
		f := event.AsFault(err)
		if (f != nil) != c.moved || f != nil && (f.Code != "usage.deploy-yaml-moved" || f.Args["file"] != file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cluster's own deploy.yaml is judged as any other file: others who can read its password are warned of, and what is
// too large or no file is refused.
func TestTheOwnDeployYamlIsAFileToo(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	path := filepath.Join(f.lab.StateDir(), "deploy.yaml")
	var told []string
	d.Problems = func(_ string, list config.Problems) {
		for _, p := range list {
			told = append(told, p.Code)
		}
	}
	text := append(f.lab.DeployYAML(), "\npassword: a-secret\n"...)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600), os.Chmod(path, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	s, err := loadSource(t.Context(), request.Source{Cluster: "sim"}, d)
	if err != nil || !bytes.Equal(s.text, text) || s.file != path {
		t.Fatalf("%+v %v", s, err)
	}
	if !slices.Contains(told, "config.readable-secret") {
		t.Error(told)
	}
	if err := os.Truncate(path, config.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSource(t.Context(), request.Source{Cluster: "sim"}, d); code(err) != "config.too-large" {
		t.Error(err)
	}
}

// The copies of a deploy.yaml in the state directory have no schema beside them and name none; a run of a file is known
// by the same digest as one of its copy.
func TestCopiesNameNoSchema(t *testing.T) {
	manual, err := os.ReadFile("../config/testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manual = bytes.Replace(manual, []byte("ip: 192.168.0.2 "), []byte("ip: 192.168.0.1 "), 1) // its own mistake
	var digests []string
	for _, first := range []string{"", config.Modeline} {
		s := &source{file: "/root/.eggo/deploy.yaml", text: append([]byte(first), manual...), draft: true}
		if err := s.takeText(nil); err != nil {
			t.Fatal(err)
		}
		text, err := s.absolute()
		if err != nil || bytes.Contains(text, []byte(config.SchemaName)) {
			t.Errorf("%q: %v\n%.200s", first, err, text)
		}
		digests = append(digests, s.digest)
	}
	if len(slices.Compact(digests)) != 1 {
		t.Error(digests)
	}
}
