package upstream

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// SuiteDir is the cache directory of the end-to-end suites of Kubernetes and of the images that their tests run. It is
// not the one of what bundles are packed from: an image of the same name is made with more in it here.
func SuiteDir() (string, error) {
	d, err := DefaultDir()
	return filepath.Join(filepath.Dir(d), "suite"), err
}

// Suite is a spec of upstream's end-to-end suite of a version of Kubernetes, with some of the images of its tests;
// packages in them are of the operating system of s.
func (s *Spec) Suite(kubernetes string, images []string) *Spec {
	suite := Spec{Kubernetes: kubernetes, OS: s.OS, Packages: s.Packages, suite: true}
	for _, n := range images {
		suite.Images = append(suite.Images, Image{Name: n})
	}
	return &suite
}

// SuitePrograms are what runs the tests: the suite itself, and the client that its tests call.
func SuitePrograms() []string { return []string{"e2e.test", "kubectl"} }

// SuiteProgram is where a program of the suite is in a cache directory.
func SuiteProgram(dir, kubernetes, arch, name string) string {
	return filepath.Join(dir, suiteProgram(kubernetes, arch, name))
}

func suiteProgram(kubernetes, arch, name string) string {
	return filepath.Join("programs", kubernetes, arch, name)
}

// suiteJob builds the programs of the suite.
func suiteJob(kubernetes, arch string) job {
	return job{
		id: "suite-" + kubernetes + "-" + arch, title: "end-to-end suite of Kubernetes " + kubernetes + " " + arch,
		recipe: "1",
		run: func(ctx context.Context, b *builder) (made, error) {
			m, released, err := b.kubernetesModule(ctx, kubernetes)
			if err != nil {
				return made{}, err
			}
			m.name = "suite-" + kubernetes
			d, err := m.write(b.dir)
			if err != nil {
				return made{}, err
			}
			flags := strings.TrimSpace("-s -w " + kubernetesVersionFlags(kubernetes, released))
			suite, client := b.output("e2e.test", arch), b.output("kubectl", arch)
			if _, err := b.goRun(ctx, d, arch, "test", "-c", "-vet=off", "-trimpath", "-ldflags", flags, "-o",
				suite, "k8s.io/kubernetes/test/e2e"); err != nil {
				return made{}, err
			}
			if _, err := b.goRun(ctx, d, arch, "build", "-v", "-trimpath", "-ldflags", flags, "-o", client,
				"k8s.io/kubernetes/cmd/kubectl"); err != nil {
				return made{}, err
			}
			var out made
			for name, file := range map[string]string{"e2e.test": suite, "kubectl": client} {
				to := suiteProgram(kubernetes, arch, name)
				if err := place(file, filepath.Join(b.dir, to)); err != nil {
					return made{}, err
				}
				out.files = append(out.files, to)
			}
			slices.Sort(out.files)
			return out, nil
		},
	}
}

// CanMake says whether there is a recipe for an image of the suite.
func CanMake(name string) bool {
	return slices.ContainsFunc(suiteRecipes(), func(r imageRecipe) bool { return strings.HasPrefix(name, r.prefix) })
}

// Digests are those of the manifests of images for an architecture, by name, in a cache directory.
func Digests(dir, arch string, names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, n := range names {
		im, err := storedImage(dir, arch, n)
		if err != nil {
			return nil, err
		}
		out[n] = im.Manifest.Digest
	}
	return out, nil
}

// WriteImages writes an archive of images of a cache directory that container runtimes import.
func WriteImages(ctx context.Context, w io.Writer, dir, arch string, names []string) error {
	var images []image.Image
	for _, n := range names {
		im, err := storedImage(dir, arch, n)
		if err != nil {
			return err
		}
		images = append(images, im)
	}
	layout, err := image.Plan(images)
	if err != nil {
		return err
	}
	return layout.Write(ctx, w, func(digest string) (io.ReadCloser, error) { return os.Open(blobFile(dir, digest)) })
}

func blobFile(dir, digest string) string {
	return filepath.Join(dir, blobsDir, strings.TrimPrefix(digest, "sha256:"))
}

// storedImage is an image of a cache directory.
func storedImage(dir, arch, name string) (image.Image, error) {
	ref, err := refPath(dir, name)
	if err != nil {
		return image.Image{}, err
	}
	digest, err := os.ReadFile(ref)
	if err != nil {
		return image.Image{}, err
	}
	index, err := os.ReadFile(blobFile(dir, string(digest)))
	if err != nil {
		return image.Image{}, err
	}
	want := image.Want{Arch: arch, Runtime: image.Containerd}
	read := func(d image.Descriptor) ([]byte, error) { return os.ReadFile(blobFile(dir, d.Digest)) }
	manifest, err := image.Choose(name, index, want, func(d image.Descriptor) (image.Platform, error) {
		raw, err := read(d)
		if err != nil {
			return image.Platform{}, err
		}
		return image.PlatformOf(name, raw, read)
	})
	if err != nil {
		return image.Image{}, err
	}
	raw, err := read(manifest)
	if err != nil {
		return image.Image{}, err
	}
	document, err := image.ReadManifest(name, raw, want.Runtime)
	if err != nil {
		return image.Image{}, fmt.Errorf("%s: %w", name, err)
	}
	return image.Image{Names: []string{name}, Platform: want.Platform(), Manifest: manifest, Config: document.Config,
		Layers: document.Layers}, nil
}
