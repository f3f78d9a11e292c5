package phases

import (
	"context"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/packages"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// Limits are the sizes of the named limits for a run on a jump host.
func Limits() map[string]int { return map[string]int{plan.LimitUploads: 8, plan.LimitLoads: 16} }

// infrastructure readies every machine: identity, kernel settings, packages, programs, runtime, images.
func (r *run) infrastructure() []*engine.Step {
	var steps []*engine.Step
	pk := packages.Packages{Payload: r.Payload}
	for _, n := range r.Cluster.Nodes {
		if r.Cluster.Eggo.Hostname == "set" {
			steps = append(steps, r.hostname(n))
		}
		var first []string // what has to be there before a package starts its service
		if n.Has(bundle.LoadBalancer) {
			first = append(first, plan.ID(plan.PhaseInfra, "mask-nginx", n.Name))
		}
		seeded := nodes.IsKubelet(n) && r.runtimes.Runtime().Seeds()
		if seeded {
			first = append(first, plan.ID(plan.PhaseInfra, "runtime-files", n.Name))
		}
		steps = append(steps, r.claim(n), r.openPorts(n), r.system(n), pk.Send(n), pk.Install(n, first...))
		if seeded {
			steps = append(steps, r.runtimes.Files(n))
		}
		if len(r.Listed(n, "repo")) > 0 {
			steps = append(steps, pk.FromRepositories(n))
		}
		// In the order in which they are waited for: etcd, then what needs it, then the rest.
		for _, group := range plan.Groups(n) {
			steps = append(steps, r.placePrograms(n, group))
		}
		if nodes.IsKubelet(n) {
			steps = append(steps, r.runtimes.Start(n), r.runtimes.SendImages(n), r.runtimes.LoadImages(n))
		}
	}
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		steps = append(steps, r.maskNginx(n))
	}
	return steps
}

// ownTrees are the directories whose whole content is ours or our daemons' on a node.
func (r *run) ownTrees(n config.Node) []node.Tree {
	out := []node.Tree{{Path: layout.KubeDir, Mode: 0o755}}
	if n.Has(bundle.Etcd) {
		out = append(out, node.Tree{Path: etcdTree, Mode: 0o700})
	}
	if nodes.IsKubelet(n) {
		out = append(out, node.Tree{Path: r.CNIDir(), Mode: 0o755}, node.Tree{Path: layout.CNIConfDir, Mode: 0o755},
			node.Tree{Path: "/var/lib/cni", Mode: 0o755},
			node.Tree{Path: "/run/flannel", Mode: 0o755}, node.Tree{Path: "/usr/libexec/kubernetes", Mode: 0o755},
			node.Tree{Path: "/var/lib/kubelet", Mode: 0o700})
		out = append(out, r.runtimes.Runtime().Trees()...)
		out = append(out, node.Tree{Path: "/var/log/pods", Mode: 0o750, Purge: true},
			node.Tree{Path: "/var/log/containers", Mode: 0o755, Purge: true})
	}
	return out
}

// safeDir refuses a path that somebody other than root could lead elsewhere: a directory on the way that is not root's,
// or in which others may rename what is root's.
const safeDir = payload.ClosedLib + `d=@DIR@
[ "$(realpath -m "$d")" = "$d" ] || fail node.unsafe-dir "$d"
while :; do
  if [ -e "$d" ] && ! closed "$d"; then fail node.unsafe-dir "$d"; fi
  [ "$d" != / ] || break
  d=${d%/*}
  d=${d:-/}
done
`

// claim writes whose node this is, cluster and name, and takes the directories whose content will be ours, before a
// package makes them.
func (r *run) claim(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "claim", n.Name, plan.Verdict())
	trees, names := "", ""
	own := r.ownTrees(n)
	if dir := r.SentDir(); dir != node.Dir {
		names = dir + " "
		// Whoever may write in a directory above could change a package between its arrival and its installation.
		trees = strings.Replace(safeDir, "@DIR@", node.Quote(dir), 1) + node.Tree{Path: dir, Mode: 0o700}.Script() +
			"[ -L $D/repo ] || rm -rf $D/repo\nln -sfn " + node.Quote(dir) + " $D/repo\n"
	}
	if nodes.IsKubelet(n) {
		own = append(own, pluginTrees(r.Cluster.NetworkPlugin)...)
	}
	for _, t := range own {
		trees += t.Script()
		names += t.Path + " "
	}
	if nodes.IsKubelet(n) {
		for _, d := range r.runtimes.Runtime().Dirs() {
			trees += "dirs " + node.Quote(d) + "\n"
			names += d + " "
		}
	}
	// The trees are named too: a node that gets another role has more of them.
	want := r.Cluster.Name + "\n" + n.Name + "\n" + names + "\n"
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "cat "+node.Dir+"/node 2>/dev/null || true")
		return out == want, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		if nodes.IsKubelet(n) { // what a link leads to must not be taken for ours, or a cleanup would empty it
			if err := r.CheckTargets(ctx, nd, []payload.Placed{r.pluginPlace()}); err != nil {
				return err
			}
		}
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.claim", "cluster", r.Cluster.Name),
			Stdin: []byte(want), Script: trees + "cat >$D/node.new\nmv -f $D/node.new $D/node\n"})
		return err
	})
	return s
}

const (
	sysctlPath  = "/etc/sysctl.d/99-zz-eggo.conf" // after 99-sysctl.conf, which is /etc/sysctl.conf
	modulesPath = "/etc/modules-load.d/eggo.conf"
	blockBegin  = "# eggo begin"
	blockEnd    = "# eggo end"
)

func sysctls() [][2]string {
	return [][2]string{{"net.bridge.bridge-nf-call-iptables", "1"}, {"net.bridge.bridge-nf-call-ip6tables", "1"},
		{"net.ipv4.ip_forward", "1"}}
}

// system sets kernel modules, sysctls (persistent and now) and the names of all nodes in /etc/hosts.
func (r *run) system(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "system", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	var conf, live, check strings.Builder
	for _, kv := range sysctls() {
		fmt.Fprintf(&conf, "%s = %s\n", kv[0], kv[1])
		p := "/proc/sys/" + strings.ReplaceAll(kv[0], ".", "/")
		fmt.Fprintf(&live,
			"[ \"$(cat %[1]s)\" = %[2]s ] || { rec sysctl %[3]s \"$(cat %[1]s)\"; echo %[2]s >%[1]s; }\n", p, kv[1],
			kv[0])
		fmt.Fprintf(&check, "[ \"$(cat %s)\" = %s ] || exit 0\n", p, kv[1])
	}
	files := []node.File{
		{Path: sysctlPath, Mode: 0o644, Data: []byte(conf.String())},
		{Path: modulesPath, Mode: 0o644, Data: []byte("overlay\nbr_netfilter\n")},
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		same, err := nd.Same(ctx, files)
		if err != nil || !same {
			return false, err
		}
		out, err := nd.Query(ctx, check.String()+"sed -n '/^"+blockBegin+"$/,/^"+blockEnd+"$/p' /etc/hosts\n")
		return out == r.hostsBlock(n), err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		if _, err := nd.Put(ctx, files); err != nil {
			return err
		}
		// What is built into the kernel needs no module, and a machine that has all of it may have no modprobe.
		modules := "grep -qw overlay /proc/filesystems || { rec module overlay absent; modprobe overlay; } || fail " +
			"node.module overlay\n" +
			"[ -d /proc/sys/net/bridge ] || { rec module br_netfilter absent; modprobe br_netfilter; } || fail " +
			"node.module br_netfilter\n"
		if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.kernel"),
			Script: modules + live.String()}); err != nil {
			return err
		}
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.hosts"), Stdin: []byte(r.hostsBlock(n)),
			Records: []node.Record{{Kind: "block", Key: "/etc/hosts", Was: "absent"}},
			Script:  "[ -e /etc/hosts ] || : >/etc/hosts\nblock /etc/hosts\n"})
		return err
	})
	return s
}

// hostsBlock names all nodes, and the endpoint to a node that has no other way to its address.
func (r *run) hostsBlock(to config.Node) string {
	var b strings.Builder
	b.WriteString(blockBegin + "\n")
	for _, n := range r.Cluster.Nodes {
		fmt.Fprintf(&b, "%s %s\n", n.IP, n.Name)
	}
	if f := r.Fact(to.Name); f != nil && (f.Resolves == "no" || f.Resolves == "ours") && r.EndpointAddress() != "" {
		fmt.Fprintf(&b, "%s %s\n", r.EndpointAddress(), r.EndpointName())
	}
	b.WriteString(blockEnd + "\n")
	return b.String()
}
