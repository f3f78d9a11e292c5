// Package upgrade brings the components of a cluster that lives to another version, node by node, and reverts a node
// that does not come up. It may import the driver, the clients and what stands beneath them.
//
// What it needs of a driver, whichever that is (docs/decisions/0034-what-an-upgrade-needs-of-a-driver.md):
//   - Start of a run with other bundles, or another Env.Emulate, is the way forward and the way back. Its Check says of
//     the node itself whether the component runs in the version and with the settings of that run, and changes nothing;
//     its Apply restarts it, one node at a time, and returns when it works. Both may be called again after a kill.
//   - Files and images of the version before stay on the node until host.Retire.
//   - Components of a control plane are started one by one: the API server first, and last on the way back.
//   - A restart of an API server takes place while the load balancers leave it out (balancer.Aside).
//   - The kubelet and kube-proxy are started after the node's container runtime, on a node that is drained.
//   - Publish of either run may be called again: a turn publishes for its node, then what was there before is published
//     again, until all nodes have had their turns.
//   - Log says why a component does not run. Stop of the kubelet comes before a change of the container runtime.
package upgrade

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
)

// Options say to which versions a cluster is brought, and how.
type Options struct {
	// From is the version that the cluster has before the first of Hops.
	From string
	// Hops are the versions on the way, the oldest first: each a patch or one minor above the one before. Those of an
	// upgrade that was begun and is continued are what is left of it.
	Hops []Hop
	// Drain bounds the eviction of a node's pods.
	Drain time.Duration
	// Force continues when pods cannot be evicted in that time.
	Force bool
	// Batch is how many workers are worked on at a time; at least one.
	Batch int
	// Soak is how long the new control plane runs as the old minor before it stops to. 0: its checks run once.
	Soak time.Duration
	// Probe is a shell command of the user's on the control host, which ends well as long as all is well; "" is none.
	Probe string
	// Window is when a node may be begun; the zero Window is always.
	Window Window
	// Packages has packages upgraded that a bundle has in a newer version: the runtime's, the load balancer's.
	Packages bool
	// Begun is the upgrade as the cluster's directory has it when it is continued; its zero value when it begins.
	Begun Begun
	// Reached is called when the cluster has come to a hop: its deploy.yaml names the hop's bundles from now on.
	Reached func(context.Context, Hop) error
}

// Hop is one version on the way.
type Hop struct {
	Version string               `json:"version"` // v1.35.4
	Source  config.PackageSource `json:"source"`  // its bundles
}

// Window is a time of the day, in the control host's own time zone; one whose end is before its begin goes over
// midnight.
type Window struct {
	From time.Duration `json:"from_ns"` // since midnight
	To   time.Duration `json:"to_ns"`
}
