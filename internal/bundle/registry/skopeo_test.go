package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// TestSkopeoPullsWhatWasPushed: for each architecture it finds the image in the index that was put together, whole.
func TestSkopeoPullsWhatWasPushed(t *testing.T) {
	if _, err := exec.LookPath("skopeo"); err != nil {
		t.Skip("skopeo is not installed")
	}
	from, to := plainRig(t), plainRig(t)
	_, arm, amd := from.multi("k/pause", "3.10")
	archives := []*image.Archive{archive(t, from, "arm64", "r.test/k/pause:3.10"),
		archive(t, from, "amd64", "r.test/k/pause:3.10")}
	if _, err := newClient(t, Options{}, nil).Push(t.Context(), archives, to.host,
		PushOptions{KeepHost: true}); err != nil {
		t.Fatal(err)
	}
	for arch, want := range map[string]string{"arm64": arm.Digest, "amd64": amd.Digest} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		dir := t.TempDir()
		cmd := exec.CommandContext(ctx, "skopeo", "--insecure-policy", "--override-arch", arch, "copy",
			"--src-tls-verify=false", "docker://"+to.host+"/r.test/k/pause:3.10", "dir:"+dir)
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", arch, err, out)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil || sum(raw) != want || !json.Valid(bytes.TrimSpace(raw)) {
			t.Errorf("%s: %s, want %s: %v", arch, sum(raw), want, err)
		}
	}
}
