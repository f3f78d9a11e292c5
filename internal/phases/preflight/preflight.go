// Package preflight finds what would go wrong, before anything is touched. A check is one value in a file of its
// own, check_NAME.go, and the lists say what is checked ahead of which work. What is known of nodes is in facts; what
// belongs to other areas (etcd, the container runtime, the firewall) comes in by Input.
package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Check is one rule: one of Node, Ask, Bundle and Cluster.
type Check struct {
	Name string
	// Codes are those of its findings. Each has its sentences fault.CODE and fault.CODE.next. What others have found
	// (why a node cannot be reached, a place that is not safe) comes with a code of theirs.
	Codes []string
	// Needs is what has to be known of a node or a bundle, else the check is not made.
	Needs Needs
	// When limits it to some nodes, by their roles say; nil is all.
	When func(in *Input, n config.Node) bool

	// Node checks a node by its facts; they are nil when it is Unseen.
	Node func(in *Input, n config.Node, f *facts.Facts) []event.Finding
	// Ask asks the node itself. All nodes are asked at once.
	Ask func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding
	// Bundle checks a bundle.
	Bundle func(in *Input, s Source) []event.Finding
	// Cluster checks what concerns no single node, or all of them together.
	Cluster func(ctx context.Context, in *Input) []event.Finding
}

// Needs is what has to be known before a check is made.
type Needs int

// What has to be known of a node, or of a bundle.
const (
	Seen      Needs = iota // the node was inspected; the bundle is unpacked and whole
	Unseen                 // it could not be
	Served                 // a bundle serves the node; the bundle serves a node
	Unserved               // the node was inspected, and no bundle serves it
	Ours                   // the node says that it is of this cluster
	Unclaimed              // the node says of no cluster that it is its own
)

// Input is what checks work with.
type Input struct {
	*payload.Payload

	Asked    []config.Node                                // the nodes
	Runtime  string                                       // the container runtime, in the word of deploy.yaml
	Store    string                                       // where it keeps images and containers
	IPVS     bool                                         // Services are reached through it
	Leases   bool                                         // leaders are elected with the usual, short leases
	EtcdData string                                       // where members of etcd keep their data
	Starts   func(bundle.Role) []string                   // binaries without which a node of the role does not come up
	Needed   func(config.Node, *bundle.Manifest) []string // images that the components of a node run from
	Owns     func(config.Node) []string                   // files of services on a node, where nobody else may have any
	Runtimes func(config.Node) []string                   // those of the runtime on a node that gets it from us
	Inbound  func(config.Node) []facts.PortRange          // ports on which others come to a node
	Fetch    func(context.Context, string) error          // fetches a manifest by its URL, and keeps it
	// Manifest reads a manifest to apply, from a bundle or as Fetch kept it.
	Manifest func(b input.Bundle, name string) ([]kubeapi.Object, error)

	Force    bool                                    // nodes are removed though they may be alive
	API      API                                     // what the API server says of nodes that are removed
	Etcd     func(context.Context) ([]Member, error) // its members
	Restore  func(context.Context) (Progress, error) // how far one is that was cut off
	Snapshot Snapshot                                // that is restored
	// Foreign is the fault of a node with data of etcd that are not those that the cluster begins with; nil when it
	// begins with none.
	Foreign  func(context.Context, config.Node) error
	Upgrade  *Upgrading                              // nil when it is none
	Change   *Changing                               // nil when no node may get another container runtime
	MovesDNS bool                                    // the run may change how CoreDNS runs
	Objects  func(context.Context) ([]string, error) // names of the Nodes that the cluster has before the run
	Started  Started                                 // nil where components are no services
	Theirs   Theirs                                  // of a cluster that was imported
}

// Theirs reads a cluster that kubeadm has made.
type Theirs interface {
	// Objects are what its API server says; the control planes are not among it.
	Objects(ctx context.Context) (*takeover.Cluster, error)
	// Server is what lies on a control plane, but for what is ours.
	Server(ctx context.Context, h node.Host) (takeover.Server, error)
}

// Source is a bundle that nodes may need.
type Source struct {
	config.BundleSource
	input.Bundle               // nil when it is Unseen
	Roles        []bundle.Role // of the nodes that it serves
}

// sources are the bundles of the run, in their order.
func (in *Input) sources() []Source {
	var out []Source
	for _, s := range in.Sources() {
		o := Source{BundleSource: s, Bundle: in.Nodes.Bundle(s.Key)}
		if o.Bundle != nil {
			for _, n := range in.Served(o.Bundle) {
				o.Roles = append(o.Roles, n.Roles...)
			}
		}
		out = append(out, o)
	}
	return out
}

// othersNode says whether a node belongs to another cluster.
func (in *Input) othersNode(f *facts.Facts) bool {
	return f.Cluster != "" && f.Cluster != in.Cluster.Name
}

// Run makes the checks, in their order: those of nodes that stand together node by node, those of bundles bundle by
// bundle.
func Run(ctx context.Context, in *Input, checks []Check) []event.Finding {
	var out []event.Finding
	for len(checks) > 0 {
		n := 1
		for n < len(checks) && checks[n].kind() == checks[0].kind() {
			n++
		}
		switch together := checks[:n]; checks[0].kind() {
		case ofNodes:
			out = append(out, onNodes(ctx, in, together)...)
		case ofBundles:
			for _, s := range in.sources() {
				out = append(out, onBundle(in, together, s)...)
			}
		default:
			for _, c := range together {
				out = append(out, c.Cluster(ctx, in)...)
			}
		}
		checks = checks[n:]
	}
	return out
}

type kind int

const (
	ofNodes kind = iota
	ofBundles
	ofCluster
)

func (c Check) kind() kind {
	switch {
	case c.Cluster != nil:
		return ofCluster
	case c.Bundle != nil:
		return ofBundles
	}
	return ofNodes
}

func onNodes(ctx context.Context, in *Input, checks []Check) []event.Finding {
	found := make([][]event.Finding, len(in.Asked))
	var wg sync.WaitGroup
	for i, n := range in.Asked {
		wg.Go(func() { found[i] = RunOn(ctx, in, checks, n, in.Fact(n.Name)) })
	}
	wg.Wait()
	return slices.Concat(found...)
}

// RunOn makes the checks of a single node with these facts; other checks are not made.
func RunOn(ctx context.Context, in *Input, checks []Check, n config.Node, f *facts.Facts) []event.Finding {
	var out []event.Finding
	for _, c := range checks {
		switch {
		case c.kind() != ofNodes, !in.known(c.Needs, n, f), c.When != nil && !c.When(in, n):
		case c.Ask == nil:
			out = append(out, c.Node(in, n, f)...)
		case in.Nodes.Node(n.Name) != nil:
			out = append(out, c.Ask(ctx, in, n, f)...)
		}
	}
	return out
}

func (in *Input) known(needs Needs, n config.Node, f *facts.Facts) bool {
	if f == nil || needs == Unseen {
		return f == nil && needs == Unseen
	}
	switch needs {
	case Served:
		return in.BundleFor(n, f) != nil
	case Unserved:
		return in.BundleFor(n, f) == nil
	case Ours:
		return f.Cluster == in.Cluster.Name
	case Unclaimed:
		return f.Cluster == ""
	}
	return true
}

func onBundle(in *Input, checks []Check, s Source) []event.Finding {
	var out []event.Finding
	for _, c := range checks {
		if (s.Bundle == nil) == (c.Needs == Unseen) && (c.Needs != Served || len(s.Roles) > 0) {
			out = append(out, c.Bundle(in, s)...)
		}
	}
	return out
}

// Tell emits the findings, and fails when one is an error. The class of the fault, and with it the exit code, is that
// of the finding that says most about what to do.
func Tell(emit func(event.Event) error, all []event.Finding) error {
	grave := []event.Class{event.ClassLocked, event.ClassAuth, event.ClassBundle}
	bad, class := 0, event.ClassPreflight
	for _, f := range all {
		if err := emit(f); err != nil {
			return err
		}
		if f.Severity != event.Error {
			continue
		}
		bad++
		if i := slices.Index(grave, f.Fault.Class); i >= 0 {
			class, grave = f.Fault.Class, grave[:i]
		}
	}
	if bad == 0 {
		return nil
	}
	return event.NewFault(class, "preflight.failed", nil, "count", strconv.Itoa(bad))
}

// Told are the findings of a run that checks more than once.
type Told map[string]bool

// New are the findings that have not been told yet: warnings are told once, what refuses the run always.
func (t Told) New(all []event.Finding) []event.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f event.Finding) bool {
		key := fmt.Sprintf("%q %q %q", f.Host, f.Fault.Code, f.Fault.Args) // maps are printed by key
		again := t[key]
		t[key] = true
		return again && f.Severity != event.Error
	})
}

// Finding is what a check finds of a node; of none when it is "".
func Finding(sev event.Severity, node, code string, kv ...string) event.Finding {
	f := event.NewFault(event.ClassPreflight, code, nil, kv...)
	f.Node = node
	return event.Finding{Host: node, Severity: sev, Fault: *f}
}

// one is a list of one finding of a node.
func one(sev event.Severity, n config.Node, code string, kv ...string) []event.Finding {
	return []event.Finding{Finding(sev, n.Name, code, kv...)}
}

// bundleFault is a list of one finding of a bundle.
func bundleFault(sev event.Severity, code string, kv ...string) []event.Finding {
	return []event.Finding{{Severity: sev, Fault: *event.NewFault(event.ClassBundle, code, nil, kv...)}}
}

// as is a list of one finding of a node: what others say is wrong.
func as(node string, err error) []event.Finding {
	return []event.Finding{{Host: node, Severity: event.Error, Fault: *event.AsFault(err).On(node)}}
}
