// Package inventory has the nodes of a run: the way to each, what is known of it, the bundle that it is served from,
// and whether the run continues without it. Each node is asked and changed through a node.Node.
package inventory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Nodes are the nodes of a run, what is known of them and what they are served from.
type Nodes struct {
	*input.Env
	mu       sync.Mutex
	nodes    map[string]*node.Node
	facts    map[string]*facts.Facts
	bundles  map[string]input.Bundle // by the key of their source
	failed   map[string]*event.Fault // what preflight could not inspect
	places   facts.Places            // what facts are read from, but for the staging directory
	skipped  map[string]bool         // nodes that the run continues without
	former   input.Former            // what nodes may still reach the API by
	wasDNS   string                  // the kind of CoreDNS that the cluster is changed from
	Removing []config.Node           // nodes that are removed from the cluster in this run
}

// New are the nodes of a run, of which nothing is known yet. Their facts are read from places.
func New(e *input.Env, places facts.Places) *Nodes {
	return &Nodes{Env: e, places: places, nodes: map[string]*node.Node{}, facts: map[string]*facts.Facts{},
		bundles: map[string]input.Bundle{},
		failed:  map[string]*event.Fault{}, skipped: map[string]bool{}}
}

// Node returns a node that a step before this one has connected.
func (r *Nodes) Node(name string) *node.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[name]
}

// SetNode keeps a node that is connected.
func (r *Nodes) SetNode(name string, nd *node.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[name] = nd
}

// Fact is what is known of a node; nil before it was inspected.
func (r *Nodes) Fact(name string) *facts.Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.facts[name]
}

// Claimed returns the names of the connected nodes that are the cluster's, in their order.
func (r *Nodes) Claimed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for name, f := range r.facts {
		if f != nil && f.Cluster == r.Cluster.Name && r.nodes[name] != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Owners returns the owners that the cluster's nodes have.
func (r *Nodes) Owners() []node.Owner {
	var out []node.Owner
	for _, name := range r.Claimed() {
		out = append(out, r.Fact(name).Owner)
	}
	return out
}

// Slowness returns how many times longer than usual the work of a node takes, by its facts; "" stands for the slowest
// node. It is 1 for a node that was not inspected.
func (r *Nodes) Slowness(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	slowest := 1.0
	for n, f := range r.facts {
		if f != nil && (name == "" || n == name) {
			slowest = max(slowest, f.Slowness())
		}
	}
	return slowest
}

// Imported says whether others have made the machine a node of this cluster.
func (r *Nodes) Imported(name string) bool {
	f := r.Fact(name)
	return f != nil && f.Imported() && f.Cluster == r.Cluster.Name
}

// Equipped says whether others have made a machine a node and given it all below the components: its packages, its
// container runtime and its network stay what they are. A control plane of the original eggo has no kubelet, and gets
// all of that from us.
func (r *Nodes) Equipped(n config.Node) bool {
	return r.Imported(n.Name) && (!IsKubelet(n) || r.Fact(n.Name).TheirKubelet)
}

// KubeletUnit is the unit of every kubelet.
func (r *Nodes) KubeletUnit() string { return r.places.Unit }

// SetFact keeps what is known of a node.
func (r *Nodes) SetFact(name string, f *facts.Facts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts[name] = f
}

// Bundle is a staged bundle by the key of its source; nil before.
func (r *Nodes) Bundle(key string) input.Bundle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bundles[key]
}

// SetBundle keeps a staged bundle by the key of its source; nil forgets it.
func (r *Nodes) SetBundle(key string, b input.Bundle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bundles[key] = b
}

// NewNode is a node whose changes are made, or in a dry run only announced.
func (r *Nodes) NewNode(h node.Host) *node.Node {
	if r.Dry {
		return node.DryRun(h, r.Emit)
	}
	return node.New(h, r.Emit)
}

// Inspect connects to a node and reads its facts.
func (r *Nodes) Inspect(ctx context.Context, n config.Node) error {
	h, err := r.Connect(ctx, n)
	if f := event.AsFault(err); f != nil {
		// A run that was killed holds the node until what it had begun there is ended, which takes seconds.
		again := *f
		again.Retry = f.Retry || f.Class == event.ClassLocked
		return &again
	}
	nd := r.NewNode(h)
	p := r.places
	p.Space = append(slices.Clone(p.Space), r.SpaceFor())
	f, err := facts.Gather(ctx, nd, n.IP, r.Cluster.ServiceGateway, r.EndpointName(), r.Now, p)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[n.Name], r.facts[n.Name] = nd, f
	return nil
}

// StageBundle has a bundle unpacked and verified.
func (r *Nodes) StageBundle(ctx context.Context, source config.BundleSource) error {
	b, err := r.Stage(ctx, source)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bundles[source.Key] = b
	return nil
}

// KeepFault keeps for preflight what went wrong; the last try counts.
func (r *Nodes) KeepFault(what string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[what] = event.AsFault(err)
	return err
}

// Failure is the finding of what could not be inspected.
func (r *Nodes) Failure(what, host string) event.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := event.NewFault(event.ClassFailed, "internal", nil)
	if kept := r.failed[what]; kept != nil {
		c := *kept
		f = &c
	}
	if host != "" {
		f = f.On(host)
	}
	return event.Finding{Host: host, Severity: event.Error, Fault: *f}
}

// Unreachable says whether a node that leaves did not let us in.
func (r *Nodes) Unreachable(n config.Node) bool { return r.Node(n.Name) == nil }

// On is a step's way to its node.
func (r *Nodes) On(name string, f func(context.Context, *node.Node) error) func(context.Context) error {
	return func(ctx context.Context) error {
		nd := r.Node(name)
		return r.withFullDisks(ctx, nd, f(ctx, nd))
	}
}

// Ask is a step's question to its node.
func (r *Nodes) Ask(name string, f func(context.Context, *node.Node) (bool, error)) func(context.Context) (bool,
	error) {
	return func(ctx context.Context) (bool, error) { return f(ctx, r.Node(name)) }
}

// Verified turns a check into a proof: not so is a fault with the code.
func (r *Nodes) Verified(name string, check func(context.Context, *node.Node) (bool, error),
	code string) func(context.Context) error {
	return func(ctx context.Context) error {
		ok, err := check(ctx, r.Node(name))
		if err == nil && !ok {
			err = event.NewFault(event.ClassFailed, code, nil).On(name)
		}
		return err
	}
}

// Announce tells ahead of apply that a limit of the machine is met with a configuration of its own.
func (r *Nodes) Announce(n config.Node, apply func(context.Context) error, notice string,
	limited func(*facts.Facts) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if limited(r.Fact(n.Name)) {
			if err := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx), Text: event.M(notice)}); err != nil {
				return err
			}
		}
		return apply(ctx)
	}
}

// fullDisks prints where the file systems are mounted that Eggo writes to and that have less than 256 KiB or 16 inodes
// left for root, for whom some of what others see as full is kept. Images that nobody can write to are always full.
const fullDisks = `for p in / /etc /opt /tmp /usr/local /var /var/lib /var/log @SENT@; do
  [ -d "$p" ] && [ -w "$p" ] || continue
  df -PB1 "$p" 2>/dev/null | awk 'NR==2 && $2-$3<262144 {print $6}'
  df -Pi "$p" 2>/dev/null | awk 'NR==2 && $2>0 && $4<16 {print $6}'
done | sort -u
`

// withFullDisks adds to a failure which file systems of its node are full: what fails on a full disk often does not say
// so, as a shell whose printf says "I/O error".
func (r *Nodes) withFullDisks(ctx context.Context, nd *node.Node, err error) error {
	var f *event.Fault
	if err == nil || ctx.Err() != nil || !errors.As(err, &f) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, asked := nd.Query(ctx, strings.ReplaceAll(fullDisks, "@SENT@", shell.Quote(r.SentDir())))
	full := strings.Fields(out)
	for i, mount := range full {
		full[i] = event.Clean(mount)
	}
	if asked == nil && len(full) > 0 {
		told := *f
		told.Args = maps.Clone(f.Args)
		if told.Args == nil {
			told.Args = map[string]string{}
		}
		told.Args[event.FullDisks] = strings.Join(full, ", ")
		told.Err = err
		return &told
	}
	return err
}

// Hosts are the nodes as the event log has them.
func Hosts(c *config.Cluster) []event.Host {
	var out []event.Host
	for _, n := range c.Nodes {
		h := event.Host{Name: n.Name, Addr: n.IP.String()}
		for _, role := range n.Roles {
			h.Roles = append(h.Roles, string(role))
		}
		out = append(out, h)
	}
	return out
}

// Kubelets are the nodes that run a kubelet: control planes always do.
func Kubelets(c *config.Cluster) []config.Node {
	var out []config.Node
	for _, n := range c.Nodes {
		if IsKubelet(n) {
			out = append(out, n)
		}
	}
	return out
}

// IsKubelet says whether a node runs a kubelet.
func IsKubelet(n config.Node) bool { return n.Has(bundle.ControlPlane) || n.Has(bundle.Worker) }
