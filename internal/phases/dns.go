package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// keepDNS has the kind of CoreDNS that the cluster is changed from kept before the new deploy.yaml becomes the
// cluster's own.
func (r *run) keepDNS() {
	was := r.FormerDNS()
	if was == "" {
		return
	}
	accepted := r.Accepted
	r.Accepted = func(ctx context.Context) error {
		if err := r.WriteFormerDNS(was); err != nil {
			return err
		}
		if err := r.Keep(ctx, input.KeptDNS); err != nil {
			return err
		}
		if accepted == nil {
			return nil
		}
		return accepted(ctx)
	}
}

// endDNS adds what follows when nothing of the former kind of CoreDNS is left: ports that it alone needed are closed,
// and the change is forgotten.
func (r *run) endDNS(b *plan.Builder) {
	was := r.FormerDNS()
	if was == "" {
		return
	}
	needs := []string{plan.ID(plan.PhaseAddons, "dns-former", "")}
	end := plan.Step(plan.PhaseAddons, "dns-end", "", needs)
	if was == "binary" {
		for _, n := range r.Cluster.With(bundle.ControlPlane) {
			s := r.host.OpenPorts(n)
			s.ID, s.Phase, s.Needs = plan.ID(plan.PhaseAddons, "dns-ports", n.Name), plan.PhaseAddons, needs
			end.Needs = append(end.Needs[:len(end.Needs):len(end.Needs)], s.ID)
			b.Add(s)
		}
	}
	end.Apply = func(ctx context.Context) error {
		if err := r.WriteFormerDNS(""); err != nil {
			return err
		}
		return r.Keep(ctx, input.KeptDNS)
	}
	b.Add(end)
}
