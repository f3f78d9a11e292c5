package upgrade

import (
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
)

// Begun is the upgrade under way, as the cluster's directory has it until it has ended. How far each node is is asked
// of the node.
type Begun struct {
	From string `json:"from"` // version that the cluster had before the hop under way
	Hops []Hop  `json:"hops"` // the hop under way, and those after it
	// Touched: a component of the hop under way has been switched on a node, or was about to be. Before that the nodes
	// are as they were.
	Touched bool `json:"touched,omitempty"`
	// Packages: packages have been moved on a node, or were about to be. Nodes keep the old ones in
	// /var/lib/eggo-node/kept.
	Packages bool `json:"packages,omitempty"`
	// Soak is when the control plane began to be watched, and Watched how long it has been well since then.
	Soak    time.Time     `json:"soak,omitzero"`
	Watched time.Duration `json:"watched_ns,omitempty"`
	// Committed: the control plane has stopped to run as the old minor, or never did. There is no way back but the
	// snapshot then.
	Committed bool `json:"committed,omitempty"`
	// OneWay: a member of etcd was brought to another minor, or was about to be. The old one does not read its data, so
	// there is no way back, whether the control plane still runs as the old minor or not.
	OneWay bool `json:"one_way,omitempty"`
	// Restored: the snapshot was restored since, so a committed upgrade can be reverted. It cannot be continued as one
	// that is not committed: API servers of the new minor have written since, and kubelets may be new.
	Restored bool `json:"restored,omitempty"`
	// Snapshot was taken before the hop.
	Snapshot string `json:"snapshot,omitempty"`
	// Stored are hashes of the versions in which resources were stored before the hop, until they are written again.
	Stored map[string]string `json:"stored,omitempty"`
}

// Under says whether an upgrade is under way.
func (b Begun) Under() bool { return len(b.Hops) > 0 }

// OnlyForward says whether there is no way back from the hop.
func (b Begun) OnlyForward() bool { return b.OneWay || b.Committed && !b.Restored }

// ReadBegun reads what is under way of the cluster with this directory.
func ReadBegun(stateDir string) (Begun, error) {
	var b Begun
	err := input.ReadUnderWay(stateDir, input.UpgradeName, &b)
	return b, err
}

// Write keeps it.
func (b Begun) Write(stateDir string) error {
	return input.WriteUnderWay(stateDir, input.UpgradeName, b)
}

// Forget ends it.
func Forget(stateDir string) error { return input.ForgetUnderWay(stateDir, input.UpgradeName) }
