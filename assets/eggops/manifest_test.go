package eggops_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/eggo-k8s/eggo/assets/eggops"
)

func objects(t *testing.T, text []byte) (out []*unstructured.Unstructured) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// eggops.yaml has everything in an order that can be applied, with the image in both places, and without the policies:
// kubectl delete -f eggops.yaml must not remove what refuses deletions.
func TestManifest(t *testing.T) {
	const image = `registry.example.com/eggo/eggops:v1@sha256:00"#`
	text, err := eggops.Manifest(image)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range objects(t, text) {
		kinds = append(kinds, o.GetKind())
		if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
			t.Errorf("%s %s is in eggops.yaml", o.GetKind(), o.GetName())
		}
		if o.GetKind() != "Deployment" {
			continue
		}
		list, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		c := list[0].(map[string]any)
		env := c["env"].([]any)[0].(map[string]any)
		if c["image"] != image || env["name"] != "EGGOPS_IMAGE" || env["value"] != image {
			t.Errorf("the image is %v, of runs %v", c["image"], env)
		}
	}
	for _, kind := range []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "ServiceAccount", "Deployment",
		"Service"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("there is no %s in %v", kind, kinds)
		}
	}
	definitions := slices.Index(kinds, "CustomResourceDefinition")
	if kinds[0] != "Namespace" || definitions < 0 || definitions > slices.Index(kinds, "Deployment") {
		t.Errorf("the order is %v", kinds)
	}
	if crds, err := eggops.Definitions(); err != nil || len(objects(t, crds)) != 5 {
		t.Error(err)
	}
	if policies, err := eggops.Policies(); err != nil || len(objects(t, policies)) == 0 {
		t.Error(err)
	}
}
