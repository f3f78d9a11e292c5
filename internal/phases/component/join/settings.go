package join

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// recordNamespace has the records of what Eggo gave the Nodes: a kubelet that is taken over cannot write there, and so
// cannot have Eggo take away what an administrator put on its Node.
const recordNamespace = "kube-system"

// given is what Eggo gave a Node by deploy.yaml: keys of labels, and taints by key and effect.
type given struct{ labels, taints []string }

func (g given) empty() bool { return len(g.labels)+len(g.taints) == 0 }

func (g given) equal(o given) bool {
	return slices.Equal(g.labels, o.labels) && slices.Equal(g.taints, o.taints)
}

// with is what is in either.
func (g given) with(o given) given {
	return given{sorted(slices.Concat(g.labels, o.labels)), sorted(slices.Concat(g.taints, o.taints))}
}

func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// adapted is a Node as deploy.yaml wants it, beside its roles.
type adapted struct {
	labels  map[string]any // that change; nil takes one away
	taints  []corev1.Taint // all of them
	changes []string       // in the words of kubectl
	given   given          // what is Eggo's then
}

// adapt compares a Node with what deploy.yaml says of it. What was there before with the same value stays somebody
// else's; what Eggo gave and deploy.yaml does not say any more is taken away.
func adapt(s config.NodeSettings, o *corev1.Node, own given) adapted {
	out := adapted{labels: map[string]any{}}
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		is, there := o.Labels[k]
		if !there || is != s.Labels[k] {
			out.labels[k] = s.Labels[k]
			out.changes = append(out.changes, k+"="+s.Labels[k])
		}
		if !there || is != s.Labels[k] || slices.Contains(own.labels, k) {
			out.given.labels = append(out.given.labels, k)
		}
	}
	for _, k := range own.labels {
		if _, wanted := s.Labels[k]; wanted {
			continue
		}
		if _, there := o.Labels[k]; there {
			out.labels[k] = nil
			out.changes = append(out.changes, k+"-")
		}
	}
	id := func(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }
	wanted := map[string]config.Taint{}
	for _, t := range s.Taints {
		wanted[t.ID()] = t
	}
	for _, t := range o.Spec.Taints {
		w, is := wanted[id(t)]
		switch {
		case is && w.Value == t.Value:
			if slices.Contains(own.taints, w.ID()) {
				out.given.taints = append(out.given.taints, w.ID())
			}
			delete(wanted, w.ID())
		case is:
			continue // given its value below
		case slices.Contains(own.taints, id(t)):
			out.changes = append(out.changes, id(t)+"-")
			continue
		}
		out.taints = append(out.taints, t)
	}
	for _, t := range s.Taints {
		if _, missing := wanted[t.ID()]; missing {
			out.taints = append(out.taints, corev1.Taint{Key: t.Key, Value: t.Value,
				Effect: corev1.TaintEffect(t.Effect)})
			out.changes = append(out.changes, t.String())
			out.given.taints = append(out.given.taints, t.ID())
		}
	}
	out.given.taints = sorted(out.given.taints)
	return out
}

func recordName(node string) string { return "eggo-node-" + node }

// given reads the record of a Node.
func (r *Join) given(ctx context.Context, node string) (given, error) {
	cm, err := r.API().CoreV1().ConfigMaps(recordNamespace).Get(ctx, recordName(node), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return given{}, nil
	}
	if err != nil {
		return given{}, clients.Fault(err)
	}
	lines := func(key string) []string { return sorted(strings.Fields(cm.Data[key])) }
	return given{lines("labels"), lines("taints")}, nil
}

// recordOf is the record of a Node as an object of the API. It belongs to the Node, and ends with it.
func recordOf(o *corev1.Node, g given) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": recordName(o.Name), "namespace": recordNamespace,
			"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Node", "name": o.Name,
				"uid": string(o.UID)}}},
		"data": map[string]any{"labels": strings.Join(g.labels, "\n"), "taints": strings.Join(g.taints, "\n")},
	}}
}

// keep writes the record of a Node, or removes it when it has nothing.
func (r *Join) keep(ctx context.Context, o *corev1.Node, was, is given) error {
	record := []*unstructured.Unstructured{recordOf(o, is)}
	switch {
	case is.equal(was):
		return nil
	case is.empty():
		_, _, err := r.API().Delete(ctx, record)
		return err
	}
	return r.API().Apply(ctx, record)
}

// settled says whether the Node has what deploy.yaml says of it, and the record is right.
func (r *Join) settled(ctx context.Context, n config.Node, o *corev1.Node) (bool, error) {
	own, err := r.given(ctx, n.Name)
	if err != nil {
		return false, err
	}
	a := adapt(r.Cluster.Eggo.Nodes[n.Name], o, own)
	return len(a.changes) == 0 && a.given.equal(own), nil
}

// settle gives the Node what deploy.yaml says of it. The record has it before the Node does, so that nothing of it is
// forgotten when the run ends in between.
func (r *Join) settle(ctx context.Context, n config.Node) error {
	o, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	own, err := r.given(ctx, n.Name)
	if err != nil {
		return err
	}
	a := adapt(r.Cluster.Eggo.Nodes[n.Name], o, own)
	if err := r.keep(ctx, o, own, own.with(a.given)); err != nil {
		return err
	}
	if len(a.changes) > 0 {
		if err := r.tellSettings(ctx, n, a.changes); err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{
			// The version: somebody else's taint that comes in between is not lost.
			"metadata": map[string]any{"labels": a.labels, "resourceVersion": o.ResourceVersion},
			"spec":     map[string]any{"taints": a.taints},
		})
		if err != nil {
			return err
		}
		if _, err := r.API().CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: layout.FieldManager}); err != nil {
			return clients.Fault(err)
		}
	}
	return r.keep(ctx, o, own.with(a.given), a.given)
}

// tellSettings announces what changes of a Node.
func (r *Join) tellSettings(ctx context.Context, n config.Node, changes []string) error {
	return r.Emit(event.Change{Host: n.Name, Step: engine.StepID(ctx),
		Desc: event.M("change.node-settings", "name", n.Name, "changes", event.Clean(strings.Join(changes, ", ")))})
}

// tellFuture announces in a dry run what a node gets that is not in the cluster yet.
func (r *Join) tellFuture(ctx context.Context, n config.Node) error {
	a := adapt(r.Cluster.Eggo.Nodes[n.Name], &corev1.Node{}, given{})
	if f := r.Fact(n.Name); len(a.changes) == 0 || f != nil && f.Joined {
		return nil
	}
	return r.tellSettings(ctx, n, a.changes)
}
