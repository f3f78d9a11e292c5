package etcd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// restart of a node's member.
type restart struct {
	n config.Node
	f func(context.Context) error
}

// puttingOff puts the restart of a member off that leads the others, until they are restarted: who leads is known only
// when a restart begins. One that cannot be asked is restarted as any other. In a dry run nobody is restarted, and so
// nobody is waited for.
func (r *Etcd) puttingOff(ctx context.Context, do restart, nd *node.Node) bool {
	if r.Dry || len(r.Cluster.With(bundle.Etcd)) < 2 || r.forming() || r.isUnfinished(do.n.Name) ||
		r.LastRestartFailed(component, do.n.Name) {
		return false
	}
	if runs, err := r.Driver.Runs(ctx, nd, driver.Etcd); err != nil || !runs {
		return false
	}
	list, err := r.List(ctx)
	if err != nil {
		return false
	}
	m := Listed(list, do.n)
	if leader, err := r.leader(ctx); err != nil || m == nil || m.ID != leader {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putOff = append(r.putOff, do)
	return true
}

// restart starts a member. One that runs is not touched while another one is not well: what ended that one may end this
// one too, and then there is no quorum.
func (r *Etcd) restart(ctx context.Context, n config.Node, nd *node.Node, start func(context.Context) error) error {
	runs, err := r.Driver.Runs(ctx, nd, driver.Etcd)
	if err != nil {
		return err
	}
	if runs = runs && !r.Dry && !r.forming() && !r.isUnfinished(n.Name); runs {
		if err := wait.Until(ctx, listPatience, func(ctx context.Context) error {
			if len(r.Cluster.With(bundle.Etcd)) < 2 {
				return nil
			}
			list, err := r.List(ctx, n.Name)
			if err != nil {
				return err
			}
			return r.othersReady(ctx, list, Listed(list, n))
		}); err != nil {
			return err
		}
	}
	err = r.start(ctx, n, nd, start)
	if err == nil || !runs || r.Revert == nil || ctx.Err() != nil {
		return err
	}
	return r.Revert(ctx, n, err)
}

// restartLeader restarts the members whose restart was put off, when the steps of needs are done. There may be several:
// another one can have come to lead meanwhile.
func (r *Etcd) restartLeader(needs []string) *engine.Step {
	s := plan.Step(plan.PhaseEtcd, "leader", "", needs)
	s.Timeout = rolling.Timeout
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	waiting := func() []restart {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Clone(r.putOff)
	}
	s.Check = func(context.Context) (bool, error) { return len(waiting()) == 0, nil }
	s.Apply = func(ctx context.Context) error {
		for {
			left := waiting()
			if len(left) == 0 {
				return nil
			}
			next, err := r.notLeading(ctx, left)
			if err != nil {
				return err
			}
			if err := next.f(ctx); err != nil {
				return event.AsFault(err).On(next.n.Name)
			}
			r.mu.Lock()
			r.putOff = slices.DeleteFunc(r.putOff, func(do restart) bool { return do.n.Name == next.n.Name })
			r.mu.Unlock()
		}
	}
	return s
}

// notLeading is a restart of a member that does not lead: where all of left do, it is the one when another member leads
// that is restarted already.
func (r *Etcd) notLeading(ctx context.Context, left []restart) (restart, error) {
	list, err := r.List(ctx)
	if err != nil {
		return restart{}, err
	}
	leader, err := r.leader(ctx)
	if err != nil {
		return restart{}, err
	}
	for _, do := range left {
		if m := Listed(list, do.n); m == nil || m.ID != leader {
			return do, nil
		}
	}
	to := slices.DeleteFunc(slices.Clone(list), func(m *pb.Member) bool {
		return slices.ContainsFunc(left[1:], func(do restart) bool { return Listed(list, do.n) == m })
	})
	name := left[0].n.Name
	if err := r.moveLeader(ctx, Listed(list, left[0].n), to); err != nil {
		if err := r.Emit(event.Notice{Host: name, Step: engine.StepID(ctx),
			Text: event.M("notice.etcd-leader", "node", name, "cause", event.Clean(err.Error()))}); err != nil {
			return restart{}, err
		}
	}
	return left[0], nil
}

// leader is the ID of the member that leads the others.
func (r *Members) leader(ctx context.Context) (leader uint64, err error) {
	err = r.ask(ctx, nil, func(ctx context.Context, c *clientv3.Client) error {
		for _, url := range c.Endpoints() {
			s, err := c.Status(ctx, url)
			if err != nil {
				return err
			}
			leader = s.Leader
		}
		return nil
	})
	return leader, err
}

// moveLeader has another member of the list lead in the place of m: an election that nobody planned costs the API
// server a second.
func (r *Members) moveLeader(ctx context.Context, m *pb.Member, list []*pb.Member) error {
	others, last := r.quickest(ctx, m, list)
	for _, o := range others {
		if err := r.Emit(event.Change{Step: engine.StepID(ctx), Desc: event.M("change.etcd-leader", "from",
			event.Clean(m.Name), "to", event.Clean(o.Name))}); err != nil {
			return err
		}
		c, err := r.EtcdClient(ctx, m.ClientURLs[:1], r.PeersAndRemoved())
		if err != nil {
			return err
		}
		move, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err = c.MoveLeader(move, o.ID)
		cancel()
		c.Close()
		if err == nil {
			return nil
		}
		last = err
	}
	return last
}

// The office is given to a member that answers a read this soon; for calmLimit it is waited for one.
const (
	calmRead  = 300 * time.Millisecond
	calmLimit = 10 * time.Second
)

// quickest are the other members that answer, the quickest first, or why none does. Writes are lost while the office is
// given away: that is a moment if the new leader has all entries and nobody is busy, and long if it was started just
// before.
func (r *Members) quickest(ctx context.Context, m *pb.Member, list []*pb.Member) (out []*pb.Member, last error) {
	busy := errors.New("no other member answers at once")
	_ = wait.Until(ctx, calmLimit, func(ctx context.Context) error {
		took := map[uint64]time.Duration{}
		var all []*pb.Member
		failed := errors.New("no other member is well")
		for _, o := range list {
			if o.ID == m.ID || o.IsLearner || len(o.ClientURLs) == 0 || len(m.ClientURLs) == 0 {
				continue
			}
			begun := time.Now()
			if err := r.ReadThrough(ctx, o.ClientURLs[0]); err != nil {
				failed = err
				continue
			}
			took[o.ID] = time.Since(begun)
			all = append(all, o)
		}
		if ctx.Err() != nil && len(out) > 0 { // the round was cut off, and the one before was not
			return nil
		}
		out, last = all, failed
		slices.SortStableFunc(out, func(a, b *pb.Member) int { return cmp.Compare(took[a.ID], took[b.ID]) })
		if len(out) > 0 && took[out[0].ID] > calmRead {
			return busy
		}
		return nil
	})
	return out, last
}
