package image

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// podman with a storage of its own.
type podman struct {
	t    *testing.T
	home string
}

func newPodman(t *testing.T) podman {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("podman is not installed")
	}
	p := podman{t, t.TempDir()}
	write(t, p.home, ".config/containers/policy.json", []byte(`{"default":[{"type":"insecureAcceptAnything"}]}`))
	return p
}

func (p podman) run(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	all := append([]string{"--root", filepath.Join(p.home, "storage"), "--runroot", filepath.Join(p.home, "run"),
		"--storage-driver", "vfs", "--log-level", "error"}, args...)
	cmd := exec.CommandContext(ctx, "podman", all...)
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_RUNTIME_DIR="+p.home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "user namespace") || strings.Contains(stderr.String(), "not permitted") {
			p.t.Skipf("podman may not run here: %s", &stderr)
		}
		p.t.Fatalf("podman %q: %v\n%s", args, err, &stderr)
	}
	return string(out)
}

// TestPodman loads ours with all tags and saves sources that we read, in all its formats and with several images in one
// file.
func TestPodman(t *testing.T) {
	pod := newPodman(t)
	blobs := map[string][]byte{}
	var images []Image
	var want []*Resolved
	for name, layers := range map[string][][]byte{"r.test/a:1": {layerOf(t, "base"), layerOf(t, "a")},
		"r.test/b:2": {layerOf(t, "base"), layerOf(t, "base"), layerOf(t, "b")}} {
		p := newPeer(t, "amd64", layers...)
		b, m := p.oci(t)
		for d, raw := range b {
			blobs[d] = raw
		}
		r, err := Assemble(name, Parts{Index: sumOf([]byte(name)), ManifestType: mediaOCIManifest,
			ManifestRaw: b[m.Digest], ConfigRaw: p.config}, amd64)
		if err != nil {
			t.Fatal(err)
		}
		images, want = append(images, r.Image()), append(want, r)
	}
	l, err := Plan(images)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.Write(t.Context(), &out, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(blobs[d])), nil
	}); err != nil {
		t.Fatal(err)
	}
	pod.run("load", "-i", write(t, pod.home, "images.tar", out.Bytes()))
	var have []struct{ Names []string }
	if err := json.Unmarshal([]byte(pod.run("images", "--format", "json")), &have); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range have {
		names = append(names, h.Names...)
	}
	for _, r := range want {
		if !slices.Contains(names, r.Name) {
			t.Errorf("podman has %q, not %s", names, r.Name)
		}
	}
	for format, args := range map[string][]string{"docker-archive": {"-m", "--format", "docker-archive", "r.test/a:1",
		"r.test/b:2"}, "oci-archive": {"--format", "oci-archive", "r.test/b:2"},
		"oci-dir": {"--format", "oci-dir", "r.test/b:2"}, "docker-dir": {"--format", "docker-dir", "r.test/b:2"}} {
		file := filepath.Join(pod.home, format)
		pod.run(append([]string{"save", "-o", file}, args...)...)
		s := open(t, file)
		for _, r := range want {
			if !slices.Contains(args, r.Name) {
				continue
			}
			got, err := s.Resolve(t.Context(), r.Name, amd64)
			if err != nil {
				t.Errorf("%s: %v", format, err)
				continue
			}
			if len(got.Layers) != len(r.Layers) || got.Own != (format == "docker-archive") {
				t.Errorf("%s: %+v", format, got)
			}
			repack(t, s, got)
		}
	}
}
