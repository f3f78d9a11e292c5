package stand

import (
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
	if _, err := specAt(own, spec.Kubernetes, "v1.33.13", "other"); err == nil {
		t.Error("a spec that does not name the version is taken")
	}
}
