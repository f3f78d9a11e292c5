package operation

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/event"
)

// own is a cluster's deploy.yaml that somebody else may change.
type own struct {
	Files
	text, path string
}

func (o *own) Config() ([]byte, string, error) { return []byte(o.text), o.path, nil }

// What was read before the lock was taken has to be what is there under it; a draft may differ, and so may another file.
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
