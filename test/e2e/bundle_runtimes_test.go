package e2e

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// flatApt is an apt-get on a node that knows one flat repository of files and nothing else.
const flatApt = `set -eu
printf 'deb [trusted=yes] file:%s ./\n' "$DIR" >/tmp/flat.list
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -q -y -o Dir::Etc::SourceList=/tmp/flat.list -o Dir::Etc::SourceParts=/dev/null -o APT::Install-Recommends=false "$@"; }
apt update
`

// TestDockerLoadsImages: Debian's docker is installed on a node from a bundle by the node's own apt, offline; dockerd,
// containerd, skopeo and podman then read images.tar, and each image is there by its name, with its own identity.
func TestDockerLoadsImages(t *testing.T) {
	full(t)
	s := newLab(t, 1)
	w := workshopOn(t, s)
	full := bundleFiles(t, s.Bundle, filepath.Join(s.Dir, "default"))
	spec := w.spec(t, "docker", func(doc map[string]any) {
		only(doc, "packages")
		install(doc, "docker.io")
	})
	packages := filepath.Join(w.pack(t, spec, runtime.GOARCH), "docker-"+runtime.GOARCH+".tar.gz")

	must(t, "route", noWayOut(t, s))
	onNode(t, s,
		"mkdir -p /root/bundle && tar -xzf - -C /root/bundle && cd /root/bundle && sha256sum --quiet -c SHA256SUMS",
		packages)
	said := onNode(t, s, "DIR=/root/bundle\n"+flatApt+
		"apt install docker.io\nsystemctl is-active docker containerd\ndocker version --format '{{.Server.Version}}'",
		"")
	t.Logf("docker on the node: %s", strings.Join(strings.Fields(tail(said, 3)), " "))
	onNode(t, s, "cat >/root/images.tar", full.images)

	t.Run("docker load", func(t *testing.T) { dockerLoads(t, s, full) })
	t.Run("ctr images import", func(t *testing.T) { ctrImports(t, s, full) })
	t.Run("skopeo", func(t *testing.T) { skopeoReads(t, full) })
	t.Run("podman load", func(t *testing.T) { podmanLoads(t, full) })
}

// unpacked is a bundle that was unpacked with plain tar.
type unpacked struct {
	images   string // path of images.tar
	manifest *bundle.Manifest
	configs  map[string]string // name with a tag → digest of the image's configuration
	formats  map[string]string // name → media type of the manifest
}

// tagged are the images by the names that docker's archive can carry: those with a tag.
func (u unpacked) tagged() []bundle.Image {
	return slices.DeleteFunc(slices.Clone(u.manifest.Images),
		func(i bundle.Image) bool { return u.configs[i.Name] == "" })
}

func bundleFiles(t *testing.T, file, dir string) unpacked {
	t.Helper()
	a, err := bundle.Open(file)
	must(t, file, err)
	unpack(t, file, dir)
	u := unpacked{images: filepath.Join(dir, "images.tar"), manifest: a.Manifest(), configs: map[string]string{},
		formats: map[string]string{}}
	var index struct {
		Manifests []struct {
			MediaType   string
			Annotations map[string]string
		}
	}
	memberOf(t, u.images, "index.json", &index)
	for _, m := range index.Manifests {
		u.formats[m.Annotations["org.opencontainers.image.ref.name"]] = m.MediaType
	}
	var list []struct {
		Config   string
		RepoTags []string
	}
	memberOf(t, u.images, "manifest.json", &list)
	for _, i := range list {
		for _, name := range i.RepoTags {
			u.configs[name] = "sha256:" + strings.TrimPrefix(i.Config, "blobs/sha256/")
		}
	}
	if len(u.tagged()) < 2 || len(u.tagged()) == len(u.manifest.Images) {
		t.Fatalf("a bundle with several images, each by tag and by digest, is wanted: %v", u.manifest.Images)
	}
	return u
}

// memberOf reads a JSON document out of a tar file.
func memberOf(t *testing.T, file, name string, to any) {
	t.Helper()
	f, err := os.Open(file)
	must(t, file, err)
	defer f.Close()
	r := tar.NewReader(f)
	h, err := r.Next()
	for ; err == nil && h.Name != name; h, err = r.Next() {
	}
	must(t, file+" "+name, err)
	must(t, file+" "+name, json.NewDecoder(r).Decode(to))
}

// onNode runs a script on n1; input is a file that is its stdin, if any.
func onNode(t *testing.T, s *stand.Stand, script, input string) string {
	t.Helper()
	c := s.Lab.SSH(t.Context(), "n1", "sh -c "+shell.Quote(script))
	if input != "" {
		f, err := os.Open(input)
		must(t, input, err)
		defer f.Close()
		c.Stdin = f
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("on n1: %v\n%s\n%s", err, script, tail(string(out), 40))
	}
	return string(out)
}

// noWayOut makes sure that the node reaches nobody but the lab: what it installs can only come from the bundle.
func noWayOut(t *testing.T, s *stand.Stand) error {
	t.Helper()
	if out, err := s.Lab.Run(t.Context(), "n1", "getent hosts deb.debian.org"); err == nil {
		return fmt.Errorf("the node finds deb.debian.org: %s", out)
	}
	return nil
}

// dockerLoads wants every image in dockerd under its name, with the digest of its configuration as ID, and of this
// architecture.
func dockerLoads(t *testing.T, s *stand.Stand, u unpacked) {
	said := onNode(t, s, "docker load -i /root/images.tar", "")
	for _, im := range u.tagged() {
		if !strings.Contains(said, "Loaded image: "+im.Name+"\n") {
			t.Errorf("docker load does not say %s:\n%s", im.Name, said)
		}
		got := strings.TrimSpace(onNode(t, s,
			"docker image inspect --format '{{.Id}} {{.Os}}/{{.Architecture}} {{len .RootFS.Layers}}' "+shell.Quote(im.Name),
			""))
		if want := fmt.Sprintf("%s linux/%s %d", u.configs[im.Name], runtime.GOARCH, len(im.Layers)); got != want {
			t.Errorf("%s is %s, want %s", im.Name, got, want)
		}
		if strings.Contains(im.Name, "/agnhost:") { // they are not only stored: one runs
			onNode(t, s, "docker run --rm --network none "+shell.Quote(im.Name)+" help >/dev/null", "")
		}
	}
	if got := strings.Fields(onNode(t, s, "docker image ls --quiet --no-trunc | sort -u",
		"")); len(got) != len(u.tagged()) {
		t.Errorf("docker has %d images, want %d: %v", len(got), len(u.tagged()), got)
	}
}

// ctrImports wants every image in containerd with the registry's own digest, by its tag, by the digest of the index
// that manifests pin, and by that of the platform.
func ctrImports(t *testing.T, s *stand.Stand, u unpacked) {
	onNode(t, s, "ctr images import /root/images.tar", "")
	names := map[string]string{}
	for line := range strings.Lines(onNode(t, s, "ctr images ls", "")) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasPrefix(f[2], "sha256:") {
			names[f[0]] = f[2]
		}
	}
	check := onNode(t, s, "ctr images check", "")
	for _, im := range u.manifest.Images {
		if names[im.Name] != im.Digest {
			t.Errorf("%s has the digest %q, want %s", im.Name, names[im.Name], im.Digest)
		}
		if !slices.ContainsFunc(strings.Split(check, "\n"), func(l string) bool {
			return strings.HasPrefix(l, im.Name+" ") && strings.Contains(l, " complete ")
		}) {
			t.Errorf("%s is not complete:\n%s", im.Name, check)
		}
	}
	for _, im := range u.tagged() {
		repository := im.Name[:strings.LastIndex(im.Name, ":")]
		for _, digest := range []string{im.Index, im.Digest} {
			if got := names[repository+"@"+digest]; digest != "" && got != im.Digest {
				t.Errorf("%s@%s is %q, want %s", repository, digest, got, im.Digest)
			}
		}
	}
}

// skopeoReads reads images.tar as each of the two archives that it is. In an OCI archive skopeo finds by name only
// images whose manifest has OCI's own media type; the others, in docker's format of registries, it reads from the
// docker archive.
func skopeoReads(t *testing.T, u unpacked) {
	need(t, "skopeo", "skopeo")
	byDigest := 0
	for _, im := range u.tagged() {
		if got := digestOf(t, "inspect", "--config", "--raw",
			"docker-archive:"+u.images+":"+im.Name); got != u.configs[im.Name] {
			t.Errorf("docker-archive: the configuration of %s is %s, want %s", im.Name, got, u.configs[im.Name])
		}
		from := "docker-archive:"
		if u.formats[im.Name] == "application/vnd.oci.image.manifest.v1+json" {
			from = "oci-archive:"
			byDigest++
			if got := digestOf(t, "inspect", "--raw", "oci-archive:"+u.images+":"+im.Name); got != im.Digest {
				t.Errorf("oci-archive: %s is %s, want %s", im.Name, got, im.Digest)
			}
		}
		// A copy reads and verifies every layer; from an OCI archive it keeps the digest of the registry.
		dir := filepath.Join(t.TempDir(), "copy")
		program(t, "skopeo", "--insecure-policy", "copy", "--quiet", from+u.images+":"+im.Name, "dir:"+dir)
		text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		must(t, "copy", err)
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); from == "oci-archive:" && got != im.Digest {
			t.Errorf("a copy of %s is %s, want %s", im.Name, got, im.Digest)
		}
	}
	if byDigest == 0 {
		t.Error("no image has OCI's media type")
	}
}

func digestOf(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "skopeo", args...).Output()
	must(t, "skopeo "+strings.Join(args, " "), err)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(out))
}

// podmanLoads wants every image in a storage of podman's own, by name and ID.
func podmanLoads(t *testing.T, u unpacked) {
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("podman is not installed")
	}
	home, err := os.MkdirTemp("", "pod") // podman takes no path of more than 50 characters
	must(t, "home", err)
	t.Cleanup(func() { os.RemoveAll(home) })
	must(t, "policy", os.MkdirAll(filepath.Join(home, ".config/containers"), 0o700))
	must(t, "policy", os.WriteFile(filepath.Join(home, ".config/containers/policy.json"),
		[]byte(`{"default":[{"type":"insecureAcceptAnything"}]}`), 0o600))
	podman := func(args ...string) string {
		t.Helper()
		all := append([]string{"--root", home + "/storage", "--runroot", home + "/run", "--storage-driver", "vfs",
			"--log-level", "error"}, args...)
		out, err := attempt(t.Context(), []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home}, "podman", all...)
		if err != nil {
			t.Fatalf("podman %v: %v\n%s", args, err, out)
		}
		return out
	}
	podman("load", "--quiet", "--input", u.images)
	for _, im := range u.tagged() {
		got := strings.TrimSpace(podman("image", "inspect", "--format", "{{.Id}} {{.Architecture}}", im.Name))
		if want := strings.TrimPrefix(u.configs[im.Name], "sha256:") + " " + runtime.GOARCH; got != want {
			t.Errorf("%s is %s, want %s", im.Name, got, want)
		}
	}
}
