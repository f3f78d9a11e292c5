package operation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An edited deploy.yaml takes the cluster's place only when it says something else and has no errors.
func TestReplaceConfig(t *testing.T) {
	t.Parallel()
	const good = `cluster-id: rack
username: root
private-key-path: /keys/k
masters:
- {name: n1, ip: 192.0.2.1}
nodes:
- {name: n1, ip: 192.0.2.1}
network: {podcidr: 10.244.0.0/16, plugin: flannel}
addons:
- {type: file, filename: kube-flannel.yml}
package-src: {type: tar.gz, x86src: /b.tar.gz}
`
	other := strings.ReplaceAll(good, "192.0.2.1", "192.0.2.2")
	for name, c := range map[string]struct {
		edited         string
		changed, wrong bool
		stays          bool // the copy, for the next edit
	}{
		"the same":    {edited: good},
		"another":     {edited: other, changed: true},
		"with errors": {edited: strings.ReplaceAll(good, "192.0.2.1", "300.0.2.1"), wrong: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			own, edited := filepath.Join(dir, "deploy.yaml"), filepath.Join(dir, "edit-deploy.yaml")
			if err := errors.Join(os.WriteFile(own, []byte(good), 0o600),
				os.WriteFile(edited, []byte(c.edited), 0o600)); err != nil {
				t.Fatal(err)
			}
			changed, problems, err := ReplaceConfig(own, edited, []byte(good))
			if err != nil || changed != c.changed || problems.HasErrors() != c.wrong {
				t.Errorf("changed %v, %v %v", changed, problems, err)
			}
			want := good
			if c.changed {
				want = c.edited
			}
			if now, err := os.ReadFile(own); err != nil || string(now) != want {
				t.Errorf("it says %s, %v", now, err)
			}
			if _, err := os.Stat(edited); (err == nil) != c.stays {
				t.Errorf("the copy: %v", err)
			}
		})
	}
	if _, _, err := ReplaceConfig("own", filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a copy that is not there")
	}
}
