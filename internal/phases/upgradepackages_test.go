package phases_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// versions are those of the packages that a node has.
func versions(t *testing.T, l *phasestest.Lab, node string) string {
	t.Helper()
	var out []string
	for _, p := range []string{"conntrack", "containerd", "nginx", "runc"} {
		if data, err := os.ReadFile(l.Nodes[node].State("dpkg/" + p + ".version")); err == nil {
			out = append(out, p+" "+strings.TrimSpace(string(data)))
		}
	}
	return strings.Join(out, ", ")
}

// Packages stay as they are unless they are asked for. Then those that we have installed come to the bundle's versions:
// on a node with a kubelet in its turn, when it is emptied, and what runs from them is started again. A package that
// was there before us stays, and so does what a cleanup removes.
func TestPackagesAreUpgradedInTheTurns(t *testing.T) {
	long(t)
	t.Parallel()
	shape := phasestest.Shape{Masters: 1, Workers: 2, Balancer: true}
	before := tree(t, shaped(t, shape))
	l := deployed(t, shape)
	record := l.Nodes["w2"].Path("/var/lib/eggo-node/record")
	own := strings.ReplaceAll(readFile(t, record), "package\tconntrack\tabsent\n", "") // somebody else's
	must(t, os.WriteFile(record, []byte(own), 0o600))
	o := hopsOf(t, l, "v1.34.9")
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if is := versions(t, l, "w1"); is != "conntrack 1.2-3, containerd 1.2-3, runc 1.2-3" {
		t.Error("moved by themselves:", is)
	}

	o = hopsOf(t, l, "v1.34.10")
	o.From, o.Packages = "v1.34.9", true
	b, sum, err := upgraded(t, l, o)
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for node, want := range map[string]string{"m1": "conntrack 1.3-1, containerd 1.3-1, runc 1.3-1",
		"w1": "conntrack 1.3-1, containerd 1.3-1, runc 1.3-1", "w2": "conntrack 1.2-3, containerd 1.3-1, runc 1.3-1",
		"lb": "nginx 1.3-1"} {
		if is := versions(t, l, node); is != want {
			t.Errorf("%s: %s", node, is)
		}
	}
	var did []string
	for _, c := range of[event.Change](b) {
		if c.Step == "nodes.turn/w1" || c.Step == "nodes.packages/lb" {
			did = append(did, strings.TrimPrefix(c.Desc.Key, "change.")+" "+c.Desc.Args["unit"]+c.Desc.Args["packages"])
		}
	}
	at := func(what string) int { return slices.Index(did, what) }
	moved := at("packages-upgrade conntrack 1.2-3 → 1.3-1, containerd 1.2-3 → 1.3-1, runc 1.2-3 → 1.3-1")
	if moved < 0 || at("cordon ") < 0 || at("cordon ") > moved || at("start containerd.service") < moved ||
		at("start eggo-lb.service") < at("packages-upgrade nginx 1.2-3 → 1.3-1") ||
		at("packages-upgrade nginx 1.2-3 → 1.3-1") < 0 {
		t.Errorf("%q", did)
	}
	for _, n := range []string{"w1", "w2"} {
		if _, closed, _ := nodeObject(l, n); closed {
			t.Error(n, "is closed")
		}
	}
	must(t, os.WriteFile(record, []byte(readFile(t, record)+"\npackage\tconntrack\tabsent\n"), 0o600))
	cleanup(t, l, purge)
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error("after a cleanup:", d)
	}
}

// A package that stays behind, for somebody holds it, is named.
func TestAPackageThatIsHeld(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.9")
	o.Packages = true
	must(t, os.MkdirAll(l.Nodes["w1"].State("held"), 0o755), os.WriteFile(l.Nodes["w1"].State("held/runc"), nil, 0o600))
	_, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "packages.not-upgraded" ||
		sum.Failed[0].Fault.Args["package"] != "runc" {
		t.Errorf("%v %+v", err, sum.Failed)
	}
}

// packaged is a cluster with a load balancer, and an upgrade of it with its packages.
func packaged(t *testing.T) (*phasestest.Lab, upgrade.Options) {
	t.Helper()
	l := deployed(t, phasestest.Shape{Masters: 1, Workers: 2, Balancer: true})
	o := hopsOf(t, l, "v1.34.9")
	o.Packages = true
	return l, o
}

const (
	oldPackages = "conntrack 1.2-3, containerd 1.2-3, runc 1.2-3"
	newPackages = "conntrack 1.3-1, containerd 1.3-1, runc 1.3-1"
)

// have wants nodes to have packages.
func have(t *testing.T, l *phasestest.Lab, packages string, nodes ...string) {
	t.Helper()
	for _, n := range nodes {
		if is := versions(t, l, n); is != packages {
			t.Errorf("%s has %s, want %s", n, is, packages)
		}
	}
}

// keptOf are the files of old packages on a node.
func keptOf(t *testing.T, l *phasestest.Lab, node string) string {
	t.Helper()
	entries, err := os.ReadDir(l.Nodes[node].Path("/var/lib/eggo-node/kept"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// settled is what is on the machines, but for the package lists of the bundle that was used last and the mode of the
// record, which whoever writes it makes.
func settled(t *testing.T, l *phasestest.Lab) map[string]string {
	t.Helper()
	out := tree(t, l)
	for path, is := range out {
		switch {
		case strings.HasSuffix(path, "/eggo-node/repo/Packages"):
			delete(out, path)
		case strings.HasSuffix(path, "/eggo-node/record"):
			_, out[path], _ = strings.Cut(is, " ")
		}
	}
	return out
}

// packageChanges are what was done with packages, as "NODE key packages".
func packageChanges(b *book) []string {
	var out []string
	for _, c := range of[event.Change](b) {
		if strings.HasPrefix(c.Desc.Key, "change.packages-") {
			out = append(out, c.Host+" "+strings.TrimPrefix(c.Desc.Key, "change.packages-")+" "+c.Desc.Args["packages"])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Until an upgrade has ended each node has the packages that it had, and goes back to them: what runs from them is
// started again, and everything is as before. A second time changes nothing, and neither does what was moved already.
func TestPackagesGoBack(t *testing.T) {
	long(t)
	t.Parallel()
	l, o := packaged(t)
	before := settled(t, l)
	if begun := cutAt(t, l, o, "check.reached"); !begun.Packages || begun.Committed {
		t.Fatalf("%+v", begun)
	}
	have(t, l, newPackages, "m1", "w1", "w2")
	have(t, l, "nginx 1.3-1", "lb")
	want := "conntrack_1.2-3_amd64.deb containerd_1.2-3_amd64.deb moves runc_1.2-3_amd64.deb"
	if is := keptOf(t, l, "w1"); is != want {
		t.Error("kept:", is)
	}
	moved := settled(t, l)
	begun := cutAt(t, l, o, "check.reached")
	if d := cmp.Diff(moved, settled(t, l)); d != "" {
		t.Error("moved again:", d)
	}

	b, sum, err := run(t, l, taken(begun))
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	have(t, l, oldPackages, "m1", "w1", "w2")
	have(t, l, "nginx 1.2-3", "lb")
	all := "conntrack 1.3-1 → 1.2-3, containerd 1.3-1 → 1.2-3, runc 1.3-1 → 1.2-3"
	if did := packageChanges(b); !slices.Equal(did, []string{"lb back nginx 1.3-1 → 1.2-3", "m1 back " + all,
		"w1 back " + all, "w2 back " + all}) {
		t.Errorf("%q", did)
	}
	if d := cmp.Diff(before, settled(t, l)); d != "" {
		t.Error("after the way back:", d)
	}
	everythingRuns(t, l, "")

	if b, sum, err = run(t, l, taken(begun)); err != nil || len(packageChanges(b)) > 0 {
		t.Errorf("the second time: %v %+v %q", err, sum.Failed, packageChanges(b))
	}
	if d := cmp.Diff(before, settled(t, l)); d != "" {
		t.Error("after the second time:", d)
	}
}

// An upgrade that is cut off in the middle of a node's packages comes to its end, and from each such place there is the
// way back. Old packages are kept no longer than that.
func TestPackagesOfAnUpgradeThatIsCutOff(t *testing.T) {
	long(t)
	t.Parallel()
	at := func(key, unit string) func(event.Event) bool {
		return func(ev event.Event) bool {
			c, is := ev.(event.Change)
			return is && c.Host == "w1" && c.Desc.Key == key && c.Desc.Args["unit"] == unit
		}
	}
	for name, happens := range map[string]func(event.Event) bool{
		"keeping": at("change.packages-keep", ""), "moving": at("change.packages-upgrade", ""),
		"unpacking": at("change.packages-upgrade", ""), "starting": at("change.start", "containerd.service"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, o := packaged(t)
			before := settled(t, l)
			cut := func() upgrade.Begun {
				t.Helper()
				begun := cutWhen(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) }, happens)
				if name == "unpacking" {
					must(t, os.WriteFile(l.Nodes["w1"].State("dpkg/runc.status"), []byte("half-installed\n"), 0o600))
				}
				return begun
			}
			if _, sum, err := run(t, l, taken(cut())); err != nil {
				t.Fatalf("back: %v %+v", err, sum.Failed)
			}
			if d := cmp.Diff(before, settled(t, l)); d != "" {
				t.Error("after the way back:", d)
			}
			cut()
			if _, sum, err := upgraded(t, l, o); err != nil {
				t.Fatalf("%v %+v", err, sum.Failed)
			}
			have(t, l, newPackages, "m1", "w1", "w2")
			have(t, l, "nginx 1.3-1", "lb")
			for n := range l.Nodes {
				if is := keptOf(t, l, n); is != "" {
					t.Errorf("%s keeps %s", n, is)
				}
			}
		})
	}
}

// spoil has the container runtime of w1 not start from versions of its package.
func spoil(t *testing.T, l *phasestest.Lab, versions string) {
	t.Helper()
	file := l.Nodes["w1"].State("spoiled/containerd")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(versions), 0o600))
}

// A node whose runtime does not start from the new packages gets the old ones again and serves, and the next node is
// not begun.
func TestPackagesThatDoNotWorkAreReverted(t *testing.T) {
	long(t)
	t.Parallel()
	l, o := packaged(t)
	spoil(t, l, "1.3-1\n")
	b, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.packages-reverted" ||
		sum.Failed[0].Fault.Node != "w1" || !slices.Contains(b.notices(), "notice.upgrade-packages-reverting") {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	have(t, l, oldPackages, "w1", "w2")
	have(t, l, newPackages, "m1")
	if !exists(l.Nodes["w1"].State("active/containerd.service")) {
		t.Error("the container runtime does not run")
	}
	if _, closed, _ := nodeObject(l, "w1"); closed {
		t.Error("w1 takes no pods")
	}
	spoil(t, l, "")
	if _, sum, err = upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	have(t, l, newPackages, "m1", "w1", "w2")
}

// When the old packages do not work either, that is said.
func TestPackagesThatDoNotWorkAndCannotBeReverted(t *testing.T) {
	long(t)
	t.Parallel()
	l, o := packaged(t)
	spoil(t, l, "1.3-1\n1.2-3\n")
	_, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.packages-not-reverted" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The plan lists the packages of each node: those that come to other versions, those that stay because nobody asked or
// because they are somebody else's, and those that do not come back.
func TestThePlanListsPackages(t *testing.T) {
	long(t)
	t.Parallel()
	l, o := packaged(t)
	record := l.Nodes["w2"].Path("/var/lib/eggo-node/record")
	rest := strings.ReplaceAll(readFile(t, record), "package\tconntrack\tabsent\n", "")
	must(t, os.WriteFile(record, []byte(rest), 0o600),
		os.WriteFile(l.Nodes["w1"].State("dpkg/runc.version"), []byte("1.2-9\n"), 0o600)) // somebody upgraded it
	told := func() []string {
		t.Helper()
		b, _ := dryRun(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) })
		var out []string
		for _, n := range of[event.Notice](b) {
			if key, is := strings.CutPrefix(n.Text.Key, "notice.upgrade-packages"); is {
				out = append(out, strings.TrimPrefix(key+": ", "-")+n.Text.Args["nodes"]+": "+n.Text.Args["packages"])
			}
		}
		return append(out, packageChanges(b)...)
	}
	c, all := "conntrack 1.2-3 → 1.3-1", "containerd 1.2-3 → 1.3-1, runc 1.2-3 → 1.3-1"
	other := c + ", containerd 1.2-3 → 1.3-1, runc 1.2-9 → 1.3-1"
	want := []string{": w1: " + other, ": m1: " + c + ", " + all, ": w2: " + all, ": lb: nginx 1.2-3 → 1.3-1",
		"stuck: w1: runc 1.2-9 → 1.3-1", "theirs: w2: " + c,
		"lb keep nginx 1.2-3", "lb upgrade nginx 1.2-3 → 1.3-1",
		"m1 keep conntrack 1.2-3, containerd 1.2-3, runc 1.2-3", "m1 upgrade " + c + ", " + all,
		"w1 keep conntrack 1.2-3, containerd 1.2-3", "w1 upgrade " + other,
		"w2 keep containerd 1.2-3, runc 1.2-3", "w2 upgrade " + all}
	is := told()
	slices.Sort(is)
	slices.Sort(want)
	if d := cmp.Diff(want, is); d != "" {
		t.Error(d)
	}
	o.Packages = false
	want = []string{"stay: lb: nginx 1.2-3 → 1.3-1", "stay: m1: " + c + ", " + all, "stay: w1: " + other,
		"stay: w2: " + all, "theirs: w2: " + c}
	is = told()
	slices.Sort(is)
	if d := cmp.Diff(want, is); d != "" {
		t.Error("without --packages:", d)
	}
}
