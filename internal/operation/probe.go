package operation

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
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
	emit := func(e event.Event) error {
		if h, is := e.(event.HostState); is && h.State == "connected" && h.Host == q.Node.Name {
			report(ProbeConnected)
		}
		return nil
	}
	h, done, err := q.dial(ctx, d, emit)
	if err != nil {
		return nil, err
	}
	defer done()
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

// Purge removes what was recorded on one node, with its data, as a cleanup with purge. It is for a node whose cluster
// is gone, or has continued without it: no files of the cluster are needed, and no other node is changed. scratch is an
// empty directory. The node is locked meanwhile.
func Purge(ctx context.Context, q ProbeRequest, d Deps, scratch string) error {
	emit := func(event.Event) error { return nil }
	h, done, err := q.dial(ctx, d, emit)
	if err != nil {
		return err
	}
	defer done()
	me := d.holder(string(request.VerbCleanup))
	if err := h.Lock(ctx, me.String()+" "+q.Cluster.Name); err != nil {
		return err
	}
	env := phases.Env{Cluster: q.Cluster, StateDir: scratch, Emit: emit, Now: d.clock().Now, NoSnapshots: true,
		Verb:    string(request.VerbCleanup),
		Connect: func(context.Context, config.Node) (node.Host, error) { return h, nil }}
	sum, err := engine.Run(ctx, phases.CleanNodes(env, []config.Node{q.Node}, true), engine.Options{
		Emit: emit, Limits: phases.Limits(), Now: d.clock().Now, Sleep: d.clock().Sleep})
	return inspected(ctx, err, sum)
}

// dial connects to the node. done closes the connection.
func (q ProbeRequest) dial(ctx context.Context, d Deps, emit func(event.Event) error) (h Host, done func(),
	err error) {
	policy, err := hostKeyPolicy(q.HostKeys, d)
	if err != nil {
		return nil, nil, err
	}
	if err := ResolveSecrets(ctx, q.Cluster, d.Asker); err != nil {
		return nil, nil, err
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
		return nil, nil, err
	}
	if h, err = conns.Dial(ctx, q.Node); err != nil {
		conns.Close()
		return nil, nil, err
	}
	return h, func() { conns.Close() }, nil
}
