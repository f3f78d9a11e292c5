package guard_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/guard"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

// A definition can be deleted only while it has no objects. The rights are those of the operator.
func TestGuard(t *testing.T) {
	s := apiservertest.Start(t)
	c := s.Client(t)
	for _, name := range []string{"namespace.yaml", "rbac.yaml", "policies.yaml"} {
		s.Apply(t, c, name)
	}
	manager := s.As(t, "system:serviceaccount:eggops-system:eggops-manager", "system:serviceaccounts")
	g := &guard.Guard{Client: manager, Live: manager}
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("clusters.eggo.isula.org")
	deletes := func() error { return c.Delete(t.Context(), definition.DeepCopy(), client.DryRunAll) }
	refused := func(do func() error) func() error { // a policy holds a moment after it was created, and so do rights
		return func() error {
			if err := do(); !apierrors.IsForbidden(err) {
				return fmt.Errorf("a deletion is not refused: %w", err)
			}
			return nil
		}
	}
	apiservertest.Until(t, refused(deletes))
	apiservertest.Until(t, func() error {
		if err := g.Look(t.Context()); err != nil {
			return err
		}
		return deletes()
	})
	cluster := &v1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1.ClusterSpec{MasterRequire: &v1.RequireMachineConfig{Number: 1}}}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := g.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := deletes(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "annotate crd/clusters") {
		t.Errorf("a definition with objects can be deleted: %v", err)
	}
	apiservertest.Until(t, refused(func() error { return c.Delete(t.Context(), cluster, client.DryRunAll) }))
	cluster.Annotations = map[string]string{v1.AnnotationConfirmDeletion: "demo"}
	if err := c.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := g.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := deletes(); err != nil {
		t.Error(err)
	}
}
