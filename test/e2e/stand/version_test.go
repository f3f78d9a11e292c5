package stand

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// The spec of another minor differs from the default one in its name and version alone: both stand beside each other
// there.
func TestSpecAtAnotherVersion(t *testing.T) {
	t.Parallel()
	text, err := assets.BundleSpec(upstream.System)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := upstream.LoadSpec("")
	if err != nil {
		t.Fatal(err)
	}
	own, err := specAt(string(text), spec.Kubernetes, "v1.33.13", "other")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Name, Kubernetes string }
	if err := yaml.Unmarshal([]byte(own), &got); err != nil || got.Name != "other" || got.Kubernetes != "v1.33.13" {
		t.Errorf("%+v, %v", got, err)
	}
	less, err := withoutImage(own, "coredns")
	if err != nil || strings.Contains(less, "coredns/coredns:") || !strings.Contains(less, "pause:") {
		t.Errorf("%v\n%s", err, less)
	}
	if _, err := withoutImage(less, "coredns"); err == nil {
		t.Error("an image that the spec does not name is taken away")
	}
	if _, err := specAt(own, spec.Kubernetes, "v1.33.13", "other"); err == nil {
		t.Error("a spec that does not name the version is taken")
	}
}
