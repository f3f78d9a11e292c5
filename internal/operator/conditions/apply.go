package conditions

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// Part returns one part of an object that is applied, name: its spec or its status.
func Part(kind string, at client.ObjectKey, name string, value any) (*unstructured.Unstructured, error) {
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

// Apply applies the status of an object as it was read: a change by others in between is a conflict. version is the
// resource version that was read; "" applies in any case. owner is the field manager.
func Apply(ctx context.Context, c client.Client, kind string, at client.ObjectKey, version, owner string, status any,
) error {
	u, err := Part(kind, at, "status", status)
	if err != nil {
		return err
	}
	u.SetResourceVersion(version)
	return c.Status().Patch(ctx, u, client.Apply, client.FieldOwner(owner), client.ForceOwnership)
}
