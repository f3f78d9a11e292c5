package phases

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

const (
	listPatience    = 90 * time.Second // for the members to be well before one is added
	promotePatience = 15 * time.Minute // for a learner to have all data
)

// membership is what the membership step found.
type membership struct {
	forming    bool            // no member has data yet: the cluster begins
	unfinished map[string]bool // nodes whose member is no voter yet
}

func (r *run) etcdState() membership {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.etcdIs
}

// settleMembership finds out whether the cluster of etcd begins or is there, and tells of members that deploy.yaml does
// not have.
func (r *run) settleMembership(ctx context.Context) error {
	nodes := r.Cluster.With(bundle.Etcd)
	data := make([]bool, len(nodes))
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { data[i], errs[i] = r.hasEtcdData(ctx, r.Node(n.Name)) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return event.AsFault(err)
	}
	is := membership{unfinished: map[string]bool{}}
	if !slices.Contains(data, true) {
		// Kubelets that have joined knew a cluster whose data were somewhere: to begin anew in their midst would lose
		// it in silence.
		if i := slices.IndexFunc(r.Cluster.Nodes, func(n config.Node) bool {
			f := r.Fact(n.Name)
			return f != nil && f.Joined
		}); i >= 0 {
			return event.NewFault(event.ClassFailed, "etcd.data-lost", nil, "joined", r.Cluster.Nodes[i].Name)
		}
		is.forming = true
	} else if list, err := r.memberList(ctx); err == nil {
		// Without a quorum nothing is learned here; the members' starts wait for it.
		for _, m := range list {
			switch n, ours := nodeOf(m, nodes); {
			case ours && m.IsLearner:
				is.unfinished[n.Name] = true
			case !ours && len(m.PeerURLs) > 0 && !r.leaves(m):
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
	r.etcdIs = is
	return nil
}

// leaves says whether a member is one of a node that leaves.
func (r *run) leaves(m *pb.Member) bool {
	_, yes := nodeOf(m, r.Removing)
	return yes
}

// hasEtcdData says whether a member was started on the machine and has a log. Without one it knows nothing of any
// cluster.
func (r *run) hasEtcdData(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "ls -A "+r.driver.Paths().EtcdData+"/member/wal 2>/dev/null | head -n 1")
	return strings.TrimSpace(out) != "", err
}

// listedMember finds a node's member by its address, else by its name.
func listedMember(list []*pb.Member, n config.Node) *pb.Member {
	for _, m := range list {
		if slices.Contains(m.PeerURLs, layout.PeerURL(n)) {
			return m
		}
	}
	for _, m := range list {
		if m.Name == n.Name {
			return m
		}
	}
	return nil
}

func nodeOf(m *pb.Member, nodes []config.Node) (config.Node, bool) {
	for _, n := range nodes {
		if slices.Contains(m.PeerURLs, layout.PeerURL(n)) {
			return n, true
		}
	}
	for _, n := range nodes {
		if m.Name == n.Name {
			return n, true
		}
	}
	return config.Node{}, false
}

// askEtcd calls f with a client of one member after the other until it succeeds; the members of without are not asked.
func (r *run) askEtcd(ctx context.Context, without []string, f func(context.Context, *clientv3.Client) error) error {
	var last error
	for _, n := range r.Cluster.With(bundle.Etcd) {
		nd := r.Node(n.Name)
		if nd == nil || slices.Contains(without, n.Name) {
			continue
		}
		if runs, err := r.driver.Runs(ctx, nd, driver.Etcd); err != nil || !runs {
			last = err
			continue
		}
		c, err := r.EtcdClient(ctx, []string{layout.ClientURL(n)}, r.Peers())
		if err != nil {
			return err
		}
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		last = f(one, c)
		cancel()
		c.Close()
		if last == nil {
			return nil
		}
	}
	if last == nil {
		last = errors.New("no member runs")
	}
	fault := event.NewFault(event.ClassFailed, "etcd.no-quorum", last)
	fault.Retry = true
	return fault
}

// memberList is the list of members as the quorum has it.
func (r *run) memberList(ctx context.Context, without ...string) ([]*pb.Member, error) {
	var list []*pb.Member
	err := r.askEtcd(ctx, without, func(ctx context.Context, c *clientv3.Client) error {
		got, err := c.MemberList(ctx)
		if err == nil {
			list = got.Members
		}
		return err
	})
	return list, err
}

// knownMembers is the quorum's list, or while there is no quorum what one member knows by itself and tells the others:
// enough to see whom a formation was begun with.
func (r *run) knownMembers(ctx context.Context, without string) ([]*pb.Member, error) {
	list, err := r.memberList(ctx, without)
	if err == nil {
		return list, nil
	}
	conf, fault := r.EtcdTLS()
	if fault != nil {
		return nil, fault
	}
	client := &http.Client{Timeout: 5 * time.Second,
		Transport: &http.Transport{DialContext: r.Peers().Dial, DisableKeepAlives: true, TLSClientConfig: conf}}
	for _, n := range r.Cluster.With(bundle.Etcd) {
		if n.Name == without || r.Node(n.Name) == nil {
			continue
		}
		if list, got := peersList(ctx, client, layout.PeerURL(n)); got == nil && len(list) > 0 {
			return list, nil
		}
	}
	return nil, err
}

// peersList asks a member as its peers do.
func peersList(ctx context.Context, client *http.Client, url string) ([]*pb.Member, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/members", nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list []struct {
		ID                   uint64
		Name                 string
		PeerURLs, ClientURLs []string
		IsLearner            bool
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", url, resp.Status, err)
	}
	var out []*pb.Member
	for _, m := range list {
		out = append(out, &pb.Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs,
			IsLearner: m.IsLearner})
	}
	return out, nil
}

// startMember starts a node's member as what it is: one of a cluster that begins, one that has its data, one whose
// first start was cut off, or one that joins. restart is the service's own Apply.
func (r *run) startMember(ctx context.Context, n config.Node, nd *node.Node,
	restart func(context.Context) error) error {
	data, err := r.hasEtcdData(ctx, nd)
	if err != nil {
		return err
	}
	if data {
		if err := restart(ctx); err != nil || !r.etcdState().unfinished[n.Name] {
			return err
		}
		return r.InTurn(ctx, string(driver.Etcd), n.Name, func(ctx context.Context) error { return r.promote(ctx, n) })
	}
	formed := map[string]string{}
	if r.etcdState().forming {
		for _, m := range r.Cluster.With(bundle.Etcd) {
			formed[m.Name] = layout.PeerURL(m)
		}
		return r.formMember(ctx, n, nd, formed, restart)
	}
	var list []*pb.Member
	if err := wait.Until(ctx, listPatience, func(ctx context.Context) (err error) {
		list, err = r.knownMembers(ctx, n.Name)
		return err
	}); err != nil {
		return err
	}
	// Listed by name, but never started: the cluster is being formed with it. One that was added has no name before its
	// first start.
	if m := listedMember(list, n); m != nil && m.Name != "" && len(m.ClientURLs) == 0 && !m.IsLearner {
		for _, m := range list {
			if m.Name != "" && len(m.PeerURLs) > 0 {
				formed[m.Name] = m.PeerURLs[0]
			}
		}
		return r.formMember(ctx, n, nd, formed, restart)
	}
	return r.InTurn(ctx, string(driver.Etcd), n.Name,
		func(ctx context.Context) error { return r.joinMember(ctx, n, nd) })
}

// formMember starts a member of a cluster that begins; it is started when the quorum is.
func (r *run) formMember(ctx context.Context, n config.Node, nd *node.Node, formed map[string]string,
	restart func(context.Context) error) error {
	if err := r.driver.Form(ctx, n, nd, driver.Formation{State: "new", Members: formed}); err != nil {
		return err
	}
	return restart(ctx)
}

// joinMember adds a node's member to the cluster that is there, as a learner first, so that its data come before its
// vote counts. A member that the cluster remembers but whose disk is empty is another one: it is removed and added
// again. It holds the turn.
func (r *run) joinMember(ctx context.Context, n config.Node, nd *node.Node) error {
	var list []*pb.Member
	if err := wait.Until(ctx, listPatience, func(ctx context.Context) (err error) {
		list, err = r.memberList(ctx, n.Name)
		return err
	}); err != nil {
		return err
	}
	old := listedMember(list, n)
	// added, never started
	fresh := old != nil && old.Name == "" && len(old.ClientURLs) == 0 &&
		slices.Contains(old.PeerURLs, layout.PeerURL(n))
	if err := wait.Until(ctx, listPatience, func(ctx context.Context) error {
		return r.othersWell(ctx, list, old)
	}); err != nil {
		return err
	}
	if !fresh {
		if err := r.snapshotOfAny(ctx, n.Name); err != nil {
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
	if err := r.driver.Form(ctx, n, nd, driver.Formation{State: "existing", Members: members}); err != nil {
		return err
	}
	if err := r.driver.StartInTurn(ctx, driver.Etcd, n, nd); err != nil {
		return err
	}
	return r.promote(ctx, n)
}

// addLearner adds the node's member, after removing the one that it takes the place of, and returns the new list.
func (r *run) addLearner(ctx context.Context, n config.Node, old *pb.Member) (list []*pb.Member, err error) {
	err = r.askEtcd(ctx, []string{n.Name}, func(ctx context.Context, c *clientv3.Client) error {
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

// othersWell wants every voting member but the one that is replaced to answer a linearized read: a member that is added
// while another is away makes the quorum larger, and the cluster weaker.
func (r *run) othersWell(ctx context.Context, list []*pb.Member, replaced *pb.Member) error {
	for _, m := range list {
		if m.IsLearner || replaced != nil && m.ID == replaced.ID {
			continue
		}
		err := error(nil)
		if len(m.ClientURLs) == 0 {
			err = errors.New("it was never started")
		} else {
			err = r.ReadThrough(ctx, m.ClientURLs[0])
		}
		if err != nil {
			f := event.NewFault(event.ClassFailed, "etcd.member-unwell", err, "member", event.Clean(m.Name))
			f.Retry = true
			return f
		}
	}
	return nil
}

// promote gives a learner its vote as soon as it has the leader's data.
func (r *run) promote(ctx context.Context, n config.Node) error {
	var gone error // nobody adds it again while we wait
	err := wait.Until(ctx, promotePatience, func(ctx context.Context) error {
		list, err := r.memberList(ctx, n.Name)
		if err != nil {
			return err
		}
		m := listedMember(list, n)
		if m == nil {
			gone = event.NewFault(event.ClassFailed, "etcd.not-listed", nil).On(n.Name)
			return nil
		}
		if !m.IsLearner {
			return nil
		}
		return r.askEtcd(ctx, []string{n.Name}, func(ctx context.Context, c *clientv3.Client) error {
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
	delete(r.etcdIs.unfinished, n.Name)
	r.mu.Unlock()
	return r.memberWell(ctx, n)
}

// snapshotOfAny saves etcd's data before the membership changes, from a member that answers.
func (r *run) snapshotOfAny(ctx context.Context, without string) error {
	for _, n := range r.Cluster.With(bundle.Etcd) {
		if nd := r.Node(n.Name); nd != nil && n.Name != without && r.ReadThrough(ctx, layout.ClientURL(n)) == nil {
			return r.snapshot(ctx, n, nd)
		}
	}
	return nil
}
