// Package host readies a machine for its roles: whose node it is, its name, kernel settings, names of the others, ports
// in its firewalls, the binaries of its bundle.
package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Host are the steps by which machines become nodes.
type Host struct{ *payload.Payload }

// safeDir refuses a path that somebody other than root could lead elsewhere: a directory on the way that is not root's,
// or in which others may rename what is root's.
const safeDir = `d=@DIR@
[ "$(realpath -m "$d")" = "$d" ] || fail node.unsafe-dir "$d"
while :; do
  if [ -e "$d" ] && ! closed "$d"; then fail node.unsafe-dir "$d"; fi
  [ "$d" != / ] || break
  d=${d%/*}
  d=${d:-/}
done
`

// Claim writes whose node this is, cluster and name, takes the directories whose content will be ours before a package
// makes them, and makes those of dirs.
func (r *Host) Claim(n config.Node, own []node.Tree, dirs []string) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "claim", n.Name, plan.Checked())
	trees, names := "", ""
	if dir := r.SentDir(); dir != node.Dir {
		names = dir + " "
		// Whoever may write in a directory above could change a package between its arrival and its installation.
		trees = payload.ClosedLib + strings.Replace(safeDir, "@DIR@", shell.Quote(dir), 1) +
			node.Tree{Path: dir, Mode: 0o700}.Script() +
			"[ -L $D/repo ] || rm -rf $D/repo\nln -sfn " + shell.Quote(dir) + " $D/repo\n"
	}
	for _, t := range own {
		trees += t.Script()
		names += t.Path + " "
	}
	for _, d := range dirs {
		trees += "dirs " + shell.Quote(d) + "\n"
		names += d + " "
	}
	// The trees are named too: a node that gets another role has more of them.
	want := r.Cluster.Name + "\n" + n.Name + "\n" + names + "\n"
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "cat "+node.Dir+"/node 2>/dev/null || true")
		return out == want, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		if inventory.IsKubelet(n) { // what a link leads to must not be taken for ours, or a cleanup would empty it
			if err := r.CheckTargets(ctx, nd, []payload.Placed{r.PluginPlace()}); err != nil {
				return err
			}
		}
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.claim", "cluster", r.Cluster.Name),
			Stdin: []byte(want), Script: trees + node.OwnerScript(r.Fence.Raised()) +
				"cat >$D/node.new\nmv -f $D/node.new $D/node\n"})
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

// System sets kernel modules, sysctls (persistent and now) and the names of all nodes in /etc/hosts.
func (r *Host) System(n config.Node) *engine.Step {
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
		out, err := nd.Query(ctx, check.String()+queryHosts)
		// While the endpoint's name moves, both of its addresses do: Names writes the last one.
		before := r.EndpointBefore()
		return out == r.hostsBlock(n, r.EndpointAddress()) || before != "" && out == r.hostsBlock(n, before), err
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
		return r.writeHosts(ctx, n, nd, cmp.Or(r.EndpointBefore(), r.EndpointAddress()))
	})
	return s
}

const queryHosts = "sed -n '/^" + blockBegin + "$/,/^" + blockEnd + "$/p' /etc/hosts\n"

func (r *Host) writeHosts(ctx context.Context, n config.Node, nd *node.Node, endpoint string) error {
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.hosts"), Stdin: []byte(r.hostsBlock(n, endpoint)),
		Records: []node.Record{{Kind: "block", Key: "/etc/hosts", Was: "absent"}},
		Script:  "[ -e /etc/hosts ] || : >/etc/hosts\nblock /etc/hosts\n"})
	return err
}

// Names tells a node where the endpoint's name is now, when the steps of needs have shown that it answers there.
func (r *Host) Names(n config.Node, needs []string) *engine.Step {
	s := plan.Step(plan.PhaseBootstrap, "names", n.Name,
		append([]string{plan.ID(plan.PhaseInfra, "system", n.Name)}, needs...))
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, queryHosts)
		return out == r.hostsBlock(n, r.EndpointAddress()), err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		return r.writeHosts(ctx, n, nd, r.EndpointAddress())
	})
	return s
}

// hostsBlock names all nodes, and the endpoint at its address to a node that has no other way to it.
func (r *Host) hostsBlock(to config.Node, endpoint string) string {
	var b strings.Builder
	b.WriteString(blockBegin + "\n")
	for _, n := range r.Cluster.Nodes {
		fmt.Fprintf(&b, "%s %s\n", n.IP, n.Name)
	}
	if f := r.Fact(to.Name); f != nil && (f.Resolves == "no" || f.Resolves == "ours") && endpoint != "" {
		fmt.Fprintf(&b, "%s %s\n", endpoint, r.EndpointName())
	}
	b.WriteString(blockEnd + "\n")
	return b.String()
}
