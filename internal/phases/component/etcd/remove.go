package etcd

import (
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// SaveFirst saves etcd's data when one of the nodes that leave is a member and the steps of needs are done.
func (r *Etcd) SaveFirst(leaving []config.Node, needs []string) *engine.Step {
	s := plan.Step(plan.PhaseLeave, "snapshot", "", needs)
	s.When = func(context.Context) (bool, event.Msg, error) {
		return slices.ContainsFunc(leaving, func(n config.Node) bool { return n.Has(bundle.Etcd) }),
			event.M("why.no-member-leaves"), nil
	}
	s.Apply = func(ctx context.Context) error { return r.Snapshots.BeforeChange(ctx, "") }
	s.Timeout = 10 * time.Minute
	return s
}

// Leave has the node's member leave when the steps of needs are done.
func (r *Etcd) Leave(n config.Node, needs []string) *engine.Step {
	s := plan.Step(plan.PhaseLeave, "member", n.Name, needs)
	s.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 5 * time.Second}
	s.Apply = func(ctx context.Context) error { return r.Remove(ctx, n) }
	return s
}

// Remove removes the node's member from etcd, after it has given up the leadership to one that stays.
func (r *Members) Remove(ctx context.Context, n config.Node) error {
	list, err := r.List(ctx)
	if err != nil {
		return err
	}
	// By its address: one that took its name at another address stays.
	i := slices.IndexFunc(list, func(m *pb.Member) bool { return slices.Contains(m.PeerURLs, layout.PeerURL(n)) })
	if i < 0 {
		return engine.ErrUnchanged
	}
	m := list[i]
	// Those that are gone leave before one that is well, in whatever order they were named: each of them is counted in
	// the quorum until then.
	if r.ReadThroughAny(ctx, m) == nil {
		for _, o := range list {
			goes, leaves := NodeOf(o, r.Removing)
			if !leaves || o.ID == m.ID || !slices.Contains(o.PeerURLs, layout.PeerURL(goes)) ||
				r.ReadThroughAny(ctx, o) == nil {
				continue
			}
			if err := r.drop(ctx, goes.Name, o); err != nil {
				return err
			}
		}
	}
	leader, err := r.leader(ctx)
	if err != nil {
		return err
	}
	if leader == m.ID { // where nobody takes it, they elect one when it is gone
		_ = r.moveLeader(ctx, m, list)
	}
	if err := r.drop(ctx, n.Name, m); err != nil {
		return err
	}
	// The next one leaves when those that stay agree again.
	return wait.Until(ctx, listPatience, func(ctx context.Context) error {
		list, err := r.List(ctx)
		if err != nil {
			return err
		}
		well := 0
		for _, m := range list {
			if len(m.ClientURLs) > 0 && r.ReadThrough(ctx, m.ClientURLs[0]) == nil {
				well++
			}
		}
		if well < len(list)/2+1 {
			return wait.Again("etcd.no-quorum")
		}
		return nil
	})
}

// drop removes one member.
func (r *Members) drop(ctx context.Context, name string, m *pb.Member) error {
	if err := r.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.etcd-remove", "member", name)}); err != nil {
		return err
	}
	return r.ask(ctx, nil, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.MemberRemove(ctx, m.ID)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
}
