package desired

import (
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// Options of the requests that Next returns. Whatever all requests have in common, the caller adds with request.With.
type Options struct {
	Drain time.Duration // bounds the eviction of a node's pods; 0: request.DrainTimeout
	Force bool          // removes nodes that do not answer, and goes on if pods are not evicted in time
	Purge bool          // removes the data of nodes that leave
	// Upgrade has the options of an upgrade, and no bundles. Without Drain it drains and soaks as usual.
	Upgrade request.Upgrade
}

// Next returns the request to run next, nil if nothing has to change.
//
// Nodes join before others are removed, unless a node takes the name of one that leaves. Both continue an interrupted
// run; else a deploy does. Upgrades need all nodes and come later, and settings come last, because the bundles that
// deploy.yaml names have to be those of the cluster. An upgrade that has begun comes first: a cluster of two versions
// allows nothing else, except that lost nodes are removed with force.
func (d Difference) Next(o Options) request.Request {
	own, wanted := request.OfCluster(d.Cluster), request.Common{Source: d.source}
	settings := d.Config || len(d.Change) > 0
	switch {
	case d.Create:
		return request.Deploy{Common: wanted}
	case d.Upgrading && !(o.Force && len(d.Delete) > 0):
		return d.upgrade(own, o, nil)
	case len(d.first) > 0:
		return d.delete(own, o, d.first)
	case len(d.Join) > 0 && !d.Upgrading:
		return request.Join{Common: own, Nodes: d.Join, Settings: d.Settings}
	case len(d.Delete) > 0:
		return d.delete(own, o, d.Delete)
	case settings && d.To == "":
		return request.Deploy{Common: wanted}
	case d.Unfinished:
		return request.Deploy{Common: own}
	case d.To != "":
		return d.upgrade(own, o, d.bundles)
	}
	return nil
}

func (d Difference) delete(own request.Common, o Options, names []string) request.Request {
	q := request.Delete{Common: own, Names: slices.Clone(names), Drain: o.Drain, Force: o.Force, Purge: o.Purge}
	if q.Drain == 0 {
		q.Drain = request.DrainTimeout
	}
	return q
}

// upgrade returns the request for bundles, or that which continues an upgrade without any.
func (d Difference) upgrade(own request.Common, o Options, bundles []string) request.Request {
	q := request.NewUpgrade(own, bundles...)
	u := o.Upgrade
	u.Common, u.Bundles = q.Common, q.Bundles
	if u.Drain == 0 {
		u.Drain, u.Soak = q.Drain, q.Soak
	}
	return u
}

// Of returns a cluster with other nodes and with labels and taints of those that are new to it. Nodes that it has, by
// address, stay as they are, and so does a machine that only balances load.
func Of(c *config.Cluster, nodes []config.Node, settings map[string]config.NodeSettings) *config.Cluster {
	out := *c
	out.Nodes, out.Eggo.Nodes = nil, map[string]config.NodeSettings{}
	for name, s := range c.Eggo.Nodes {
		out.Eggo.Nodes[name] = s
	}
	for _, n := range nodes {
		if old, there := find(c, n); there {
			out.Nodes = append(out.Nodes, old)
			continue
		}
		out.Nodes = append(out.Nodes, n)
		delete(out.Eggo.Nodes, n.Name)
		if s := settings[n.IP.String()]; len(s.Labels)+len(s.Taints) > 0 {
			out.Eggo.Nodes[n.Name] = s
		}
	}
	for _, n := range c.Nodes {
		if _, listed := find(&out, n); !listed && onlyBalances(n) {
			out.Nodes = append(out.Nodes, n)
		}
	}
	return &out
}
