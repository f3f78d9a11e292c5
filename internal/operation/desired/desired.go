// Package desired compares a cluster with what is wanted of it, and returns the request that brings it closer. The
// server uses it, and whatever else keeps clusters at a declared state. It reads no file and asks no node: the caller
// loads the cluster's own deploy.yaml, has the request run, and compares again after the run.
//
// It imports no more than operation/request, config, bundle and run/event. Begin reading at Compare.
package desired

import (
	"reflect"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// State is a cluster as it is.
type State struct {
	Name string
	// Config is the cluster's own deploy.yaml; nil if no run has changed a node yet.
	Config *config.Cluster
	// Version is the version of Kubernetes; "" if it is not known, then versions are not compared.
	Version string
	// Upgrading reports an upgrade that has begun and not ended.
	Upgrading bool
	// Unfinished reports a run that has to be continued, or that it is not known whether there is one.
	Unfinished bool
}

// Wanted is a cluster as it is wanted.
type Wanted struct {
	// Config describes the whole cluster. Paths in it are absolute, as in the cluster's own deploy.yaml.
	Config *config.Cluster
	// Source is where a deploy reads Config. It may be zero if Config differs from that of the cluster in nothing but
	// the nodes.
	Source request.Source
	// Version is the version of Kubernetes; "" if any will do.
	Version string
	// Bundles are the files to upgrade to Version, and those of the minors on the way to it.
	Bundles []string
}

// Difference is everything that has to change until a cluster is as it is wanted.
type Difference struct {
	Cluster string
	// Create reports that no run has changed a node yet. All nodes are in Join.
	Create bool
	// Join are the nodes that the cluster does not have, by address.
	Join []config.Node
	// Settings are the labels and taints of Join, by address.
	Settings map[string]config.NodeSettings
	// Delete are the names of nodes that are not wanted any more.
	Delete []string
	// Change are the names of nodes that stay, with other roles, labels, taints, another port or architecture.
	Change []string
	// Config reports that other keys of deploy.yaml differ, or the load balancer.
	Config bool
	// From and To are the versions of an upgrade; "" without one.
	From, To string
	// Upgrading and Unfinished are those of the State.
	Upgrading, Unfinished bool

	source  request.Source
	bundles []string
	// first are those of Delete whose names nodes of Join take: they leave before the others join.
	first []string
}

// Compare returns the difference between a cluster and what is wanted of it, or a fault if no sequence of runs can make
// the one the other.
func Compare(has State, want Wanted) (Difference, error) {
	d := Difference{Cluster: has.Name, source: want.Source, bundles: want.Bundles, Upgrading: has.Upgrading,
		Unfinished: has.Unfinished}
	if has.Config == nil {
		d.Create = true
		d.joining(want.Config, want.Config.Nodes)
		return d, nil
	}
	if err := d.versions(has.Version, want.Version); err != nil {
		return d, err
	}
	if err := d.nodes(has.Config, want.Config); err != nil {
		return d, err
	}
	d.Config = !sameConfig(has.Config, want.Config, d.To != "")
	return d, nil
}

// None reports whether nothing has to change.
func (d Difference) None() bool {
	return !d.Create && !d.Config && !d.Upgrading && !d.Unfinished && d.To == "" &&
		len(d.Join)+len(d.Delete)+len(d.Change) == 0
}

// versions finds the upgrade. Only an upgrade in progress can be reverted, so no version is older than before.
func (d *Difference) versions(has, want string) error {
	if has == "" || want == "" || has == want {
		return nil
	}
	from, err := semver.NewVersion(has)
	to, err2 := semver.NewVersion(want)
	if err != nil || err2 != nil || to.LessThan(from) {
		return event.NewFault(event.ClassUsage, "desired.version", nil, "cluster", d.Cluster, "is", has,
			"version", want)
	}
	d.From, d.To = has, want
	return nil
}

// nodes compares machines by their addresses. A machine that only balances load is part of the configuration.
func (d *Difference) nodes(has, want *config.Cluster) error {
	var join, gone, late []config.Node // late are those of the cluster in the end
	for _, n := range want.Nodes {
		old, there := find(has, n)
		full := Joining(has, n)
		late = append(late, full)
		switch {
		case !there && !onlyBalances(n):
			join = append(join, n)
		case there && old.Name != n.Name:
			return event.NewFault(event.ClassUsage, "join.other-name", nil, "ip", n.IP.String(), "name", old.Name)
		case there:
			if lost := lostRoles(old, full); lost != "" && !onlyBalances(n) {
				return event.NewFault(event.ClassUsage, "preflight.role-lost", nil, "node", n.Name, "roles", lost,
					"cluster", d.Cluster)
			}
			if d.changes(has, want, old, full) {
				d.Change = append(d.Change, n.Name)
			}
		}
	}
	for _, n := range has.Nodes {
		if _, wanted := find(want, n); wanted || onlyBalances(n) {
			continue
		}
		gone, d.Delete = append(gone, n), append(d.Delete, n.Name)
		if slices.ContainsFunc(join, func(j config.Node) bool { return j.Name == n.Name }) {
			d.first = append(d.first, n.Name)
		}
	}
	d.joining(want, join)
	return d.removable(has, gone, late)
}

// removable refuses what the cluster cannot be without: in the end, and before others join that take a name.
func (d *Difference) removable(has *config.Cluster, gone, late []config.Node) error {
	if err := Removable(d.Cluster, gone, late); err != nil || len(d.first) == 0 {
		return err
	}
	isFirst := func(n config.Node) bool { return slices.Contains(d.first, n.Name) }
	return Removable(d.Cluster, slices.DeleteFunc(slices.Clone(gone), func(n config.Node) bool { return !isFirst(n) }),
		slices.DeleteFunc(slices.Clone(has.Nodes), isFirst))
}

// joining notes nodes that join, with their labels and taints.
func (d *Difference) joining(want *config.Cluster, nodes []config.Node) {
	d.Join = nodes
	for _, n := range nodes {
		s := want.Eggo.Nodes[n.Name]
		if len(s.Labels)+len(s.Taints) == 0 {
			continue
		}
		if d.Settings == nil {
			d.Settings = map[string]config.NodeSettings{}
		}
		d.Settings[n.IP.String()] = s
	}
}

// changes reports whether a node that stays is wanted otherwise than it is.
func (d *Difference) changes(has, want *config.Cluster, old, n config.Node) bool {
	a, b := has.Eggo.Nodes[n.Name], want.Eggo.Nodes[n.Name]
	return old.Port != n.Port || old.Arch != n.Arch || lostRoles(n, old) != "" || !sameSettings(a, b)
}

func sameSettings(a, b config.NodeSettings) bool {
	return len(a.Labels)+len(b.Labels) == 0 && len(a.Taints)+len(b.Taints) == 0 || reflect.DeepEqual(a, b)
}

// sameConfig compares what does not belong to a node. The bundles are those of an upgrade if there is one.
func sameConfig(has, want *config.Cluster, upgrade bool) bool {
	a, b := *has, *want
	a.Eggo.Nodes, b.Eggo.Nodes = nil, nil
	if upgrade {
		a.Source, b.Source = config.PackageSource{}, config.PackageSource{}
	}
	address := func(n config.Node) string { return n.IP.String() }
	return config.SameBesideNodes(&a, &b) && slices.Equal(mapped(a.With(bundle.LoadBalancer), address),
		mapped(b.With(bundle.LoadBalancer), address))
}

func mapped(nodes []config.Node, of func(config.Node) string) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, of(n))
	}
	return out
}

func find(c *config.Cluster, n config.Node) (config.Node, bool) {
	i := slices.IndexFunc(c.Nodes, func(o config.Node) bool { return o.IP == n.IP })
	if i < 0 {
		return config.Node{}, false
	}
	return c.Nodes[i], true
}

func onlyBalances(n config.Node) bool {
	return !slices.ContainsFunc(n.Roles, func(r bundle.Role) bool { return r != bundle.LoadBalancer }) &&
		n.Has(bundle.LoadBalancer)
}
