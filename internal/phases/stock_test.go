package phases

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Each runtime is asked for its own images, and only those whose store goes; what does not answer has none.
func TestImagesOfEveryRuntimeAreCounted(t *testing.T) {
	bin := t.TempDir()
	for name, prints := range map[string]string{"ctr": "a b c", "docker": "sha256:a sha256:a sha256:b", "isula": "x"} {
		script := "#!/bin/sh\nfor i in " + prints + "; do echo $i; done\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for want, trees := range map[string][]string{
		"images 3\n": {"/var/lib/containerd", "/var/lib/kubelet"}, "images 2\n": {"/var/lib/docker"},
		"images 1\n": {"/var/lib/isulad"}, "images 5\n": {"/var/lib/containerd", "/var/lib/docker"},
		"images 0\n": {"/var/lib/kubelet"},
	} {
		if out, err := exec.Command("sh", "-euc", countImages(trees)).CombinedOutput(); err != nil ||
			string(out) != want {
			t.Errorf("%v: %s %v", trees, out, err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\necho no daemon >&2; exit 1\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-euc", countImages([]string{"/var/lib/docker"})).CombinedOutput(); err != nil ||
		string(out) != "images 0\n" {
		t.Errorf("%s %v", out, err)
	}
}
