package phases

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// publishBefore publishes again what the driver has for all nodes as it was before the hop; nil when it has nothing. A
// hop without a way back may have lost the bundles of before.
func (h *hop) publishBefore() func(context.Context) error {
	steps := h.was.driver.Publish(nil)
	if len(steps) == 0 {
		return nil
	}
	return func(ctx context.Context) error {
		if h.was.unserved() {
			if missing := h.was.unstaged(); len(missing) > 0 {
				return &missing[0].Fault
			}
			return nil
		}
		for _, s := range steps {
			ok, err := s.Check(ctx)
			if err == nil && !ok {
				err = s.Apply(ctx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// unserved says whether no control plane that is there has a bundle.
func (r *run) unserved() bool {
	return !slices.ContainsFunc(r.Cluster.With(bundle.ControlPlane),
		func(n config.Node) bool { return r.BundleOf(n) != nil })
}

// publish are the steps that publish what the driver has for all nodes, when they have had their turns: in the hop's
// version a pod starts only on a node that has the image.
func (h *hop) publish() []*engine.Step {
	needs := plan.IDs(plan.PhaseBootstrap, "proxy", inventory.Kubelets(h.to.Cluster))
	steps := h.to.driver.Publish(needs)
	for _, s := range steps {
		s.ID = plan.PhaseAddons + strings.TrimPrefix(s.ID, plan.PhaseControl)
		s.Phase = plan.PhaseAddons
	}
	return h.whenAllAreThere(steps)
}

// pins keep the images of both versions on the nodes: what runs from them may be started again, or not yet.
func (h *hop) pins() []*engine.Step {
	if !h.to.Cluster.ByKubeadm() {
		return nil
	}
	var steps []*engine.Step
	for _, n := range inventory.Kubelets(h.to.Cluster) {
		steps = append(steps, h.to.runtimes.Pin(n, func() []string {
			var out []string
			for _, r := range []*run{h.was, h.to} {
				if b := r.BundleOf(n); b != nil {
					for _, im := range r.Images(n, b.Manifest()) {
						out = append(out, im.Name)
					}
				}
			}
			slices.Sort(out)
			return slices.Compact(out)
		}))
	}
	return steps
}

// unpin are the steps that end what pins began.
func (r *run) unpin(needs []string) []*engine.Step {
	if !r.Cluster.ByKubeadm() {
		return nil
	}
	var steps []*engine.Step
	for _, n := range inventory.Kubelets(r.Cluster) {
		steps = append(steps, r.runtimes.Unpin(n, needs))
	}
	return steps
}
