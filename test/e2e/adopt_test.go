package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// handmade packs what the original eggo's manual has people pack, in its typed layout: the content of a bundle without
// everything that only our bundles have. bare is the same without images.
func handmade(t *testing.T, s *stand.Stand) (archive, bare string, from bundle.Manifest) {
	t.Helper()
	text := program(t, "tar", "-xzOf", s.Bundle, bundle.ManifestName)
	must(t, "manifest", json.Unmarshal([]byte(text), &from))
	flat, dir := filepath.Join(s.Dir, "unpacked"), filepath.Join(s.Dir, "by-hand")
	unpack(t, s.Bundle, flat)
	places := map[bundle.Kind]string{bundle.Deb: "pkg", bundle.Binary: "bin", bundle.Addon: "file",
		bundle.Images: "image"}
	for _, m := range from.Members {
		if place := places[m.Kind]; place != "" {
			to := filepath.Join(dir, place, filepath.Base(m.Path))
			must(t, to, os.MkdirAll(filepath.Dir(to), 0o755))
			must(t, to, os.Rename(filepath.Join(flat, m.Path), to))
		}
	}
	must(t, "unpacked", os.RemoveAll(flat))
	inPackage(t, dir, "kubelet", "kube-proxy")
	archive = filepath.Join(s.Dir, "packages-x86.tar.gz")
	program(t, "tar", "-C", dir, "-czf", archive, ".")
	bare = filepath.Join(s.Dir, "without-images.tar")
	program(t, "tar", "-C", dir, "--exclude=./image", "-cf", bare, ".")
	must(t, "by hand", os.RemoveAll(dir))
	return archive, bare, from
}

// inPackage moves binaries to a package, as the manual's example has them.
func inPackage(t *testing.T, dir string, names ...string) {
	t.Helper()
	need(t, "dpkg-deb", "dpkg")
	root := filepath.Join(dir, "kubernetes-node")
	must(t, root, os.MkdirAll(filepath.Join(root, "usr", "bin"), 0o755))
	must(t, root, os.Mkdir(filepath.Join(root, "DEBIAN"), 0o755))
	must(t, "control", os.WriteFile(filepath.Join(root, "DEBIAN", "control"), []byte("Package: kubernetes-node\n"+
		"Version: 1.0\nArchitecture: "+runtime.GOARCH+"\nMaintainer: e2e\nDescription: binaries of a node\n"), 0o600))
	for _, n := range names {
		must(t, n, os.Rename(filepath.Join(dir, "bin", n), filepath.Join(root, "usr", "bin", n)))
	}
	program(t, "dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", root, filepath.Join(dir, "pkg"))
	must(t, root, os.RemoveAll(root))
}

// TestAdoptedBundle: an archive that was packed by hand for the original eggo becomes a bundle, which is signed,
// verified and installed like any other.
func TestAdoptedBundle(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	w := workshopOn(t, s)
	archive, bare, from := handmade(t, s)
	out := filepath.Join(s.Dir, "adopted")

	s.Say("== for another architecture, without images, and damaged: refused, nothing is written")
	if got := w.runs(t, 6, "adopt", archive, "--arch", otherThan(runtime.GOARCH), "-o", out); got.Has(
		"adopt.arch") != nil {
		t.Error(got.Out)
	}
	if got := w.runs(t, 6, "adopt", bare, "-o", out); got.Has("adopt.no-images") != nil ||
		strings.Count(got.Out, "[adopt.") != 1 {
		t.Error(got.Out)
	}
	must(t, bare, os.Remove(bare))
	cut := filepath.Join(s.Dir, "cut.tar.gz")
	program(t, "sh", "-c", `head -c 5000000 "$1" >"$2"`, "sh", archive, cut)
	if got := w.runs(t, 6, "adopt", cut, "-o", out); got.Has("adopt.damaged") != nil {
		t.Error(got.Out)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("%s: %v", out, err)
	}

	s.Say("== adopted, signed and verified")
	got := w.runs(t, 0, "adopt", archive, "-o", out)
	if err := got.Has("adopt.source", "adopt.unsigned", "adopt.os-read", "adopt.taken"); err != nil {
		t.Errorf("%v\n%s", err, tail(got.Out, 40))
	}
	file := filepath.Join(out, "eggo-"+runtime.GOARCH+".tar.gz")
	var m bundle.Manifest
	must(t, "manifest", json.Unmarshal([]byte(program(t, "tar", "-xzOf", file, bundle.ManifestName)), &m))
	sameContent(t, from, m)
	key := filepath.Join(s.Dir, "key")
	w.runs(t, 0, "keygen", "--no-passphrase", "-o", key)
	w.runs(t, 0, "sign", file, "--key", key)
	s.Bundle = file
	deploy, err := s.Deploy("adopted.yaml", "adopted", []stand.Node{{Name: "n1", Roles: "mne"},
		{Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	w.runs(t, 0, "verify", "-f", deploy, file)

	s.Say("== installed")
	before := untouched(t, s, 2)
	try(t, s, 0, "deploy", "-f", deploy)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "deploy", "-f", deploy)
	noChange(t, s.State(), "adopted")
	try(t, s, 0, "cleanup", "-f", deploy, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// sameContent wants an adopted bundle to have what it was made of, with versions, destinations and roles as before.
func sameContent(t *testing.T, from, to bundle.Manifest) {
	t.Helper()
	if to.Adopted == nil || to.Kubernetes != from.Kubernetes || to.OS != from.OS || to.Arch != from.Arch {
		t.Errorf("%+v %s %+v, was %s %+v", to.Adopted, to.Kubernetes, to.OS, from.Kubernetes, from.OS)
	}
	for _, a := range from.Members {
		if !slices.Contains([]bundle.Kind{bundle.Deb, bundle.Binary, bundle.Addon}, a.Kind) {
			continue
		}
		i := slices.IndexFunc(to.Members, func(b bundle.Member) bool {
			return b.Kind == a.Kind && filepath.Base(b.Path) == filepath.Base(a.Path)
		})
		if i < 0 || to.Members[i].SHA256 != a.SHA256 {
			t.Errorf("%s is not in the adopted bundle", a.Path)
			continue
		}
		b := to.Members[i]
		if a.Kind == bundle.Binary && (b.Dst != a.Dst || !slices.Equal(b.Roles, a.Roles)) {
			t.Errorf("%s goes to %s for %v, not to %s for %v", a.Path, b.Dst, b.Roles, a.Dst, a.Roles)
		}
	}
	for _, a := range from.Images {
		if strings.Contains(a.Name, "@") { // of an index, of which an archive of images says nothing
			continue
		}
		if !slices.ContainsFunc(to.Images, func(b bundle.Image) bool {
			return b.Name == a.Name && b.Digest == a.Digest
		}) {
			t.Errorf("the image %s is not in the adopted bundle", a.Name)
		}
	}
}
