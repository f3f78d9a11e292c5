package foreign

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Ours is what has a stamp, with a manifest or without one, and what has our revision; the others are read.
func TestWhichStaticPodsAreOurs(t *testing.T) {
	dir := t.TempDir()
	manifests, applied := filepath.Join(dir, "manifests"), filepath.Join(dir, "applied")
	for path, text := range map[string]string{
		"manifests/etcd.yaml":                    "ours\n",
		"applied/etcd":                           "",
		"applied/kube-scheduler":                 "", // somebody has removed its manifest
		"manifests/kube-controller-manager.yaml": "env: [{name: EGGO_REVISION, value: x}]\n",
		"manifests/kube-apiserver.yaml":          "theirs\n",
		"manifests/vip.yaml":                     "somebody's\n",
	} {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", podsScript(manifests, applied)+"echo $ours").Output()
	if err != nil {
		t.Fatal(err)
	}
	const want = "ours:etcd \nours:kube-controller-manager \nours:kube-scheduler \n" +
		"M/kube-apiserver.yaml dGhlaXJzCg==\nM/vip.yaml c29tZWJvZHkncwo=\n3\n"
	if got := strings.ReplaceAll(string(out), manifests, "M"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
