package phases

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

const (
	maxSkew  = 30 * time.Second // beyond it certificates and tokens fail in ways that nobody understands
	warnSkew = 5 * time.Second
)

// preflight looks at everything at once and touches nothing; every later step needs its verdict. What cannot be looked
// at does not stop the rest: judge tells everything that is wrong in one go. The verdict waits for the steps of more,
// too.
func (r *run) preflight(
	sources []config.BundleSource, judge func(context.Context) error, more ...string,
) []*engine.Step {
	var steps []*engine.Step
	for _, b := range sources {
		s := plan.Step(plan.PhasePreflight, "bundle-"+b.Key, "", nil)
		s.Title = event.M("step.preflight.bundle", "arch", b.Key)
		if b.Arch == "" {
			s.Title = event.M("step.preflight.bundle-file", "file", b.Path)
		}
		s.Timeout = 30 * time.Minute
		s.Optional = true
		s.Verify = func(ctx context.Context) error { return r.KeepFault("bundle "+b.Key, r.StageBundle(ctx, b)) }
		steps = append(steps, s)
	}
	for _, n := range r.Cluster.Nodes {
		steps = append(steps, r.lookStep(n))
	}
	v := plan.Step(plan.PhasePreflight, "verdict", "", append(plan.StepIDs(steps), more...))
	v.Verify = judge
	return append(steps, v)
}

// accept asks every judge, for each tells what it finds, and has the cluster accepted when none refuses.
func (r *run) accept(judges ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var first error
		for _, judge := range judges {
			if err := judge(ctx); first == nil {
				first = err
			}
		}
		if first != nil || r.Accepted == nil {
			return first
		}
		return r.Accepted(ctx)
	}
}

// lookStep connects to a node and looks at it.
func (r *run) lookStep(n config.Node) *engine.Step {
	s := plan.Step(plan.PhasePreflight, "facts", n.Name, nil)
	s.Retry = engine.Retry{Tries: 3, Delay: 2 * time.Second, MaxDelay: 10 * time.Second}
	s.Optional = true
	s.Verify = func(ctx context.Context) error { return r.KeepFault(n.Name, r.Inspect(ctx, n)) }
	return s
}

// judge turns the facts into findings, tells them all, and fails when one is an error.
func (r *run) judge(ctx context.Context) error {
	var all []event.Finding
	for _, n := range r.Cluster.Nodes {
		if f := r.Fact(n.Name); f != nil {
			all = append(all, r.judgeNode(n, f)...)
			all = append(all, r.judgePrograms(n, f)...)
			all = append(all, r.judgePlaces(n, f)...)
		} else {
			all = append(all, r.judgeAway(n))
		}
	}
	all = append(all, r.judgeLost()...)
	all = append(all, r.judgeRestoring(ctx)...)
	all = append(all, r.judgeFiles(ctx)...)
	all = append(all, r.judgeTogether()...)
	all = append(all, r.judgeExternal()...)
	all = append(all, r.judgeBundles()...)
	all = append(all, r.judgeURLs(ctx)...)
	all = append(all, r.judgeReach(ctx)...)
	if err := r.tellPorts(); err != nil {
		return err
	}
	return r.tell(all)
}

// tell emits the findings. The class of the error, and with it the exit code, is that of the finding that says most
// about what to do.
func (r *run) tell(all []event.Finding) error {
	grave := []event.Class{event.ClassLocked, event.ClassAuth, event.ClassBundle}
	bad, class := 0, event.ClassPreflight
	for _, f := range all {
		if err := r.Emit(f); err != nil {
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

func finding(sev event.Severity, n, code string, kv ...string) event.Finding {
	f := event.NewFault(event.ClassPreflight, "preflight."+code, nil, kv...)
	f.Node = n
	return event.Finding{Host: n, Severity: sev, Fault: *f}
}

func (r *run) judgeNode(n config.Node, f *facts.Facts) []event.Finding {
	var out []event.Finding
	add := func(sev event.Severity, code string, kv ...string) {
		out = append(out, finding(sev, n.Name, code, kv...))
	}
	if f.Arch != n.Arch {
		add(event.Error, "arch", "is", f.Arch, "says", n.Arch)
	}
	if !f.Systemd {
		add(event.Error, "no-systemd")
	}
	if !f.HasAddress(n) {
		add(event.Error, "address", "ip", n.IP.String(), "has", strings.Join(f.Addresses, ", "))
	}
	if f.Skew.Abs()-f.SkewError > maxSkew {
		add(event.Error, "clock", "skew", wordSkew(f.Skew), "limit", maxSkew.String())
	} else if f.Skew.Abs()-f.SkewError > warnSkew {
		add(event.Warning, "clock", "skew", wordSkew(f.Skew), "limit", maxSkew.String())
	}
	if len(f.Missing) > 0 {
		add(event.Error, "missing", "what", strings.Join(f.Missing, ", "))
	}
	if f.Swap && nodes.IsKubelet(n) {
		add(event.Error, "swap")
	}
	if f.NoRoute && nodes.IsKubelet(n) {
		add(event.Error, "no-route", "service", r.Cluster.ServiceGateway.String())
	}
	if f.DockerJSON && nodes.IsKubelet(n) && r.runtimeName() == "docker" {
		add(event.Warning, "docker-json")
	}
	out = append(out, judgeSize(n, f)...)
	if f.SELinux && n.Has(bundle.LoadBalancer) {
		add(event.Warning, "selinux-balancer", "port", strconv.Itoa(r.Cluster.LBPort))
	}
	if f.Resolves == "no" && nodes.IsKubelet(n) {
		if addr := r.EndpointAddress(); addr != "" {
			add(event.Warning, "endpoint-told", "name", r.EndpointName(), "addr", addr)
		} else {
			add(event.Error, "endpoint-unknown", "name", r.EndpointName())
		}
	}
	out = append(out, judgeRecord(n, node.Beyond(f.RecordFormat, nil))...) // kinds that we do not know stay as they are
	out = append(out, r.judgeFirewall(n, f)...)
	out = append(out, r.judgePlugin(n, f)...)
	out = append(out, r.judgeDNSPort(n, f)...)
	if b := r.BundleFor(n, f); b != nil {
		if nodes.IsKubelet(n) && !f.Cgroup2 && minor(b.Manifest()) >= cgroup1Refused {
			add(event.Warning, "cgroup-v1", "version", b.Manifest().Kubernetes)
		}
		out = append(out, r.judgeSpace(n, f, b)...)
	} else {
		out = append(out, r.judgeSystem(n, f)...)
	}
	return append(out, r.judgeTaken(n, f)...)
}

// judgeTaken finds another cluster, or something else on our ports and paths.
func (r *run) judgeTaken(n config.Node, f *facts.Facts) []event.Finding {
	switch f.Cluster {
	case r.Cluster.Name:
		return r.judgeOurs(n, f)
	case "":
	default:
		return []event.Finding{finding(event.Error, n.Name, "other-cluster", "cluster", f.Cluster)}
	}
	var out []event.Finding
	if len(f.Active) > 0 {
		out = append(out, finding(event.Error, n.Name, "foreign-cluster", "services", strings.Join(f.Active, ", ")))
	}
	if len(f.Runtimes) > 0 && nodes.IsKubelet(n) {
		out = append(out, finding(event.Error, n.Name, "foreign-runtime", "runtime", strings.Join(f.Runtimes, ", ")))
	}
	if len(f.Present) > 0 && !f.Recorded { // what a cleanup kept is recorded still
		out = append(out, finding(event.Error, n.Name, "leftovers", "paths", strings.Join(f.Present, ", ")))
	}
	for _, p := range r.ports(n) {
		if who, taken := f.Listening[p]; taken && len(f.Active) == 0 {
			out = append(out, finding(event.Error, n.Name, "port", "port", strconv.Itoa(p), "who", who))
		}
	}
	return out
}

// ports that the components of the node's roles listen on.
func (r *run) ports(n config.Node) []int {
	var p []int
	if n.Has(bundle.Etcd) {
		p = append(p, 2379, 2380)
	}
	if n.Has(bundle.ControlPlane) {
		p = append(p, 6443, 10257, 10259)
	}
	if n.Has(bundle.LoadBalancer) {
		p = append(p, r.Cluster.LBPort)
	}
	if nodes.IsKubelet(n) {
		p = append(p, 10248, 10249, 10250, 10256)
	}
	return p
}

// judgeSpace adds up by file system what will be written: members to their places, images once as archive and about
// three times unpacked, packages once as files and about four times installed; half a gigabyte remains for logs and
// pods. On a node of ours most is there already, but not other versions of binaries.
func (r *run) judgeSpace(n config.Node, f *facts.Facts, b Bundle) []event.Finding {
	need := map[string]int64{}
	for _, m := range r.Members(n, b.Manifest()) {
		switch {
		case m.Executed && !slices.Contains(f.Versions, node.VersionOf(m.Binary().File)):
			need[node.VersionsDir] += m.Size
		case !m.Executed && f.Cluster != r.Cluster.Name:
			need[m.Dst] += m.Size
		}
	}
	if f.Cluster != r.Cluster.Name {
		r.addSpace(need, n, b)
	}
	return judgeFree(n, f, need)
}

// addSpace adds what a machine needs on which nothing of ours is yet.
func (r *run) addSpace(need map[string]int64, n config.Node, b Bundle) {
	const reserve = 512 << 20
	store := r.runtime().store()
	need[store] += reserve
	for _, im := range r.Images(n, b.Manifest()) {
		need[r.SpaceFor()] += im.Size
		need[store] += 3 * im.Size
	}
	for _, m := range b.Manifest().Members {
		if m.Kind == bundle.Deb || m.Kind == bundle.RPM {
			need[r.SpaceFor()] += m.Size
			need["/usr"] += 4 * m.Size
		}
	}
}

// judgeFree compares what is needed below paths with what their file systems have.
func judgeFree(n config.Node, f *facts.Facts, need map[string]int64) []event.Finding {
	byDevice := map[string]int64{}
	paths := map[string]string{}
	free := map[string]int64{}
	for p, bytes := range need {
		s, ok := f.Free[p]
		if !ok {
			continue
		}
		byDevice[s.Device] += bytes
		free[s.Device] = s.Bytes
		if paths[s.Device] == "" || p < paths[s.Device] {
			paths[s.Device] = p
		}
	}
	var out []event.Finding
	for _, dev := range slices.Sorted(maps.Keys(byDevice)) {
		bytes := byDevice[dev]
		if bytes > free[dev] {
			out = append(out, finding(event.Error, n.Name, "disk", "path", paths[dev], "device", dev, "need",
				mib(bytes), "free", mib(free[dev])))
		}
	}
	return out
}

func mib(b int64) string { return fmt.Sprintf("%d MiB", (b+1<<20-1)>>20) }

// judgeTogether compares the machines with each other.
func (r *run) judgeTogether() []event.Finding {
	var out []event.Finding
	seen := map[string]string{}
	for _, n := range r.Cluster.Nodes {
		f := r.Fact(n.Name)
		if f == nil {
			continue
		}
		id := f.MachineID
		if other, dup := seen[id]; dup && id != "" {
			out = append(out, finding(event.Warning, n.Name, "machine-id", "other", other))
		}
		seen[id] = n.Name
	}
	return out
}

// judgeReach tries, from every node, the way to each control plane's SSH port, which is known to be open: a firewall or
// a wrong route between the nodes shows here and not ten minutes later as a kubelet that never joins. The control
// planes try it too: their SSH servers have to forward, for that is our way to the API.
func (r *run) judgeReach(ctx context.Context) []event.Finding {
	found := make([][]event.Finding, len(r.Cluster.Nodes))
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		nd := r.Node(n.Name)
		if nd == nil { // those that we cannot reach ourselves are told already
			continue
		}
		wg.Go(func() {
			for _, cp := range r.Cluster.With(bundle.ControlPlane) {
				if r.Node(cp.Name) == nil {
					continue
				}
				target := net.JoinHostPort(cp.IP.String(), strconv.Itoa(cp.Port))
				dial, cancel := context.WithTimeout(ctx, 10*time.Second)
				c, err := nd.Dial(dial, "tcp", target)
				cancel()
				if err != nil {
					found[i] = append(found[i], finding(event.Error, n.Name, "unreachable", "target", target, "other",
						cp.Name, "cause", event.AsFault(err).Cause))
					continue
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}

// wordSkew words a difference of clocks with no more precision than one answer over a busy network gives.
func wordSkew(d time.Duration) string {
	if d.Abs() >= 10*time.Minute {
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second).String()
}
