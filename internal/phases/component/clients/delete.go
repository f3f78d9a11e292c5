package clients

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
)

// Delete removes those of the objects that Eggo has applied, by the API server's own record of it, in the order given.
// Those that are there and that somebody else has made are kept.
func (k *API) Delete(ctx context.Context, objects []*unstructured.Unstructured) (deleted int, kept []string,
	err error) {
	background := metav1.DeletePropagationBackground
	for _, o := range objects {
		res, err := k.resource(o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return deleted, kept, Fault(err)
		}
		is, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return deleted, kept, Fault(err)
		case !applied(is):
			kept = append(kept, o.GetKind()+" "+o.GetName())
			continue
		}
		uid := is.GetUID()
		err = res.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background,
			Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) {
			return deleted, kept, Fault(err)
		}
		deleted++
	}
	return deleted, kept, nil
}

// applied says whether fields of the object are ours by a server-side apply.
func applied(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == layout.FieldManager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}
