package phases_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// named is a cluster with a kind of CoreDNS.
func named(c *config.Cluster, kind string) *config.Cluster {
	own := *c
	own.DNS.Type = kind
	return &own
}

// withDNS is a cluster with a kind of CoreDNS, of a bundle that has its program too, and what its machines were before.
func withDNS(t *testing.T, s phasestest.Shape, kind string) (l *phasestest.Lab, before map[string]string) {
	t.Helper()
	l = shaped(t, s)
	must(t, l.Rebuild(phasestest.WithCoreDNS))
	before = tree(t, l)
	l.Cluster = named(l.Cluster, kind)
	deploy(t, l)
	l.WatchNames()
	return l, before
}

// otherKind is the other kind of CoreDNS.
func otherKind(kind string) string {
	if kind == "pod" {
		return "binary"
	}
	return "pod"
}

// moving is a deploy with a kind of CoreDNS in deploy.yaml, of a cluster whose own deploy.yaml is another until it is
// accepted.
func moving(l *phasestest.Lab, kind string) func(phases.Env) *engine.Plan {
	own := l.Cluster
	return func(e phases.Env) *engine.Plan {
		e.Saved, e.Cluster = own, named(own, kind)
		e.Accepted = func(context.Context) error { own = e.Cluster; return nil }
		return phases.DeployInTurns(e, upgrade.Options{})
	}
}

// dnsObjects are those of the API that belong to CoreDNS.
func dnsObjects(l *phasestest.Lab) (out []string) {
	for _, p := range l.API.Objects() {
		if strings.Contains(p, "coredns") || strings.Contains(p, "kube-dns") {
			out = append(out, p[strings.LastIndex(p[:strings.LastIndex(p, "/")], "/")+1:])
		}
	}
	return out
}

// resolvesBy wants the cluster's names to come from one kind of CoreDNS, nothing of the other one to be left, and never
// nobody to have answered.
func resolvesBy(t *testing.T, l *phasestest.Lab, kind string) {
	t.Helper()
	want := []string{"serviceaccounts/coredns", "configmaps/coredns", "endpoints/kube-dns", "services/kube-dns",
		"deployments/coredns", "endpointslices/kube-dns-abcde", "clusterrolebindings/system:coredns",
		"clusterroles/system:coredns"}
	if kind == "binary" {
		want = []string{"services/kube-dns", "endpointslices/kube-dns-eggo", "clusterrolebindings/eggo:coredns",
			"clusterroles/system:coredns"}
	}
	slices.Sort(want)
	got := dnsObjects(l)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error("objects:", d)
	}
	for name, n := range l.Nodes {
		if runs := n.Runs("coredns.service") != ""; runs != (kind == "binary" && strings.HasPrefix(name, "m")) {
			t.Errorf("CoreDNS runs on %s: %v", name, runs)
		}
		rec, _ := os.ReadFile(n.Path("/var/lib/eggo-node/record"))
		if kind == "pod" && (strings.Contains(string(rec), "/etc/eggo/coredns") ||
			strings.Contains(string(rec), "coredns.service") || strings.Contains(string(rec), "/opt/eggo/coredns")) {
			t.Errorf("recorded on %s: %s", name, rec)
		}
		for _, p := range []string{"/etc/eggo/coredns", "/etc/systemd/system/coredns.service"} {
			if _, err := os.Lstat(n.Path(p)); kind == "pod" && err == nil {
				t.Errorf("%s has %s", name, p)
			}
		}
	}
	if gaps := l.Gaps(); len(gaps) > 0 {
		t.Error("names were not resolved:", gaps)
	}
	if _, err := os.Stat(filepath.Join(l.StateDir(), "dns.json")); err == nil {
		t.Error("the change is not forgotten")
	}
}

// sealed has the records with the mode of one that was only added to.
func sealed(tree map[string]string) map[string]string {
	for p, what := range tree {
		if strings.HasSuffix(p, "/eggo-node/record") {
			tree[p] = strings.Replace(what, "-rw-r--r-- format", "-rw------- format", 1)
		}
	}
	return tree
}

// twin is the same lab again, with the watch over its names.
func twin(t *testing.T, l *phasestest.Lab) *phasestest.Lab {
	t.Helper()
	own, err := l.Copy(t.TempDir())
	must(t, err)
	t.Cleanup(own.Close)
	own.Cluster = l.Cluster
	own.WatchNames()
	return own
}

// CoreDNS becomes the other kind and comes back; each time a second deploy changes nothing, and a cleanup leaves the
// machines as they were. The files are those of a cluster that was deployed so.
func TestCoreDNSMovesToTheOtherKindAndBack(t *testing.T) {
	long(t)
	t.Parallel()
	for _, kind := range []string{"pod", "binary"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l, before := withDNS(t, workers(1), kind)
			first := sealed(tree(t, l))
			for _, to := range []string{otherKind(kind), kind} {
				plan := moving(l, to)
				b, _ := dryRun(t, l, plan)
				if !slices.Contains(b.findings(), "preflight.dns-moves") ||
					slices.Contains(changes(b, "m1"), "change.dns-stop") != (to == "pod") {
					t.Errorf("the plan for %s: %v %v", to, b.findings(), changes(b, "m1"))
				}
				plan = moving(l, to)
				ends(t, l, plan)
				resolvesBy(t, l, to)
				writes := len(l.API.Writes())
				again(t, l, plan)
				if more := l.API.Writes()[writes:]; len(more) > 0 {
					t.Error("the second deploy wrote to the API:", more)
				}
				l.Cluster = named(l.Cluster, to)
			}
			if d := cmp.Diff(first, sealed(tree(t, l))); d != "" {
				t.Error("back, and not as it was:", d)
			}
			ends(t, l, moving(l, otherKind(kind)))
			l.Cluster = named(l.Cluster, otherKind(kind))
			cleanup(t, l, purge)
			if d := cmp.Diff(before, tree(t, l)); d != "" {
				t.Error("after a cleanup:", d)
			}
		})
	}
}

// With several control planes each has a server before the first node depends on one.
func TestCoreDNSMovesOnSeveralControlPlanes(t *testing.T) {
	long(t)
	t.Parallel()
	l, _ := withDNS(t, phasestest.Shape{Masters: 3, Workers: 1}, "pod")
	for _, to := range []string{"binary", "pod"} {
		plan := moving(l, to)
		ends(t, l, plan)
		resolvesBy(t, l, to)
		again(t, l, plan)
		l.Cluster = named(l.Cluster, to)
	}
}

// killed runs a plan that ends before a step is done, as when its process is killed.
func killed(t *testing.T, l *phasestest.Lab, plan func(phases.Env) *engine.Plan, at string) {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	b := &book{}
	o := quick(b)
	o.Emit = func(e event.Event) error {
		if s, ok := e.(event.StepStarted); ok && s.Step == at {
			kill()
			return context.Canceled
		}
		return b.emit(e)
	}
	if _, err := engine.Run(ctx, plan(l.Env(o.Emit)), o); err == nil {
		t.Fatalf("the run was not interrupted at %s", at)
	}
}

// Whatever the moment in which a run ends, the next one ends the change, or takes it the other way; until then status
// tells of it, other operations are refused, and a cleanup removes both kinds.
func TestAChangeOfCoreDNSThatWasInterrupted(t *testing.T) {
	long(t)
	t.Parallel()
	pods, before := withDNS(t, workers(1), "pod")
	services, _ := withDNS(t, workers(1), "binary")
	for i, c := range []struct{ from, at string }{
		{"pod", "addons.dns-through/w1"}, {"binary", "addons.dns-stop/m1"},
		{"pod", "addons.coredns/m1"}, {"pod", "addons.dns"}, {"pod", "addons.dns-former"}, {"pod", "addons.dns-end"},
		{"binary", "addons.dns-ready"}, {"binary", "addons.dns"}, {"binary", "addons.dns-former"},
		{"binary", "addons.dns-end"},
	} {
		made := map[string]*phasestest.Lab{"pod": pods, "binary": services}[c.from]
		t.Run(c.from+" "+c.at, func(t *testing.T) {
			if i > 1 {
				long(t)
			}
			t.Parallel()
			l := twin(t, made)
			to := otherKind(c.from)
			plan := moving(l, to)
			killed(t, l, plan, c.at)
			other, back := twin(t, l), twin(t, l)
			back.Cluster, other.Cluster = named(l.Cluster, to), named(l.Cluster, to)

			e := l.Env(func(event.Event) error { return nil })
			e.Cluster = other.Cluster
			st, err := phases.GatherStatus(t.Context(), e)
			if err != nil || !slices.ContainsFunc(st.Drift, func(m event.Msg) bool {
				return m.Key == "drift.dns-change" && m.Args["is"] == c.from && m.Args["want"] == to
			}) {
				t.Errorf("status: %v %+v", err, st)
			}
			b, sum, err := run(t, other, phases.Deploy)
			if !refusedFor(sum, err) || !slices.Contains(b.findings(), "preflight.dns-change") {
				t.Errorf("a join meanwhile: %v %v", err, b.findings())
			}

			ends(t, l, plan)
			resolvesBy(t, l, to)
			again(t, l, plan)

			ends(t, back, moving(back, c.from))
			resolvesBy(t, back, c.from)

			cleanup(t, other, purge)
			if d := cmp.Diff(before, tree(t, other)); d != "" {
				t.Error("after a cleanup:", d)
			}
			if _, err := os.Stat(filepath.Join(other.StateDir(), "dns.json")); err == nil {
				t.Error("the cleanup has not forgotten the change")
			}
		})
	}
}

// What keeps the new CoreDNS from answering ends the run while the old one answers; when it is fixed the next run ends
// the change.
func TestACoreDNSThatDoesNotAnswerReplacesNothing(t *testing.T) {
	long(t)
	t.Parallel()
	made := map[string]*phasestest.Lab{}
	for _, kind := range []string{"pod", "binary"} {
		made[kind], _ = withDNS(t, workers(1), kind)
	}
	for name, c := range map[string]struct {
		from, code, node string
		trouble          func(l *phasestest.Lab, is bool)
	}{
		"silent": {"pod", "dns.silent", "m1", func(l *phasestest.Lab, is bool) { l.Mute("m1", is) }},
		"a late kube-proxy": {"pod", "dns.former-answers", "w1",
			func(l *phasestest.Lab, is bool) { l.Lag("w1", is) }},
		"a late kube-proxy, to pods": {"binary", "dns.former-answers", "w1",
			func(l *phasestest.Lab, is bool) { l.Lag("w1", is) }},
		"a controller that makes slices again": {"pod", "dns.former-endpoints", "",
			func(l *phasestest.Lab, is bool) { l.LateController(map[bool]int{true: 1 << 20}[is]) }},
		"a controller that finds no pods": {"binary", "dns.no-endpoints", "", (*phasestest.Lab).IdleController},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := twin(t, made[c.from])
			plan := moving(l, otherKind(c.from))
			c.trouble(l, true)
			b, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
				p := plan(e)
				for _, s := range p.Steps {
					if strings.HasPrefix(s.ID, "addons.dns") {
						s.Retry.Tries = min(s.Retry.Tries, 8) // nothing gets better
					}
				}
				return p
			})
			if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != c.code ||
				sum.Failed[0].Fault.Node != c.node {
				t.Fatalf("%v %+v %v", err, sum.Failed, b.findings())
			}
			if gaps := l.Gaps(); len(gaps) > 0 && c.code != "dns.silent" {
				t.Error("names were not resolved:", gaps)
			}
			if c.from == "pod" && l.API.Object("/apis/apps/v1/namespaces/kube-system/deployments/coredns") == nil ||
				c.from == "binary" && l.Nodes["m1"].Runs("coredns.service") == "" {
				t.Error("the former CoreDNS is gone")
			}
			c.trouble(l, false)
			ends(t, l, plan)
			resolvesBy(t, l, otherKind(c.from))
		})
	}
}

// A limit, and objects of the name that somebody else has made.
func TestWhatAChangeOfCoreDNSLeaves(t *testing.T) {
	long(t)
	t.Parallel()
	l, _ := withDNS(t, workers(1), "pod")
	b, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"m1"}
		return moving(l, "binary")(e)
	})
	if !refusedFor(sum, err) || !slices.Contains(b.findings(), "preflight.dns-change") {
		t.Errorf("within a limit: %v %v", err, b.findings())
	}
	const path = "/api/v1/namespaces/kube-system/configmaps/coredns"
	theirs := map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "data": map[string]any{"Corefile": "theirs"},
		"metadata": map[string]any{"name": "coredns", "namespace": "kube-system"}}
	plan := moving(l, "binary")
	killed(t, l, plan, "addons.dns-former")
	l.API.Remove(path)
	l.API.Add(path, theirs)
	b = ends(t, l, plan)
	if l.API.Object(path) == nil || !slices.Contains(b.notices(), "notice.kept") {
		t.Error("what somebody else has made:", l.API.Object(path), b.notices())
	}
}
