package pool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// Owner is the field manager of everything that this package applies.
const Owner = "eggops-pool"

// part is one part of an object that is applied: its spec or its status.
func part(kind string, at client.ObjectKey, name string, value any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, at, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{name: fields}}
	u.SetGroupVersionKind(v1.GroupVersion().WithKind(kind))
	u.SetNamespace(at.Namespace)
	u.SetName(at.Name)
	return u, nil
}

// applyStatus applies the status of an object as it was read: a change by others in between is a conflict. version is
// the resource version that was read; "" applies in any case.
func applyStatus(ctx context.Context, c client.Client, kind string, at client.ObjectKey, version string, status any,
) error {
	u, err := part(kind, at, "status", status)
	if err != nil {
		return err
	}
	u.SetResourceVersion(version)
	return c.Status().Patch(ctx, u, client.Apply, client.FieldOwner(Owner), client.ForceOwnership)
}
