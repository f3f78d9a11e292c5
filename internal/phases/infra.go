package phases

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// laneBulk is the lane of transfers: they run beside a node's other steps.
const laneBulk = "bulk"

// The names of the limits; main gives their sizes.
const (
	LimitUploads = "uploads"
	LimitLoads   = "image-loads"
)

// Limits are the sizes of the named limits for a run on a jump host.
func Limits() map[string]int { return map[string]int{LimitUploads: 8, LimitLoads: 16} }

func verdict() []string { return []string{id(phasePreflight, "verdict", "")} }

// infrastructure readies every machine: identity, kernel settings, packages, programs, runtime, images.
func (r *run) infrastructure() []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Cluster.Nodes {
		steps = append(steps, r.claim(n), r.system(n), r.sendPackages(n), r.installPackages(n))
		// In the order in which they are waited for: etcd, then what needs it, then the rest.
		for _, group := range groups(n) {
			steps = append(steps, r.placePrograms(n, group))
		}
		if isKubelet(n) {
			steps = append(steps, r.runtime(n), r.sendImages(n), r.loadImages(n))
		}
	}
	return steps
}

// ownTrees are the directories whose whole content is ours or our daemons' on a node.
func ownTrees(n config.Node) []node.Tree {
	out := []node.Tree{{Path: kubeDir, Mode: 0o755}}
	if n.Has(bundle.Etcd) {
		out = append(out, node.Tree{Path: "/var/lib/etcd", Mode: 0o700})
	}
	if isKubelet(n) {
		out = append(out, node.Tree{Path: cniBinDir, Mode: 0o755}, node.Tree{Path: cniConfDir, Mode: 0o755}, node.Tree{Path: "/var/lib/cni", Mode: 0o755},
			node.Tree{Path: "/run/flannel", Mode: 0o755}, node.Tree{Path: "/opt/containerd", Mode: 0o711}, node.Tree{Path: "/usr/libexec/kubernetes", Mode: 0o755},
			node.Tree{Path: "/var/lib/kubelet", Mode: 0o700}, node.Tree{Path: "/var/lib/containerd", Mode: 0o711, Purge: true},
			node.Tree{Path: "/var/log/pods", Mode: 0o750, Purge: true}, node.Tree{Path: "/var/log/containers", Mode: 0o755, Purge: true})
	}
	return out
}

// claim writes whose node this is, cluster and name, and takes the directories whose content will be ours, before a package makes them.
func (r *run) claim(n config.Node) *engine.Step {
	s := step(phaseInfra, "claim", n.Name, verdict())
	trees, names := "", ""
	for _, t := range ownTrees(n) {
		trees += t.Script()
		names += t.Path + " "
	}
	// The trees are named too: a node that gets another role has more of them.
	want := r.Cluster.Name + "\n" + n.Name + "\n" + names + "\n"
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "cat "+node.Dir+"/node 2>/dev/null || true")
		return out == want, err
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.claim", "cluster", r.Cluster.Name), Stdin: []byte(want), Script: trees + "cat >$D/node.new\nmv -f $D/node.new $D/node\n"})
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
	return [][2]string{{"net.bridge.bridge-nf-call-iptables", "1"}, {"net.bridge.bridge-nf-call-ip6tables", "1"}, {"net.ipv4.ip_forward", "1"}}
}

// system sets kernel modules, sysctls (persistent and now) and the names of all nodes in /etc/hosts.
func (r *run) system(n config.Node) *engine.Step {
	s := step(phaseInfra, "system", n.Name, []string{id(phaseInfra, "claim", n.Name)})
	var conf, live, check strings.Builder
	for _, kv := range sysctls() {
		fmt.Fprintf(&conf, "%s = %s\n", kv[0], kv[1])
		p := "/proc/sys/" + strings.ReplaceAll(kv[0], ".", "/")
		fmt.Fprintf(&live, "[ \"$(cat %[1]s)\" = %[2]s ] || { rec sysctl %[3]s \"$(cat %[1]s)\"; echo %[2]s >%[1]s; }\n", p, kv[1], kv[0])
		fmt.Fprintf(&check, "[ \"$(cat %s)\" = %s ] || exit 0\n", p, kv[1])
	}
	files := []node.File{
		{Path: sysctlPath, Mode: 0o644, Data: []byte(conf.String())},
		{Path: modulesPath, Mode: 0o644, Data: []byte("overlay\nbr_netfilter\n")},
	}
	block := r.hostsBlock()
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		same, err := nd.Same(ctx, files)
		if err != nil || !same {
			return false, err
		}
		out, err := nd.Query(ctx, check.String()+"sed -n '/^"+blockBegin+"$/,/^"+blockEnd+"$/p' /etc/hosts\n")
		return out == block, err
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		if _, err := nd.Put(ctx, files); err != nil {
			return err
		}
		// What is built into the kernel needs no module, and a machine that has all of it may have no modprobe.
		modules := "grep -qw overlay /proc/filesystems || { rec module overlay absent; modprobe overlay; } || fail node.module overlay\n" +
			"[ -d /proc/sys/net/bridge ] || { rec module br_netfilter absent; modprobe br_netfilter; } || fail node.module br_netfilter\n"
		if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.kernel"), Script: modules + live.String()}); err != nil {
			return err
		}
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.hosts"), Stdin: []byte(block), Records: []node.Record{{Kind: "block", Key: "/etc/hosts", Was: "absent"}},
			Script: "[ -e /etc/hosts ] || : >/etc/hosts\nblock /etc/hosts\n"})
		return err
	})
	return s
}

func (r *run) hostsBlock() string {
	var b strings.Builder
	b.WriteString(blockBegin + "\n")
	for _, n := range r.Cluster.Nodes {
		fmt.Fprintf(&b, "%s %s\n", n.IP, n.Name)
	}
	b.WriteString(blockEnd + "\n")
	return b.String()
}

// The groups of programs are sent one after the other, so that etcd starts while the kubelet is on its way.
const (
	groupEtcd    = "etcd"
	groupControl = "control-plane"
	groupNode    = "node"
)

// groups of a node, in the order of sending.
func groups(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, groupEtcd)
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, groupControl)
	}
	return append(out, groupNode)
}

// groupOf says who on the node waits for a program: the roles that need it, by the manifest.
func groupOf(n config.Node, m bundle.Member) string {
	switch {
	case slices.Contains(m.Roles, bundle.Worker):
		return groupNode
	case n.Has(bundle.Etcd) && slices.Contains(m.Roles, bundle.Etcd):
		return groupEtcd
	case n.Has(bundle.ControlPlane) && slices.Contains(m.Roles, bundle.ControlPlane):
		return groupControl
	}
	return groupNode
}

// programs is the step that a service's start needs.
func programs(n config.Node, group string) string { return id(phaseInfra, "programs-"+group, n.Name) }

// placePrograms uploads what the node's roles need straight to its place.
func (r *run) placePrograms(n config.Node, group string) *engine.Step {
	s := step(phaseInfra, "programs-"+group, n.Name, []string{id(phaseInfra, "claim", n.Name)})
	s.Lane, s.Limit, s.Timeout = laneBulk, LimitUploads, 30*time.Minute
	s.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
	list := func() []placed {
		return slices.DeleteFunc(r.members(n, r.bundle(n.Arch).Manifest()), func(p placed) bool { return groupOf(n, p.Member) != group })
	}
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		var want, script strings.Builder
		for _, p := range list() {
			fmt.Fprintf(&want, "%o %s\n", p.Mode, p.SHA256)
			fmt.Fprintf(&script, "[ -f %[1]s ] || exit 0\nm=$(stat -c %%a %[1]s); s=$(sha256sum <%[1]s); echo \"$m ${s%%%% *}\"\n", node.Quote(p.File))
		}
		out, err := nd.Query(ctx, script.String())
		return out == want.String(), err
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		b := r.bundle(n.Arch)
		for _, p := range list() {
			open := func() (io.ReadSeekCloser, error) { return b.Open(p.Path) }
			if _, err := nd.Place(ctx, node.Upload{Path: p.File, Mode: p.Mode, Size: p.Size, SHA256: p.SHA256, Open: open, What: p.Name + "/" + p.File}); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

const imagesPath = node.Dir + "/images.tar"

// imagesStamp names the set of images that a node has loaded.
func (r *run) imagesStamp(n config.Node) string {
	var l []string
	for _, im := range r.images(n, r.bundle(n.Arch).Manifest()) {
		l = append(l, im.Name+"@"+im.Digest)
	}
	sort.Strings(l)
	return strings.Join(l, " ")
}

func (r *run) imagesLoaded(ctx context.Context, n config.Node, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "cat "+node.Dir+"/applied/images 2>/dev/null || true; command -v ctr >/dev/null 2>&1 && ctr -n k8s.io images ls 2>/dev/null | awk 'NR>1 {print $1 \"@\" $3}' || true\n")
	if err != nil {
		return false, err
	}
	first, rest, _ := strings.Cut(out, "\n")
	stamp := r.imagesStamp(n)
	if first != stamp {
		return false, nil
	}
	for _, want := range strings.Fields(stamp) {
		if !strings.Contains("\n"+rest, "\n"+want+"\n") {
			return false, nil
		}
	}
	return true, nil
}

// sendImages uploads an archive of just the images that the node needs.
func (r *run) sendImages(n config.Node) *engine.Step {
	s := step(phaseInfra, "send-images", n.Name, []string{id(phaseInfra, "claim", n.Name)})
	s.Lane, s.Limit, s.Timeout = laneBulk, LimitUploads, 60*time.Minute
	s.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) { return r.imagesLoaded(ctx, n, nd) })
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		var names []string
		for _, im := range r.images(n, r.bundle(n.Arch).Manifest()) {
			names = append(names, im.Name)
		}
		f, err := r.bundle(n.Arch).Images(ctx, names)
		if err != nil {
			return err
		}
		sent, err := nd.Place(ctx, node.Upload{Path: imagesPath, Mode: 0o600, Size: f.Size, SHA256: f.SHA256, Open: f.Open, What: "images.tar"})
		if err == nil && !sent {
			return engine.ErrUnchanged
		}
		return err
	})
	return s
}

// loadImages imports them into the runtime and removes the archive.
func (r *run) loadImages(n config.Node) *engine.Step {
	s := step(phaseInfra, "load-images", n.Name, []string{id(phaseInfra, "send-images", n.Name), id(phaseInfra, "runtime", n.Name)})
	s.Limit, s.Timeout = LimitLoads, 30*time.Minute
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if ok, err := r.imagesLoaded(ctx, n, nd); !ok || err != nil {
			return false, err
		}
		// A load that was cut off at its end leaves the archive.
		out, err := nd.Query(ctx, "[ ! -e "+imagesPath+" ] || echo left")
		return out == "", err
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.images"), Quiet: true,
			Script: "ctr -n k8s.io images import " + imagesPath + " >/dev/null\nstamp images " + node.Quote(r.imagesStamp(n)) + "\nrm -f " + imagesPath + "\n"})
		return err
	})
	s.Verify = r.asksVerify(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) { return r.imagesLoaded(ctx, n, nd) }, "runtime.image-missing")
	return s
}

// asksVerify turns a check into a proof: not so is a fault with the code.
func (r *run) asksVerify(name string, check func(context.Context, *node.Node) (bool, error), code string) func(context.Context) error {
	return func(ctx context.Context) error {
		ok, err := check(ctx, r.node(name))
		if err == nil && !ok {
			err = event.NewFault(event.ClassFailed, code, nil).On(name)
		}
		return err
	}
}
