// Package guard keeps the definitions of the operator's kinds from being deleted while there are objects: deleting a
// definition deletes its objects, without any admission.
package guard

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// Guard sets the annotation that a policy requires for a deletion on the definitions of kinds without objects, and
// removes it from those with objects.
type Guard struct {
	Client client.Client
	Live   client.Reader // of all namespaces, not cached
	Every  time.Duration // 0: a minute
}

// Start implements manager.Runnable.
func (g *Guard) Start(ctx context.Context) error {
	every := g.Every
	if every == 0 {
		every = time.Minute
	}
	for t := time.NewTicker(every); ; {
		if err := g.Look(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "guarding the definitions")
		}
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (g *Guard) NeedLeaderElection() bool { return true }

// kinds returns a list of each kind, by the name of its definition.
func kinds() map[string]client.ObjectList {
	return map[string]client.ObjectList{
		"machines." + v1.Group: &v1.MachineList{}, "machinebindings." + v1.Group: &v1.MachineBindingList{},
		"infrastructures." + v1.Group: &v1.InfrastructureList{}, "clusters." + v1.Group: &v1.ClusterList{},
		"operations." + v1.Group: &v1.OperationList{},
	}
}

// Look examines all definitions once.
func (g *Guard) Look(ctx context.Context) error {
	for name, list := range kinds() {
		if err := g.Live.List(ctx, list, client.Limit(1)); err != nil {
			return err
		}
		if err := g.mark(ctx, name, meta.LenList(list) == 0); err != nil {
			return err
		}
	}
	return nil
}

// mark sets or removes the annotation on a definition.
func (g *Guard) mark(ctx context.Context, name string, free bool) error {
	d := &unstructured.Unstructured{}
	d.SetAPIVersion("apiextensions.k8s.io/v1")
	d.SetKind("CustomResourceDefinition")
	if err := g.Live.Get(ctx, client.ObjectKey{Name: name}, d); err != nil {
		return client.IgnoreNotFound(err)
	}
	was := d.DeepCopy()
	all := d.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	if all[v1.AnnotationConfirmDeletion] == name == free {
		return nil
	}
	if delete(all, v1.AnnotationConfirmDeletion); free {
		all[v1.AnnotationConfirmDeletion] = name
	}
	d.SetAnnotations(all)
	return client.IgnoreNotFound(g.Client.Patch(ctx, d, client.MergeFrom(was)))
}
