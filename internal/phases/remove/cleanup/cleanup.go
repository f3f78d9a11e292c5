// Package cleanup takes back on a machine what was recorded there, in the reverse order of the install, and forgets a
// cluster that is gone on the jump host. It may import node, input, inventory and plan; what stops the pods and
// what saves etcd's data is handed in.
package cleanup

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Cleanup are the steps that take back what was made.
type Cleanup struct {
	*inventory.Nodes
	Purge bool // also the runtime's store and what daemons made by themselves
	// StopWorkloads is a script that ends all pods, and lets nothing start one again.
	StopWorkloads string
	// Trees are the directories that a node of these roles has for the cluster.
	Trees func(config.Node) []node.Tree
	// Snapshot saves the data of a member of etcd before they are removed; nil saves nothing.
	Snapshot func(context.Context, config.Node, *node.Node) error
}

// Options are what a cleanup of a node waits for, and whether the cluster lives on.
type Options struct {
	Needs    []string
	Services []string // what its services wait for beside; static pods of the control plane are such
	Leaving  bool     // a node that is gone is no fault, and etcd's data are the others'
	// Last makes what is done before the record goes, when the steps of needs are done.
	Last func(needs []string) []string
}

// InOrder says for each node for whose services its own wait, when the whole cluster stops: API servers answer until
// the workers have stopped, as a script of deploy.yaml on these may need, and etcd on machines of its own outlives its
// clients. Nodes of one rank do not wait for each other: a member of etcd is saved before it stops, which takes no
// other member.
func (r *Cleanup) InOrder(b *plan.Builder) func(config.Node) []string {
	var stopped [2]string // the services of the nodes of a rank
	for rank := range stopped {
		of := slices.DeleteFunc(slices.Clone(r.Cluster.Nodes), func(n config.Node) bool { return stopRank(n) != rank })
		stopped[rank] = b.Barrier(stopBarrier(rank), plan.IDs(plan.PhaseClean, "services", of))
	}
	return func(n config.Node) []string {
		return slices.DeleteFunc(slices.Clone(stopped[:stopRank(n)]), func(id string) bool { return id == "" })
	}
}

// State forgets the cluster on the jump host when all of its nodes are clean.
func (r *Cleanup) State() *engine.Step {
	s := plan.Step(plan.PhaseClean, "state", "", plan.IDs(plan.PhaseClean, "record", r.Cluster.Nodes))
	s.Apply = r.forgetState
	return s
}

// stopBarrier is passed when the services of all nodes of a rank have stopped.
func stopBarrier(rank int) string { return plan.PhaseClean + ".stopped-" + strconv.Itoa(rank) }

// stopRank orders the machines when the whole cluster stops: those without whose services nobody is in trouble first.
func stopRank(n config.Node) int {
	switch {
	case n.Has(bundle.Etcd):
		return 2
	case n.Has(bundle.ControlPlane), n.Has(bundle.LoadBalancer):
		return 1
	}
	return 0
}

// podsWait is what the pods of a node wait for: what its services do where the API server is one of them, as a static
// pod, and etcd too on a member.
func (r *Cleanup) podsWait(n config.Node, o Options) []string {
	if r.Cluster.ByKubeadm() && n.Has(bundle.ControlPlane) {
		return o.Services
	}
	return nil
}

// Steps are the reverse of the install on one machine. The last step needs all others.
func (r *Cleanup) Steps(n config.Node, o Options) []*engine.Step {
	var steps []*engine.Step
	needs := o.Needs
	// kinds are the records that give a step its work; none means any.
	add := func(what string, f func(context.Context, *node.Node, []node.Record) error, kinds ...string) *engine.Step {
		s := plan.Step(plan.PhaseClean, what, n.Name, needs)
		s.Timeout = 10 * time.Minute
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			nd := r.Node(n.Name)
			// The last step alone says that the node is gone: others wait for those before it.
			if nd == nil && (o.Leaving || what != "record") {
				return false, event.M("why.node-gone"), nil
			}
			if nd == nil {
				return false, event.Msg{}, event.NewFault(event.ClassPartial, "clean.node-gone", nil).On(n.Name)
			}
			recs, err := nd.Records(ctx)
			if err == nil {
				err = nd.Understood(recs)
			}
			return slices.ContainsFunc(recs, func(r node.Record) bool {
				return len(kinds) == 0 || slices.Contains(kinds, r.Kind)
			}), event.M("why.nothing-recorded"), err
		}
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			recs, err := nd.Records(ctx)
			if err != nil {
				return err
			}
			return f(ctx, nd, recs)
		})
		needs = []string{s.ID}
		steps = append(steps, s)
		return s
	}
	if n.Has(bundle.Etcd) && !o.Leaving && r.Snapshot != nil {
		add("snapshot", func(ctx context.Context, nd *node.Node, _ []node.Record) error {
			return r.Snapshot(ctx, n, nd)
		}, "unit")
	}
	needs = slices.Concat(needs, r.podsWait(n, o))
	add("workloads", func(ctx context.Context, nd *node.Node, _ []node.Record) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.stop-workloads"), Script: r.StopWorkloads})
		return err
	}, "unit")
	if inventory.IsKubelet(n) {
		// Without --purge too: the programs that can take them away leave with the packages, and rules of a cluster
		// that is gone lead packets astray.
		add("network", func(ctx context.Context, nd *node.Node, _ []node.Record) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.purge-network"), Script: purgeNetwork})
			return err
		}, "unit", "table")
	}
	undone := func(what string, kinds ...string) { add(what, r.undo(what, kinds...), kinds...) }
	needs = slices.Concat(needs, o.Services)
	undone("services", "unit")
	undone("ports", "port", "zonefile")
	undone("packages", "package", "rpm")
	undone("files", "file", "block", "sysctl", "module", "hostname", "mode", "user", "group")
	add("reload", func(ctx context.Context, nd *node.Node, recs []node.Record) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.reload"),
			Script: "systemctl daemon-reload\nsystemctl reset-failed 2>/dev/null || true\n"})
		return err
	}, "unit", "file")
	undone("directories", "tree", "emptied", "dir")
	needs = slices.Concat(needs, o.Last(needs))
	forget := add("record", r.forget(n))
	recorded := forget.When
	forget.When = func(ctx context.Context) (bool, event.Msg, error) {
		yes, why, err := recorded(ctx)
		if yes || err != nil || r.Node(n.Name) == nil {
			return yes, why, err
		}
		// A run that was cut off at its first change or its last leaves our directory without a record in it.
		out, err := r.Node(n.Name).Query(ctx, "[ ! -d "+node.Dir+" ] || echo left")
		return out != "", why, err
	}
	return steps
}

// undo reverts what the records of some kinds tell, and says what stayed.
func (r *Cleanup) undo(key string, kinds ...string) func(context.Context, *node.Node, []node.Record) error {
	return func(ctx context.Context, nd *node.Node, recs []node.Record) error {
		kept, err := nd.Undo(ctx, event.M("change.undo-"+key), recs, r.Purge, kinds...)
		if err != nil || len(kept) == 0 {
			return err
		}
		text := event.M("notice.kept", "what", strings.Join(kept, ", "))
		return r.Emit(event.Notice{Host: nd.Name(), Step: engine.StepID(ctx), Text: text})
	}
}

// forget removes the record of a node.
func (r *Cleanup) forget(n config.Node) func(context.Context, *node.Node, []node.Record) error {
	return func(ctx context.Context, nd *node.Node, recs []node.Record) error {
		if err := r.sayImported(ctx, n, nd, recs); err != nil {
			return err
		}
		return nd.Forget(ctx)
	}
}

// sayImported says of a node that was imported that what was there before stays: what others have made is not known.
func (r *Cleanup) sayImported(ctx context.Context, n config.Node, nd *node.Node, recs []node.Record) error {
	if !slices.ContainsFunc(recs, func(r node.Record) bool { return r.Kind == "imported" }) {
		return nil
	}
	var dirs []string
	for _, t := range r.Trees(n) {
		dirs = append(dirs, t.Path)
	}
	out, err := nd.Query(ctx, "for p in "+shell.QuoteAll(dirs)+
		"; do if [ -d \"$p\" ] && [ -n \"$(ls -A \"$p\")\" ]; then printf '%s\\n' \"$p\"; fi; done\n")
	if err != nil {
		return err
	}
	return r.Emit(event.Notice{Host: nd.Name(), Step: engine.StepID(ctx),
		Text: event.M("notice.imported", "paths", strings.Join(strings.Fields(out), ", "))})
}

// purgeNetwork removes the links and chains of kube-proxy, the kubelet, flannel and the CNI by their names; every other
// rule stays as it is. A rule in somebody else's chain goes only when it jumps to one of theirs.
//
//go:embed network.sh
var purgeNetwork string
