package stand

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// PackVersion packs a bundle of another version of Kubernetes, v1.33.13, and gives its path; everything else in it is
// the default spec's. The lab's upstream builds that version once from source, which is some ten minutes of processor
// time. The stand's own bundle stays.
func (s *Stand) PackVersion(ctx context.Context, kubernetes string) (string, error) {
	return s.packVersion(ctx, kubernetes, packed{})
}

// PackWithout packs one without an image whose name contains a word.
func (s *Stand) PackWithout(ctx context.Context, kubernetes, image string) (string, error) {
	return s.packVersion(ctx, kubernetes, packed{suffix: "-without-" + image,
		edit: func(text string) (string, error) { return withoutImage(text, image) }})
}

// PackKubeadm packs one that has what kubeadm of that version asks for as well.
func (s *Stand) PackKubeadm(ctx context.Context, kubernetes string) (string, error) {
	return s.packVersion(ctx, kubernetes, packed{suffix: "-kubeadm",
		edit: func(text string) (string, error) { return withKubeadm(text, kubernetes) }})
}

// packed is what a bundle of another version has that the default spec has not.
type packed struct {
	suffix string                          // of its name
	edit   func(string) (string, error)    // of the spec
	image  func(http.Handler) http.Handler // stands before the upstream
}

// packVersion packs a bundle of the default spec at a version, as edit leaves it.
func (s *Stand) packVersion(ctx context.Context, kubernetes string, p packed) (string, error) {
	name := "eggo-" + kubernetes + p.suffix
	base, err := assets.BundleSpec(upstream.System)
	if err != nil {
		return "", err
	}
	text := string(base)
	if p.edit != nil {
		if text, err = p.edit(text); err != nil {
			return "", err
		}
	}
	file := filepath.Join(s.Dir, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	spec, err := upstream.LoadSpec(file) // at the version of the default spec, which the tools of the lab have
	if err != nil {
		return "", err
	}
	if text, err = specAt(text, spec.Kubernetes, kubernetes, name); err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	spec = spec.At(kubernetes)
	s.Say("the lab's upstream of Kubernetes %s: built once from source, then cached", kubernetes)
	if err := upstream.Build(ctx, upstream.Options{Spec: spec, Report: upstream.Printer(s.Out)}); err != nil {
		return "", err
	}
	srv, err := upstream.Serve(ctx, "", "127.0.0.1:0", spec)
	if err != nil {
		return "", err
	}
	defer srv.Close()
	addr := srv.Addr
	if p.image != nil {
		at, end, err := before(addr, p.image)
		if err != nil {
			return "", err
		}
		defer end()
		addr = at
	}
	mirrors := filepath.Join(s.Dir, name+"-mirrors")
	if err := upstream.WriteMirrors(mirrors, addr); err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, name) // the lock of the stand's own bundle is no other's
	err = s.Command(ctx, s.Program("eggo-bundle"), "build", "-f", file, "--arch", runtime.GOARCH, "-o", dir, "--cache",
		filepath.Join(s.Dir, "cache"), "--mirrors", mirrors).Run()
	return filepath.Join(dir, name+"-"+runtime.GOARCH+".tar.gz"), err
}

// specAt is the text of the default spec for another version of Kubernetes, under another name.
func specAt(text, from, to, name string) (string, error) {
	for _, line := range [][2]string{{"kubernetes: " + from, "kubernetes: " + to}, {"name: eggo", "name: " + name}} {
		if strings.Count(text, "\n"+line[0]+"\n") != 1 {
			return "", fmt.Errorf("the default spec has no one line %q", line[0])
		}
		text = strings.Replace(text, "\n"+line[0]+"\n", "\n"+line[1]+"\n", 1)
	}
	return text, nil
}

// withKubeadm is a spec with kubeadm, and the images of its list.
func withKubeadm(spec, kubernetes string) (string, error) {
	const at = "https://dl.k8s.io/release/{kubernetes}/bin/linux/{arch}/kubeadm"
	list, _, err := addon.KubernetesImages(kubernetes)
	if err != nil {
		return "", err
	}
	images := ""
	for _, im := range list {
		if im.Kubeadm {
			images += fmt.Sprintf("  - {name: %q, roles: [control-plane, worker]}\n", im.Name)
		}
	}
	program := "  - {name: kubeadm, version: \"{kubernetes}\", url: \"" + at + "\", checksum: \"" + at +
		".sha256\", dst: /usr/local/bin, roles: [control-plane]}\n"
	for heading, entries := range map[string]string{"images": images, "binaries": program} {
		line := "\n" + heading + ":\n"
		if strings.Count(spec, line) != 1 {
			return "", fmt.Errorf("the spec has no one line %q", heading+":")
		}
		spec = strings.Replace(spec, line, line+entries, 1)
	}
	return spec, nil
}

// withoutImage is a spec without the one image whose name contains a word.
func withoutImage(spec, word string) (string, error) {
	lines := strings.SplitAfter(spec, "\n")
	left := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasPrefix(line, "  - {name: ") && strings.Contains(line, word)
	})
	if len(left) != len(lines)-1 {
		return "", fmt.Errorf("the spec names %d images with %q", len(lines)-len(left), word)
	}
	return strings.Join(left, ""), nil
}
