package etcd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// membership is what the membership step found.
type membership struct {
	forming    bool            // no member has data yet: the cluster begins
	unfinished map[string]bool // nodes whose member is no voter yet
}

// forming says whether no member has data yet.
func (r *Etcd) forming() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found.forming
}

// isUnfinished says whether the node's member is no voter yet.
func (r *Etcd) isUnfinished(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found.unfinished[name]
}

// resolve finds out whether the cluster of etcd begins or is there, and reports members that deploy.yaml does not have.
func (r *Etcd) resolve(ctx context.Context) error {
	nodes := r.Cluster.With(bundle.Etcd)
	data := make([]bool, len(nodes))
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { data[i], errs[i] = r.hasData(ctx, r.Node(n.Name)) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return event.AsFault(err)
	}
	is := membership{unfinished: map[string]bool{}}
	if !slices.Contains(data, true) {
		// Kubelets that have joined knew a cluster whose data were somewhere: to begin again in their midst would lose
		// it in silence.
		if i := slices.IndexFunc(r.Cluster.Nodes, func(n config.Node) bool {
			f := r.Fact(n.Name)
			return f != nil && f.Joined
		}); i >= 0 {
			return event.NewFault(event.ClassFailed, "etcd.data-lost", nil, "joined", r.Cluster.Nodes[i].Name)
		}
		is.forming = true
	} else if list, err := r.List(ctx); err == nil {
		// Without a quorum nothing is learned here; the members' starts wait for it.
		for _, m := range list {
			switch n, ours := NodeOf(m, nodes); {
			case ours && m.IsLearner:
				is.unfinished[n.Name] = true
			case !ours && len(m.PeerURLs) > 0 && !r.beingRemoved(m):
				if err := r.Emit(event.Notice{Step: engine.StepID(ctx),
					Text: event.M("notice.etcd-stranger", "member", event.Clean(m.Name), "url",
						event.Clean(m.PeerURLs[0]))}); err != nil {
					return err
				}
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = is
	return nil
}

// beingRemoved says whether a member is one of a node that is being removed.
func (r *Etcd) beingRemoved(m *pb.Member) bool {
	_, yes := NodeOf(m, r.Removing)
	return yes
}

// hasData says whether a member was started on the node and has a log. Without one it knows nothing of any cluster.
func (r *Etcd) hasData(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "ls -A "+shell.Quote(r.Driver.EtcdData(nd.Name()))+"/member/wal 2>/dev/null | head -n 1")
	return strings.TrimSpace(out) != "", err
}

// start starts a node's member as what it is: one of a cluster that begins, one that has its data, one whose first
// start was interrupted, or one that joins. restart is the driver's own.
func (r *Etcd) start(ctx context.Context, n config.Node, nd *node.Node,
	restart func(context.Context) error) error {
	data, err := r.hasData(ctx, nd)
	if err != nil {
		return err
	}
	if data || r.Seeded() && r.Dry {
		if err := restart(ctx); err != nil || !r.isUnfinished(n.Name) {
			return err
		}
		return r.Restart(ctx, component, n.Name, func(ctx context.Context) error { return r.promote(ctx, n) })
	}
	if r.Seeded() { // never formed without data: it would have another identity than the others, or be an empty cluster
		if err := r.marked(ctx, nd); err != nil {
			return err
		}
		return r.Restart(ctx, component, n.Name, func(ctx context.Context) error { return r.join(ctx, n, nd) })
	}
	if r.forming() {
		return r.form(ctx, n, nd, r.peers(), restart)
	}
	formed := map[string]string{}
	var list []*pb.Member
	if err := wait.Until(ctx, listPatience, func(ctx context.Context) (err error) {
		list, err = r.known(ctx, n.Name)
		return err
	}); err != nil {
		return err
	}
	// Listed by name, but never started: the cluster is being formed with it. One that was added has no name before its
	// first start.
	if m := Listed(list, n); m != nil && m.Name != "" && len(m.ClientURLs) == 0 && !m.IsLearner {
		for _, m := range list {
			if m.Name != "" && len(m.PeerURLs) > 0 {
				formed[m.Name] = m.PeerURLs[0]
			}
		}
		return r.form(ctx, n, nd, formed, restart)
	}
	return r.Restart(ctx, component, n.Name, func(ctx context.Context) error { return r.join(ctx, n, nd) })
}

// peers are the peer URLs of all members by their names.
func (r *Etcd) peers() map[string]string {
	out := map[string]string{}
	for _, m := range r.Cluster.With(bundle.Etcd) {
		out[m.Name] = layout.PeerURL(m)
	}
	return out
}

// form starts a member of a cluster that begins; it is started when the quorum is.
func (r *Etcd) form(ctx context.Context, n config.Node, nd *node.Node, formed map[string]string,
	restart func(context.Context) error) error {
	if err := r.Driver.Form(ctx, n, nd, driver.Formation{State: "new", Members: formed}); err != nil {
		return err
	}
	return restart(ctx)
}

// join adds a node's member to the cluster that is there, as a learner first, so that its data come before its vote
// counts. A member that the cluster remembers but whose disk is empty is another one: it is removed and added again.
// Its caller is the only one that changes the membership.
func (r *Etcd) join(ctx context.Context, n config.Node, nd *node.Node) error {
	var list []*pb.Member
	if err := wait.Until(ctx, listPatience, func(ctx context.Context) (err error) {
		list, err = r.List(ctx, n.Name)
		return err
	}); err != nil {
		return err
	}
	old := Listed(list, n)
	// added, never started
	fresh := old != nil && old.Name == "" && len(old.ClientURLs) == 0 &&
		slices.Contains(old.PeerURLs, layout.PeerURL(n))
	if err := wait.Until(ctx, listPatience, func(ctx context.Context) error {
		return r.othersReady(ctx, list, old)
	}); err != nil {
		return err
	}
	if !fresh {
		if err := r.Snapshots.BeforeChange(ctx, n.Name); err != nil {
			return err
		}
		if err := r.Emit(event.Change{Host: n.Name, Step: engine.StepID(ctx),
			Desc: event.M("change.etcd-add", "member", n.Name)}); err != nil {
			return err
		}
		// etcd takes no member while one that came just before is not known to be well for five seconds (unhealthy
		// cluster).
		if err := wait.Until(ctx, listPatience, func(ctx context.Context) (err error) {
			list, err = r.addLearner(ctx, n, old)
			return err
		}); err != nil {
			return err
		}
	}
	members := map[string]string{}
	for _, m := range list {
		switch {
		case slices.Contains(m.PeerURLs, layout.PeerURL(n)):
			members[n.Name] = layout.PeerURL(n)
		case m.Name != "" && len(m.PeerURLs) > 0:
			members[m.Name] = m.PeerURLs[0]
		}
	}
	if err := r.Driver.Form(ctx, n, nd, driver.Formation{State: "existing", Members: members}); err != nil {
		return err
	}
	if err := r.Driver.StartLocked(ctx, driver.Etcd, n, nd); err != nil {
		return err
	}
	return r.promote(ctx, n)
}

// addLearner adds the node's member, after removing the one that it takes the place of, and returns the new list.
func (r *Etcd) addLearner(ctx context.Context, n config.Node, old *pb.Member) (list []*pb.Member, err error) {
	err = r.ask(ctx, []string{n.Name}, func(ctx context.Context, c *clientv3.Client) error {
		if old != nil {
			if _, err := c.MemberRemove(ctx, old.ID); err != nil && !errors.Is(err, rpctypes.ErrMemberNotFound) {
				return err
			}
		}
		added, err := c.MemberAddAsLearner(ctx, []string{layout.PeerURL(n)})
		if errors.Is(err, rpctypes.ErrPeerURLExist) { // an earlier try did it, and its answer was lost
			got, err := c.MemberList(ctx)
			if err == nil {
				list = got.Members
			}
			return err
		}
		if err == nil {
			list = added.Members
		}
		return err
	})
	return list, err
}

// promote gives a learner its vote as soon as it has the leader's data.
func (r *Etcd) promote(ctx context.Context, n config.Node) error {
	var gone error // nobody adds it again while we wait
	err := wait.Until(ctx, promotePatience, func(ctx context.Context) error {
		list, err := r.List(ctx, n.Name)
		if err != nil {
			return err
		}
		m := Listed(list, n)
		if m == nil {
			gone = event.NewFault(event.ClassFailed, "etcd.not-listed", nil).On(n.Name)
			return nil
		}
		if !m.IsLearner {
			return nil
		}
		return r.ask(ctx, []string{n.Name}, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MemberPromote(ctx, m.ID)
			if errors.Is(err, rpctypes.ErrMemberNotLearner) {
				return nil
			}
			return err
		})
	})
	if err = cmp.Or(err, gone); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.found.unfinished, n.Name)
	r.mu.Unlock()
	return r.WaitReady(ctx, n)
}
