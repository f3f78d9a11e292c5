package upgrade

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/pager"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/drain"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Stored has the API servers write every object again whose resource they store in another version since the hop. An
// object stays in the version in which it was written last, and a later minor may not be able to read that any more.
type Stored struct {
	*clients.Clients
	State *State
}

// The sizes of a rewrite.
const (
	storedPage  = 500                    // objects of one answer
	storedEvery = 2000                   // objects between two words about it
	storedCRDs  = "apiextensions.k8s.io" // whose resources belong to who has defined them
)

// Remember keeps the versions in which the API servers store objects, when the steps of needs are done and before one
// of them is upgraded.
func (s *Stored) Remember(needs []string) *engine.Step {
	st := plan.Step(plan.PhaseSnapshot, "stored", "", needs)
	st.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 5 * time.Second}
	st.Check = func(context.Context) (bool, error) { return s.State.Is().Stored != nil, nil }
	st.Apply = func(ctx context.Context) error {
		is, err := s.served(ctx)
		if err != nil || s.Dry {
			return cmp.Or(err, engine.ErrUnchanged)
		}
		was := map[string]string{}
		for _, r := range is {
			was[r.GroupResource().String()] = r.hash
		}
		return s.State.Change(ctx, func(b *Begun) { b.Stored = was })
	}
	return st
}

// Rewrite writes what is stored in other versions again, when the steps of needs are done.
func (s *Stored) Rewrite(needs []string) *engine.Step {
	st := plan.Step(plan.PhaseCheck, "stored", "", needs)
	st.Timeout = 4 * time.Hour
	st.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 10 * time.Second}
	st.Apply = s.rewrite
	return st
}

// resource that API servers store.
type resource struct {
	schema.GroupVersionResource
	hash string // of the version in which it is stored
}

// served are the resources that the API servers store and let us list and patch, each in one version. Of a group whose
// own server does not answer nothing is known, and nothing is stored by ours.
func (s *Stored) served(ctx context.Context) ([]resource, error) {
	d := s.API().Discovery()
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, clients.Fault(err)
	}
	var out []resource
	known := map[schema.GroupResource]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			gvr := gv.WithResource(r.Name)
			if r.StorageVersionHash == "" || known[gvr.GroupResource()] || strings.Contains(r.Name, "/") ||
				!slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "patch") {
				continue
			}
			known[gvr.GroupResource()] = true
			out = append(out, resource{gvr, r.StorageVersionHash})
		}
	}
	return out, ctx.Err()
}

// rewrite writes again what has to be.
func (s *Stored) rewrite(ctx context.Context) error {
	was := s.State.Is().Stored
	if s.Dry || was == nil {
		return engine.ErrUnchanged
	}
	defined, err := s.defined(ctx)
	if err != nil {
		return err
	}
	is, err := s.served(ctx)
	if err != nil {
		return err
	}
	changed := false
	for _, r := range is {
		before, known := was[r.GroupResource().String()]
		if !known || before == r.hash || defined[r.GroupResource().String()] {
			continue
		}
		changed = true
		if err := s.writeAgain(ctx, r); err != nil {
			return err
		}
		// One that is done is not begun again by a run that continues.
		if err := s.State.Change(ctx, func(b *Begun) {
			b.Stored = maps.Clone(b.Stored)
			b.Stored[r.GroupResource().String()] = r.hash
		}); err != nil {
			return err
		}
	}
	if !changed {
		return engine.ErrUnchanged
	}
	return nil
}

// writeAgain has every object of a resource written as it is.
func (s *Stored) writeAgain(ctx context.Context, r resource) error {
	name := event.Clean(r.GroupResource().String())
	step := engine.StepID(ctx)
	if err := s.Emit(event.Change{Step: step, Desc: event.M("change.stored-version", "resource", name)}); err != nil {
		return err
	}
	all, done := s.API().Dynamic().Resource(r.GroupVersionResource), 0
	var refused []string
	cause := ""
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return all.List(ctx, o)
	})
	pages.PageSize = storedPage
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		u := o.(*unstructured.Unstructured)
		one := all.Namespace(u.GetNamespace())
		_, err := one.Patch(ctx, u.GetName(), types.MergePatchType, []byte("{}"),
			metav1.PatchOptions{FieldManager: layout.FieldManager})
		switch {
		case err == nil, apierrors.IsNotFound(err):
		case apierrors.IsConflict(err): // who wrote it meanwhile wrote the new version
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err),
			apierrors.IsMethodNotSupported(err): // by a webhook, or a rule that came after the object
			refused = append(refused, event.Clean(strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")))
			cause = event.Clean(err.Error())
		default:
			return err
		}
		if done++; done%storedEvery != 0 {
			return nil
		}
		return s.Emit(event.Notice{Step: step, Text: event.M("notice.upgrade-stored", "resource", name, "count",
			strconv.Itoa(done))})
	})
	if err == nil && len(refused) > 0 {
		err = s.Emit(event.Notice{Step: step, Text: event.M("notice.upgrade-stored-refused", "resource", name,
			"objects", drain.Names(refused), "cause", cause)})
	}
	if f := (*event.Fault)(nil); err == nil || errors.As(err, &f) || ctx.Err() != nil {
		return err
	}
	return clients.Fault(err)
}

// defined are the resources of CustomResourceDefinitions. Which versions of them are stored is known to who has defined
// them alone; those with an old one are named.
func (s *Stored) defined(ctx context.Context) (map[string]bool, error) {
	crds := schema.GroupVersionResource{Group: storedCRDs, Version: "v1", Resource: "customresourcedefinitions"}
	out := map[string]bool{}
	list, err := s.API().Dynamic().Resource(crds).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return nil, clients.Fault(err)
	}
	var old []string
	for _, o := range list.Items {
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
		out[schema.GroupResource{Group: group, Resource: plural}.String()] = true
		stored, _, _ := unstructured.NestedStringSlice(o.Object, "status", "storedVersions")
		if len(stored) > 1 {
			old = append(old, event.Clean(o.GetName()+" ("+strings.Join(stored, ", ")+")"))
		}
	}
	if len(old) == 0 {
		return out, nil
	}
	return out, s.Emit(event.Notice{Step: engine.StepID(ctx),
		Text: event.M("notice.upgrade-crds-stored", "crds", drain.Names(old))})
}
