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
	"testing"
	"time"
)

// skopeo runs it in a home of its own, without asking any policy.
func skopeo(t *testing.T, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("skopeo"); err != nil {
		t.Skip("skopeo is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "skopeo", append([]string{"--insecure-policy"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("skopeo %q: %v\n%s", args, err, &stderr)
	}
	return out
}

// TestSkopeoReadsOurs: in both of its forms, by every name, and the registry's digest survives.
func TestSkopeoReadsOurs(t *testing.T) {
	p := newPeer(t, "amd64", layerOf(t, "base"), layerOf(t, "a"))
	blobs, manifest := p.oci(t)
	got, err := Assemble("registry.k8s.io/pause:3.10",
		Parts{Index: sumOf([]byte("index")), ManifestType: mediaOCIManifest, ManifestRaw: blobs[manifest.Digest],
			ConfigRaw: p.config}, amd64)
	if err != nil {
		t.Fatal(err)
	}
	q := newPeer(t, "amd64", layerOf(t, "base"), layerOf(t, "b"))
	more, other := q.oci(t)
	for d, raw := range more {
		blobs[d] = raw
	}
	second, err := Assemble("nginx:1.29", Parts{ManifestType: mediaOCIManifest, ManifestRaw: blobs[other.Digest],
		ConfigRaw: q.config}, amd64)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Plan([]Image{got.Image(), second.Image()})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.Write(t.Context(), &out, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(blobs[d])), nil
	}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := write(t, dir, "images.tar", out.Bytes())
	for _, r := range []*Resolved{got, second} {
		for _, name := range r.Names {
			raw := skopeo(t, "inspect", "--raw", "oci-archive:"+file+":"+name)
			if sumOf(raw) != r.Manifest.Digest {
				t.Errorf("%s is %s, want %s", name, sumOf(raw), r.Manifest.Digest)
			}
		}
		var config struct{ Architecture string }
		if err := json.Unmarshal(skopeo(t, "inspect", "--config", "docker-archive:"+file+":"+r.Names[0]),
			&config); err != nil || config.Architecture != "amd64" {
			t.Errorf("%+v, %v", config, err)
		}
		// A copy reads and verifies every layer.
		to := filepath.Join(dir, "copy-"+r.Manifest.Digest[7:20])
		skopeo(t, "copy", "oci-archive:"+file+":"+r.Names[0], "dir:"+to)
		back, err := open(t, to).Resolve(t.Context(), r.Name, amd64)
		if err != nil || back.Manifest.Digest != r.Manifest.Digest {
			t.Errorf("%+v, %v", back, err)
		}
		skopeo(t, "copy", "docker-archive:"+file+":"+r.Names[0], "oci:"+to+"-docker:x")
	}
}

// TestSkopeosAreSources: what it writes we read, in all its forms; where it keeps the manifest so do we.
func TestSkopeosAreSources(t *testing.T) {
	p := newPeer(t, "amd64", layerOf(t, "base"), layerOf(t, "base"), layerOf(t, "a"))
	blobs, manifest := p.oci(t)
	dir := t.TempDir()
	for _, f := range layoutOf(t, blobs, named(manifest, AnnotationRef, "v1")) {
		write(t, dir, "start/"+f.name, []byte(f.body))
	}
	from := "oci:" + filepath.Join(dir, "start") + ":v1"
	for name, x := range map[string]struct {
		to   string
		file string
		kept bool
	}{
		"oci":            {"oci:" + filepath.Join(dir, "oci") + ":v1", "oci", true},
		"oci-archive":    {"oci-archive:" + filepath.Join(dir, "oci.tar") + ":r.test/a:v1", "oci.tar", true},
		"dir":            {"dir:" + filepath.Join(dir, "dir"), "dir", true},
		"docker-archive": {"docker-archive:" + filepath.Join(dir, "docker.tar") + ":r.test/a:v1", "docker.tar", false},
	} {
		t.Run(name, func(t *testing.T) {
			skopeo(t, "copy", from, x.to)
			s := open(t, filepath.Join(dir, x.file))
			got, err := s.Resolve(t.Context(), "r.test/a:v1", amd64)
			if err != nil {
				t.Fatal(err)
			}
			if x.kept != (got.Manifest.Digest == manifest.Digest) || x.kept == got.Own {
				t.Errorf("%+v", got)
			}
			if got.Config.Digest != sumOf(p.config) && x.kept {
				t.Errorf("the configuration is %s", got.Config.Digest)
			}
			if back := repack(t, s, got); !slices.Equal(back[0].Names, got.Names) {
				t.Errorf("%+v", back)
			}
		})
	}
}
