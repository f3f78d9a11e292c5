package addons

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
)

// The objects of a manifest are what its versions are compared by: those in lists too, and definitions with the kind
// that they bring.
func TestObjectsOfAManifest(t *testing.T) {
	const url = "https://example.com/a.yaml"
	r := &Addons{fetched: map[string][]byte{url: []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: a, namespace: web}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rules.policy}
spec: {group: policy, names: {kind: Rule}}
`)}}
	want := []kubeapi.Object{
		{APIVersion: "policy/v1beta1", Kind: "PodDisruptionBudget", Name: "web/a"},
		{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "rules.policy",
			Defines: "policy/Rule"},
	}
	if got, err := r.Objects(nil, url); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %+v", err, got)
	}
	if got, err := r.Objects(nil, "https://example.com/not-fetched.yaml"); err != nil || got != nil {
		t.Errorf("%v %+v", err, got)
	}
}
