package phases

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// Cleanup plans the removal of what was recorded on every node. With purge also the runtime's store and what daemons
// made by themselves. Where cluster and machines go together, workers stop before control planes and these before etcd.
func Cleanup(env Env, purge bool) *engine.Plan {
	r := newRun(env)
	state := plan.Step(plan.PhaseClean, "state", "", plan.IDs(plan.PhaseClean, "record", r.Cluster.Nodes))
	state.Apply = r.forgetState
	return r.cleanup(purge, state)
}

// CleanNodes plans the same for some machines alone. No other machine is asked or told, and the cluster, if it lives,
// is not either: it is for machines whose cluster is gone, or has gone on without them. The machines' own scripts and
// the hooks of the command line run on them.
func CleanNodes(env Env, nodes []config.Node, purge bool) *engine.Plan {
	c := *env.Cluster
	c.Nodes = nodes
	env.Cluster, env.Saved = &c, nil
	return newRun(env).cleanup(purge)
}

// cleanup is the plan of a cleanup of all nodes, and of what follows it on the jump host.
func (r *run) cleanup(purge bool, then ...*engine.Step) *engine.Plan {
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseClean})
	r.hooksBefore(b, plan.PhaseClean)
	b.Add(r.preflight(nil, func(context.Context) error {
		elsewhere := r.tell(r.judgeAuthorities())
		if err := r.judgeCleanup(); err != nil { // tells the rest in any case
			return err
		}
		return elsewhere
	})...)
	var stopped [2]string // the services of the nodes of a rank
	for rank := range stopped {
		of := slices.DeleteFunc(slices.Clone(r.Cluster.Nodes), func(n config.Node) bool { return stopRank(n) != rank })
		stopped[rank] = b.Barrier(stopBarrier(rank), plan.IDs(plan.PhaseClean, "services", of))
	}
	var scripts []*engine.Step
	for _, n := range r.Cluster.Nodes {
		o := cleanOptions{needs: plan.Verdict(), scripts: plan.Verdict()}
		for _, barrier := range stopped[:stopRank(n)] {
			if barrier != "" {
				o.services = append(o.services, barrier)
			}
		}
		steps, around := r.cleanAround(n, purge, o)
		b.Add(steps...)
		scripts = append(scripts, around...)
	}
	b.Add(then...)
	b.Add(scripts...)
	r.hooksAfter(b, plan.PhaseClean)
	return b.Plan()
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

// cleanOptions are what a cleanup of a node waits for, and whether the cluster lives on.
type cleanOptions struct {
	needs    []string
	services []string // what its services wait for beside
	scripts  []string // what the scripts around it wait for
	leaving  bool     // a node that is gone is no fault, and etcd's data are the others'
	// last makes what is done before the record goes, when the steps of needs are done.
	last func(needs []string) []string
}

// cleanAround is the cleanup of a node, and the scripts of deploy.yaml around it.
func (r *run) cleanAround(n config.Node, purge bool, o cleanOptions) (steps, scripts []*engine.Step) {
	scripts = r.cleanupScripts(preCleanup, n, o.scripts)
	o.needs = slices.Concat(o.needs, plan.StepIDs(scripts))
	o.last = func(needs []string) []string {
		last := r.cleanupScripts(postCleanup, n, slices.Concat(o.scripts, needs))
		scripts = append(scripts, last...)
		return plan.StepIDs(last)
	}
	return r.cleanNode(n, purge, o), scripts
}

// cleanNode is the reverse of the install on one machine.
func (r *run) cleanNode(n config.Node, purge bool, o cleanOptions) []*engine.Step {
	var steps []*engine.Step
	needs := o.needs
	// kinds are the records that give a step its work; none means any.
	add := func(what string, f func(context.Context, *node.Node, []node.Record) error, kinds ...string) *engine.Step {
		s := plan.Step(plan.PhaseClean, what, n.Name, needs)
		s.Timeout = 10 * time.Minute
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			nd := r.Node(n.Name)
			// The last step alone says that the node is gone: others wait for those before it.
			if nd == nil && (o.leaving || what != "record") {
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
	if n.Has(bundle.Etcd) && !o.leaving {
		add("snapshot", func(ctx context.Context, nd *node.Node, _ []node.Record) error {
			return r.snapshot(ctx, n, nd)
		}, "unit")
	}
	add("workloads", func(ctx context.Context, nd *node.Node, _ []node.Record) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.stop-workloads"), Script: r.stopWorkloads()})
		return err
	}, "unit")
	if nodes.IsKubelet(n) {
		// Without --purge too: the programs that can take them away leave with the packages, and rules of a cluster
		// that is gone lead packets astray.
		add("network", func(ctx context.Context, nd *node.Node, _ []node.Record) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.purge-network"), Script: purgeNetwork})
			return err
		}, "unit", "table")
	}
	undone := func(what string, kinds ...string) { add(what, r.undo(what, purge, kinds...), kinds...) }
	needs = slices.Concat(needs, o.services)
	undone("services", "unit")
	undone("ports", "port", "zonefile")
	undone("packages", "package", "rpm")
	undone("files", "file", "block", "sysctl", "module", "hostname")
	add("reload", func(ctx context.Context, nd *node.Node, recs []node.Record) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.reload"),
			Script: "systemctl daemon-reload\nsystemctl reset-failed 2>/dev/null || true\n"})
		return err
	}, "unit", "file")
	undone("directories", "tree", "emptied", "dir")
	needs = slices.Concat(needs, o.last(needs))
	forget := add("record", func(ctx context.Context, nd *node.Node, _ []node.Record) error { return nd.Forget(ctx) })
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
func (r *run) undo(key string, purge bool, kinds ...string) func(context.Context, *node.Node, []node.Record) error {
	return func(ctx context.Context, nd *node.Node, recs []node.Record) error {
		kept, err := nd.Undo(ctx, event.M("change.undo-"+key), recs, purge, kinds...)
		if err != nil || len(kept) == 0 {
			return err
		}
		text := event.M("notice.kept", "what", strings.Join(kept, ", "))
		return r.Emit(event.Notice{Host: nd.Name(), Step: engine.StepID(ctx), Text: text})
	}
}

// purgeNetwork removes the links and chains of kube-proxy, the kubelet, flannel and the CNI by their names; every other
// rule stays as it is. A rule in somebody else's chain goes only when it jumps to one of theirs.
const purgeNetwork = `
for l in cni0 flannel.1 flannel-v6.1 vxlan.calico cilium_vxlan cilium_host; do ip link show "$l" >/dev/null 2>&1 && ip link del "$l" || true; done
for v in iptables ip6tables; do
  command -v $v-save >/dev/null 2>&1 || continue
  $v-save | awk '
    function ours(c) { return c ~ /^((KUBE|FLANNEL|CNI|cali)-|CILIUM_)/ }
    /^\*/ { table=$0; n=0; next }
    /^:/ { c=substr($1,2); if (ours(c)) chain[++n]=c; next }
    /^-A/ { if (!ours($2)) for (i=3;i<NF;i++) if (($i=="-j" || $i=="-g") && ours($(i+1))) { r=$0; sub(/^-A/,"-D",r); del[++d]=r } next }
    /^COMMIT/ { if (n+d) { print table; for (i=1;i<=d;i++) print del[i]; for (i=1;i<=n;i++) print "-F " chain[i]; for (i=1;i<=n;i++) print "-X " chain[i]; print "COMMIT" } n=0; d=0 }
  ' >$D/rules.$v
  [ ! -s $D/rules.$v ] || $v-restore --noflush <$D/rules.$v
  rm -f $D/rules.$v
done
# Tables that were not there before go when nothing but empty chains of the kernel's hooks is left in them.
if command -v nft >/dev/null 2>&1; then
  awk -F'\t' '$1=="table" {print $2}' $R | while read -r t; do
    nft list table $t >$D/table 2>/dev/null || continue
    if awk '/^#/ || /^table / || /^\tchain / || /^\t\ttype [a-z]+ hook [a-z]+ priority [^;]+; policy accept;$/ || /^\t?}$/ || /^$/ {next} {exit 1}' $D/table; then nft delete table $t; fi
  done
  rm -f $D/table
fi
`

// snapshot saves etcd's data on the jump host before it goes. An etcd that does not answer is said, and does not stop
// the cleanup.
func (r *run) snapshot(ctx context.Context, n config.Node, nd *node.Node) error {
	tell := func(key string, kv ...string) error {
		return r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx), Text: event.M(key, kv...)})
	}
	if out, err := nd.Query(ctx, "systemctl is-active etcd.service || true"); err != nil ||
		strings.TrimSpace(out) != "active" {
		if err != nil {
			return err
		}
		return tell("notice.no-etcd")
	}
	// Without the cluster's certificates there is no way in, and new ones would be another cluster's.
	if _, err := os.Stat(filepath.Join(r.StateDir, "pki", "etcd", "ca.key")); err != nil {
		return tell("notice.no-snapshot", "cause", event.Clean(err.Error()))
	}
	if err := r.ReadPKI(ctx); err != nil {
		return tell("notice.no-snapshot", "cause", event.AsFault(err).Error())
	}
	path := r.snapshotPath(n.Name)
	if _, err := r.saveSnapshot(ctx, n, nd, path); err != nil {
		if errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError)) {
			// It is this machine that cannot keep the snapshot: etcd's data stay until it can.
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		return tell("notice.no-snapshot", "cause", event.Clean(err.Error()))
	}
	if err := r.Keep(ctx, env.KeptSnapshots); err != nil { // likewise
		return err
	}
	return tell("notice.snapshot", "path", path)
}

// forgetState removes the cluster's authorities and kubeconfig from the jump host: they open nothing any more. Logs of
// the runs, known hosts and snapshots stay, and the cluster's own deploy.yaml under another name, so that nobody takes
// the cluster for one that lives.
func (r *run) forgetState(ctx context.Context) error {
	left := false
	for _, name := range []string{"pki", "admin.conf", savedName} {
		_, err := os.Lstat(filepath.Join(r.StateDir, name))
		left = left || err == nil
	}
	if !left {
		return cmp.Or(r.Keep(ctx, forgotten()...), engine.ErrUnchanged)
	}
	for _, name := range []string{"pki", "admin.conf"} {
		if err := os.RemoveAll(filepath.Join(r.StateDir, name)); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	saved := filepath.Join(r.StateDir, savedName)
	if err := os.Rename(saved, saved+".cleaned"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return r.Keep(ctx, forgotten()...)
}

// forgotten are the parts of a cluster's files that a cleanup removes.
func forgotten() []env.Kept { return []env.Kept{env.KeptPKI, env.KeptAdminConf, env.KeptConfig} }

// stopWorkloads stops the kubelet first, so that nothing is started again, then what is left of the pods.
func (r *run) stopWorkloads() string {
	return "systemctl stop kubelet.service kube-proxy.service 2>/dev/null || true\n" + r.runtimes.StopPods()
}
