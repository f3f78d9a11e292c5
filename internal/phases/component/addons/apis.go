package addons

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
)

// Objects are those of a manifest of the bundle, or of one that Fetch got; none of a URL that was not fetched.
func (r *Addons) Objects(b input.Bundle, name string) ([]kubeapi.Object, error) {
	data, err := r.read(b, name)
	if err != nil {
		return nil, err
	}
	list, err := clients.ParseManifests(data)
	if err != nil {
		return nil, err
	}
	var out []kubeapi.Object
	for _, o := range list {
		x := kubeapi.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName()}
		if ns := o.GetNamespace(); ns != "" {
			x.Name = ns + "/" + x.Name
		}
		if x.Kind == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			x.Defines = group + "/" + kind
		}
		out = append(out, x)
	}
	return out, nil
}
