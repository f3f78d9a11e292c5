package operation

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ProbeRequest is one node by itself, of a cluster that may be far from complete.
type ProbeRequest struct {
	Cluster    *config.Cluster // has the logins
	Node       config.Node
	KnownHosts string // file of host keys, where one that is accepted now is added
	AlsoKnown  string // file of host keys that is only read; "": none
	HostKeys   string // ask, strict, accept-new
	Serves     int    // how many nodes are reached through its bastion, as far as a question says it
}

// ProbeStage is how far a probe is.
type ProbeStage int

// Stages of a probe.
const (
	ProbeConnected  ProbeStage = iota + 1 // the host key is right
	ProbeInspecting                       // logged in
)

// ProbeResult is what a node is, and what preflight would say of it whatever the others and the bundles are.
type ProbeResult struct {
	Machine  phases.Machine
	Facts    *phases.Facts
	Findings []event.Finding
}

// Probe inspects one node. Nothing is locked or changed.
func Probe(ctx context.Context, q ProbeRequest, d Deps, report func(ProbeStage)) (*ProbeResult, error) {
	policy, err := hostKeyPolicy(q.HostKeys, d)
	if err != nil {
		return nil, err
	}
	if err := ResolveSecrets(ctx, q.Cluster, d.Asker); err != nil {
		return nil, err
	}
	emit := func(e event.Event) error {
		if h, is := e.(event.HostState); is && h.State == "connected" && h.Host == q.Node.Name {
			report(ProbeConnected)
		}
		return nil
	}
	alone := *q.Cluster
	alone.Nodes = []config.Node{q.Node} // many are probed side by side, and each takes room for its own connection
	conns, err := d.Dialer.Connections(Access{
		Cluster: &alone, HostKeys: policy, Asker: d.Asker, Emit: func(e event.Event) { _ = emit(e) },
		KnownHosts: func() string { return q.KnownHosts }, Serves: q.Serves, ShareBastions: true,
		AlsoKnown: func() []string {
			if q.AlsoKnown == "" {
				return nil
			}
			return []string{q.AlsoKnown}
		},
	})
	if err != nil {
		return nil, err
	}
	defer conns.Close()
	h, err := conns.Dial(ctx, q.Node)
	if err != nil {
		return nil, err
	}
	report(ProbeInspecting)
	out := &ProbeResult{}
	out.Machine, out.Facts, out.Findings, err = phases.Probe(ctx, phases.Env{
		Cluster: q.Cluster, Emit: emit, Now: d.clock().Now,
		Connect: func(context.Context, config.Node) (node.Host, error) { return h, nil },
	}, q.Node)
	if err != nil {
		return nil, err
	}
	return out, nil
}
