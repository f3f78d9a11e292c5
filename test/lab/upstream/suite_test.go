package upstream

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// The suite and its images are made for one architecture, and agnhost in another way than for a bundle.
func TestTheSuiteIsPlanned(t *testing.T) {
	spec, err := LoadSpec("")
	if err != nil {
		t.Fatal(err)
	}
	const agnhost = testImages + "agnhost:2.56"
	suite := spec.Suite("v1.34.2", []string{agnhost, "registry.k8s.io/etcd:3.6.4-0"})
	jobs, _, err := plan(Options{Dir: t.TempDir(), Spec: suite})
	if err != nil || len(jobs) != 4 {
		t.Fatal(len(jobs), err)
	}
	for _, j := range jobs {
		if !strings.HasSuffix(j.title, " "+runtime.GOARCH) {
			t.Errorf("%s is not made for this machine alone", j.title)
		}
	}
	bundled, err := imageJob(spec, agnhost, []string{runtime.GOARCH})
	if err != nil || bundled.id != jobs[2].id || bundled.recipe == jobs[2].recipe {
		t.Errorf("%v: %q and %q", err, bundled.recipe, jobs[2].recipe)
	}
	if _, _, err := plan(Options{Dir: t.TempDir(), Spec: spec.Suite("v1.34.2", []string{"invalid:1"})}); err == nil {
		t.Error("an image without a recipe is planned")
	}
	if CanMake("registry.k8s.io/e2e-test-images/perl:5.26") || !CanMake(agnhost) {
		t.Error("which images can be made")
	}
}

// What a runtime imports has the images under their names, with the digests that are compared with those of a node.
func TestImagesAreWrittenForARuntime(t *testing.T) {
	dir, names := t.TempDir(), []string{testImages + "busybox:1", testImages + "httpd:2"}
	for _, n := range names {
		p := platformImage{arch: "amd64", created: suiteTime(), config: v1.Config{Cmd: []string{"sh"}},
			layers: []imageLayer{{"RUN", append(shellFiles(), member{name: "name", data: []byte(n)})}}}
		if err := newStore(dir).index(n, []platformImage{p}, dockerTypes); err != nil {
			t.Fatal(err)
		}
	}
	digests, err := Digests(dir, "amd64", names)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := WriteImages(context.Background(), &archive, dir, "amd64", names); err != nil {
		t.Fatal(err)
	}
	got, err := image.Check(context.Background(), &archive)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for _, im := range got {
		if len(im.Names) != 1 || digests[im.Names[0]] != im.Manifest.Digest {
			t.Errorf("%v: %s", im.Names, im.Manifest.Digest)
		}
	}
	if _, err := Digests(dir, "arm64", names); err == nil {
		t.Error("an image of another architecture is taken")
	}
	if _, err := Digests(dir, "amd64", []string{testImages + "nginx:1"}); err == nil {
		t.Error("an image that is not there is taken")
	}
}
