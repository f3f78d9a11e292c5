package facts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Whose cgroups the pods of an imported node are in is seen by the pods, not by what a change has left.
func TestCgroupsOfPods(t *testing.T) {
	_, script, _ := strings.Cut(factsScript, "# whose cgroups the pods are in")
	_, script, _ = strings.Cut(script, "\n")
	script, _, _ = strings.Cut(script, "\nfi\n")
	for name, c := range map[string]struct {
		dirs, procs string
		want        string
	}{
		"no pods yet":               {"", "", ""},
		"by systemd":                {"kubepods.slice", "kubepods.slice", ""},
		"by the kubelet":            {"kubepods", "kubepods", "yes\n"},
		"by the kubelet, none runs": {"kubepods", "", "yes\n"},
		"of version 1":              {"memory/kubepods", "memory/kubepods", "yes\n"},
		"by systemd since":          {"kubepods kubepods.slice", "kubepods.slice", ""},
		"by the kubelet since":      {"kubepods kubepods.slice", "kubepods", "yes\n"},
	} {
		root := t.TempDir()
		for _, dir := range strings.Fields(c.dirs) {
			at, text := filepath.Join(root, dir, "besteffort"), ""
			if dir == c.procs {
				text = "42\n"
			}
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, "cgroup.procs"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-uc", "kv() { echo \"$2\"; }\n"+strings.NewReplacer(
			"/sys/fs/cgroup", root, "@KUBELET@", root+"/kubelet.yaml").Replace(script)+"\ntrue\n").CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %q %v", name, out, err)
		}
	}
}
