package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
)

// Changing is what the checks of a change of the container runtime work with: nodes of a cluster that lives have
// another one than deploy.yaml names, and each is changed in a turn of its own.
type Changing struct {
	Batch int // workers at a time
	// What the API server has, and why that is not known; neither is asked for when no node changes.
	Objects *objects.Cluster
	Fault   error
}

// others are the runtimes of ours on a node beside that of deploy.yaml.
func (in *Input) others(f *facts.Facts) []string {
	return slices.DeleteFunc(slices.Clone(f.OwnRuntimes), func(is string) bool { return is == in.Runtime })
}

// changes says whether the node is changed to the container runtime of deploy.yaml in this run.
func (in *Input) changes(n config.Node) bool {
	f := in.Fact(n.Name)
	return in.Change != nil && f != nil && f.Cluster == in.Cluster.Name && inventory.IsKubelet(n) && in.limited(n) &&
		len(in.others(f)) > 0
}

// changed are the nodes that are.
func (in *Input) changed() []config.Node {
	return slices.DeleteFunc(slices.Clone(in.Cluster.Nodes), func(n config.Node) bool { return !in.changes(n) })
}

// begun says whether a run before this one has begun to change the node: nothing of it need run then.
func (in *Input) begun(n config.Node) bool {
	f := in.Fact(n.Name)
	return in.changes(n) && (f.Kubelet == "" || len(f.OwnRuntimes) > 1)
}

// living is what the API server has, and why that is not known; neither when it was not asked.
func (in *Input) living() (*objects.Cluster, error) {
	switch {
	case in.Upgrade != nil:
		return in.Upgrade.Objects, in.Upgrade.Fault
	case in.Change != nil:
		return in.Change.Objects, in.Change.Fault
	}
	return nil, nil
}
