package phases

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// commits says whether the hop is committed once its first API server is switched: it cannot run as the old minor.
func (h *hop) commits() bool { return h.act == nil && !h.patch() }

// touching has steps that switch components keep, right before the first one does, that nodes are touched, and whether
// there is no way back from then on. Until then all of the cluster is as it was, and what a restore has made free stays
// free.
func (h *hop) touching(steps []*engine.Step, commits bool) []*engine.Step {
	for _, s := range steps {
		apply := s.Apply
		if apply == nil || s.Host == "" || s.Waits { // who waits for the window touches nothing
			continue
		}
		s.Apply = func(ctx context.Context) error {
			is, oneWay := h.state.Is(), h.etcdMinor()
			if !is.Touched || is.Restored || commits && !is.Committed || oneWay && !is.OneWay {
				if err := h.state.Change(ctx, func(b *upgrade.Begun) {
					b.Touched, b.Restored = true, false // it goes forward
					b.Committed, b.OneWay = b.Committed || commits, b.OneWay || oneWay
				}); err != nil {
					return err
				}
			}
			return apply(ctx)
		}
	}
	return steps
}

// whole is the condition of what is for all control planes at once: no limit keeps one of them out.
func (h *hop) whole(context.Context) (bool, event.Msg, error) {
	left := h.beyondLimit()
	return left == "", event.M("why.not-in-limit", "node", left), nil
}

// afterCommit refuses a turn of the commit that a limit has kept from being decided.
func (h *hop) afterCommit(s *engine.Step) {
	apply := s.Apply
	s.Apply = func(ctx context.Context) error {
		if left := h.beyondLimit(); left != "" && !h.state.Is().Committed {
			return event.NewFault(event.ClassFailed, "limit.not-done", nil,
				"step", plan.ID(plan.PhaseCommit, "decide", "")).On(left)
		}
		return apply(ctx)
	}
}

// beyondLimit is a control plane that a limit keeps out, or "".
func (h *hop) beyondLimit() string {
	for _, n := range h.to.Cluster.With(bundle.ControlPlane) {
		if len(h.to.Limit) > 0 && !slices.Contains(h.to.Limit, n.Name) {
			return n.Name
		}
	}
	return ""
}

// onceBegun skips the steps of a later hop unless the one before it has ended: a node may have been skipped in it.
func (h *hop) onceBegun(steps []*engine.Step) {
	for _, s := range steps {
		when := s.When
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			if is := h.state.Is(); !h.to.Dry && (!is.Under() || is.Hops[0].Version != h.Version) {
				return false, event.M("why.upgrade-not-ended", "version", h.from), nil
			}
			if when == nil {
				return true, event.Msg{}, nil
			}
			return when(ctx)
		}
	}
}
