package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Members knows who is a member of etcd and how each is.
type Members struct {
	*clients.Clients
	Driver driver.Driver
}

// Listed finds a node's member by its address, else by its name.
func Listed(list []*pb.Member, n config.Node) *pb.Member {
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

// NodeOf finds the node of a member by its address, else by its name.
func NodeOf(m *pb.Member, nodes []config.Node) (config.Node, bool) {
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

// ask calls f with a client of one member after the other until it succeeds; the members of without are not asked.
func (r *Members) ask(ctx context.Context, without []string, f func(context.Context, *clientv3.Client) error) error {
	var last error
	for _, n := range r.Cluster.With(bundle.Etcd) {
		nd := r.Node(n.Name)
		if nd == nil || slices.Contains(without, n.Name) {
			continue
		}
		if runs, err := r.Driver.Runs(ctx, nd, driver.Etcd); err != nil || !runs {
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

// List is the list of members as the quorum has it.
func (r *Members) List(ctx context.Context, without ...string) ([]*pb.Member, error) {
	var list []*pb.Member
	err := r.ask(ctx, without, func(ctx context.Context, c *clientv3.Client) error {
		got, err := c.MemberList(ctx)
		if err == nil {
			list = got.Members
		}
		return err
	})
	return list, err
}

// known is the quorum's list, or while there is no quorum what one member knows by itself and tells the others:
// enough to see whom a formation was begun with.
func (r *Members) known(ctx context.Context, without string) ([]*pb.Member, error) {
	list, err := r.List(ctx, without)
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

// othersReady wants every voting member but the one that is replaced to answer a linearized read: a member that is
// added while another is away makes the quorum larger, and the cluster weaker.
func (r *Members) othersReady(ctx context.Context, list []*pb.Member, replaced *pb.Member) error {
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

// Health wants a linearized read from every member, so that each has a leader and is up to date; all are asked at once.
func (r *Members) Health(ctx context.Context) error {
	members := r.Cluster.With(bundle.Etcd)
	faults := make([]error, len(members))
	var wg sync.WaitGroup
	for i, n := range members {
		wg.Go(func() { faults[i] = r.reads(ctx, n) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// reads is one linearized read through the node's member alone.
func (r *Members) reads(ctx context.Context, n config.Node) error {
	err := r.ReadThrough(ctx, layout.ClientURL(n))
	if err == nil {
		return nil
	}
	log := ""
	if nd := r.Node(n.Name); nd != nil {
		log = r.Driver.Log(ctx, nd, driver.Etcd)
	}
	f := event.NewFault(event.ClassFailed, "etcd.unhealthy", err, "log", log).On(n.Name)
	f.Retry = true
	return f
}

// WaitReady waits until a member that was just started answers.
func (r *Members) WaitReady(ctx context.Context, n config.Node) error {
	return wait.Until(ctx, wait.ProbeLimit, func(ctx context.Context) error { return r.reads(ctx, n) })
}
