package phases_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// runners are the units whose program comes out of the bundle.
var runners = []string{"etcd.service", "kube-apiserver.service", "kube-controller-manager.service",
	"kube-scheduler.service",
	"kubelet.service", "kube-proxy.service"}

// afterCrash is what a unit that dies in this moment is started from again.
func afterCrash(n *phasestest.Node, unit string) string {
	data, _ := os.ReadFile(n.Path("/usr/local/bin/" + strings.TrimSuffix(unit, ".service")))
	return string(data)
}

// outOfTurn are the units on a lab's nodes that would be started from other bytes than they run, NODE/UNIT.
func outOfTurn(l *phasestest.Lab) []string {
	var out []string
	for name, n := range l.Nodes {
		for _, unit := range runners {
			if is := n.Runs(unit); is != "" && is != afterCrash(n, unit) {
				out = append(out, name+"/"+unit)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestAChangedBinaryTakesEffectOnOneNodeAtATime: a bundle of the same version with other bytes restarts what executes
// them, on one node at a time; until its restart a crash there starts the bytes that ran.
func TestAChangedBinaryTakesEffectOnOneNodeAtATime(t *testing.T) {
	long(t)
	t.Parallel()
	shape := phasestest.Shape{Masters: 3, Workers: 1, Balancer: true}
	before := tree(t, shaped(t, shape))
	l := deployed(t, shape)
	must(t, l.Rebuild("again"))
	var mu sync.Mutex
	var early []string
	b := &book{}
	o := quick(b)
	env := l.Env(func(e event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		// Units of one kind take turns, different kinds may be at it side by side; a change is announced before it is
		// made.
		seen := map[string]string{}
		for _, at := range outOfTurn(l) {
			_, unit, _ := strings.Cut(at, "/")
			if seen[unit] != "" {
				early = append(early, seen[unit]+" and "+at)
			}
			seen[unit] = at
		}
		return b.emit(e)
	})
	sum, err := engine.Run(t.Context(), phases.Deploy(env), o)
	if err != nil {
		t.Fatal(err, sum.Failed)
	}
	if len(early) > 0 {
		t.Errorf("at the same time: %v", early[0])
	}
	for name, n := range l.Nodes {
		for _, unit := range runners {
			if is := n.Runs(unit); is != "" && is != "program "+strings.TrimSuffix(unit, ".service")+" again" {
				t.Errorf("%s/%s runs %q", name, unit, is)
			}
		}
	}
	if left := outOfTurn(l); len(left) > 0 {
		t.Errorf("a crash would start another program than runs: %v", left)
	}
	b, sum, err = run(t, l, phases.Deploy)
	if changes := of[event.Change](b); err != nil || len(changes) > 0 {
		t.Errorf("the second deploy: %v, changed %v: %+v", err, sum.Changed, changes)
	}
	for path, what := range tree(t, l) {
		if strings.Contains(path, "/root/opt/eggo/") && strings.Contains(what, "program ") &&
			!strings.Contains(what, "again") {
			t.Errorf("the old version is left: %s: %s", path, what)
		}
	}
	cleanup(t, l, purge)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after a purge:", diff)
	}
}

// TestAChangeOfBinariesKilledAnywhere: wherever the run ends, what runs and what a crash would start differ on one node
// at the most for each component, no more than one server is out of the load balancer, and the next run ends the change
// as one that was not killed.
func TestAChangeOfBinariesKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several deploys of three machines in processes of their own")
	}
	t.Parallel()
	changed := func(t *testing.T) *phasestest.Lab {
		t.Helper()
		l := deployed(t, phasestest.Shape{Masters: 2, Balancer: true})
		must(t, l.Rebuild("again"))
		return l
	}
	whole := changed(t)
	log, _ := child(t, "deploy", whole.Dir, "whole.jsonl", 0)
	want := tree(t, whole)
	// Before a change of each kind that there is.
	points := map[string]uint64{}
	for _, r := range log {
		if c, ok := r.Event.(event.Change); ok && points[c.Desc.Key] == 0 {
			points[c.Desc.Key] = r.Seq
		}
	}
	if os.Getenv("EGGO_LONG") == "" {
		maps.DeleteFunc(points, func(what string, _ uint64) bool {
			return !slices.Contains([]string{"change.switch", "change.balancer-up", "change.remove"}, what)
		})
	}
	if len(points) == 0 {
		t.Error("no change")
	}
	for what, k := range points {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := changed(t)
			child(t, "deploy", l.Dir, "first.jsonl", k)
			units := map[string]int{}
			for _, at := range outOfTurn(l) {
				_, unit, _ := strings.Cut(at, "/")
				if units[unit]++; units[unit] > 1 {
					t.Errorf("%s: another program than runs would be started on two nodes", unit)
				}
			}
			if n := strings.Count(tree(t, l)["lb/root/etc/eggo/nginx-lb.conf"], "backup down;"); n > 1 {
				t.Errorf("%d servers are out of the load balancer", n)
			}
			child(t, "deploy", l.Dir, "second.jsonl", 0)
			if diff := cmp.Diff(want, tree(t, l)); diff != "" {
				t.Error("other than a run that was not killed:", diff)
			}
		})
	}
}

// TestAnAPIServerIsRestartedAside: each is taken out of the load balancer before it stops and put back when it is
// ready, and the run reports how long it was away.
func TestAnAPIServerIsRestartedAside(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 2, Balancer: true})
	must(t, l.Rebuild("again"))
	b := deploy(t, l)
	var told []string
	for _, c := range of[event.Change](b) {
		switch step := strings.TrimPrefix(c.Step, "control-plane.apiserver/"); c.Desc.Key {
		case "change.balancer-down", "change.balancer-up":
			if c.Host != "lb" || c.Desc.Args["server"] != step {
				t.Errorf("%+v", c)
			}
			told = append(told, step+" "+c.Desc.Key)
		case "change.start":
			if step != c.Step {
				told = append(told, step+" "+c.Desc.Key)
			}
		}
	}
	if len(told) != 6 {
		t.Fatalf("%v", told)
	}
	for i := 0; i < 6; i += 3 {
		m, _, _ := strings.Cut(told[i], " ")
		if !slices.Equal(told[i:i+3], []string{m + " change.balancer-down", m + " change.start",
			m + " change.balancer-up"}) {
			t.Errorf("%v", told)
		}
	}
	away := map[string]bool{}
	for _, n := range of[event.Notice](b) {
		if strings.HasPrefix(n.Text.Key, "notice.away") {
			away[n.Text.Args["component"]+" "+n.Text.Args["node"]] = true
		}
	}
	for _, want := range []string{"etcd m1", "etcd m2", "kube-apiserver m1", "kube-apiserver m2"} {
		if !away[want] {
			t.Errorf("nobody reported how long %s was away: %v", want, away)
		}
	}
	if conf := tree(t, l)["lb/root/etc/eggo/nginx-lb.conf"]; strings.Contains(conf, "down") {
		t.Error(conf)
	}
}

// TestAServerThatDoesNotComeBackStaysOutOfTheBalancer until the deploy that finds it ready.
func TestAServerThatDoesNotComeBackStaysOutOfTheBalancer(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 2, Balancer: true})
	must(t, l.Rebuild("again"))
	for _, m := range []string{"m1", "m2"} {
		put(t, l.Nodes[m].State("broken/kube-apiserver.service"), "")
	}
	if _, sum, err := run(t, l, phases.Deploy); err == nil {
		t.Fatal("it went well", sum)
	}
	runs := 0
	for _, m := range []string{"m1", "m2"} {
		if l.Nodes[m].Runs("kube-apiserver.service") != "" {
			runs++
		}
		must(t, os.Remove(l.Nodes[m].State("broken/kube-apiserver.service")))
	}
	if runs != 1 {
		t.Errorf("%d API servers run; the first that failed ends the restarts", runs)
	}
	if conf := tree(t, l)["lb/root/etc/eggo/nginx-lb.conf"]; strings.Count(conf, " down;") != 2 {
		t.Error("not out once and as the backup:", conf)
	}
	deploy(t, l)
	if conf := tree(t, l)["lb/root/etc/eggo/nginx-lb.conf"]; strings.Contains(conf, "down") || conf == "" {
		t.Error("not back:", conf)
	}
	if left := outOfTurn(l); len(left) > 0 {
		t.Error(left)
	}
}

// TestNodesOfAnEarlierVersion: there the binaries are files. They are replaced by links in their services' turns, once,
// for nobody knows whether what runs was started from them; what is recorded stays recorded.
func TestNodesOfAnEarlierVersion(t *testing.T) {
	long(t)
	t.Parallel()
	before := tree(t, newLab(t, 1))
	l := deployed(t, workers(1))
	earlier(t, l)
	b := deploy(t, l)
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.packages" || c.Desc.Key == "change.images" {
			t.Errorf("%+v", c)
		}
	}
	if to, err := os.Readlink(l.Nodes["w1"].Path("/usr/local/bin/kubelet")); err != nil ||
		!strings.Contains(to, "/opt/eggo/kubelet-") {
		t.Error(to, err)
	}
	if b, sum, err := run(t, l, phases.Deploy); err != nil || len(of[event.Change](b)) > 0 {
		t.Errorf("the second deploy: %v %v %+v", err, sum.Changed, of[event.Change](b))
	}
	cleanup(t, l, purge)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after a purge:", diff)
	}
}

// earlier makes the nodes what a version without versions of binaries left: files at their places, and records and
// stamps without them.
func earlier(t *testing.T, l *phasestest.Lab) {
	t.Helper()
	for _, n := range l.Nodes {
		for _, unit := range runners {
			link := n.Path("/usr/local/bin/" + strings.TrimSuffix(unit, ".service"))
			data, err := os.ReadFile(link)
			if err != nil {
				continue
			}
			must(t, os.Remove(link), os.WriteFile(link, data, 0o755))
			if _, err := os.Stat(n.Path("/var/lib/eggo-node/applied/" + unit)); err == nil {
				must(t, os.WriteFile(n.Path("/var/lib/eggo-node/applied/"+unit), []byte("of files alone\n"), 0o600))
			}
		}
		must(t, os.RemoveAll(n.Path("/opt/eggo")))
		var kept []string
		for line := range strings.Lines(readFile(t, n.Path("/var/lib/eggo-node/record"))) {
			if !strings.Contains(line, "/opt/eggo") {
				kept = append(kept, line)
			}
		}
		put(t, n.Path("/var/lib/eggo-node/record"), strings.Join(kept, ""))
	}
}

// TestAPlanOfAChangedBinaryNamesBothVersions and changes nothing.
func TestAPlanOfAChangedBinaryNamesBothVersions(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	before := tree(t, l)
	must(t, l.Rebuild("again"))
	b, _ := dryRun(t, l, phases.Deploy)
	is, err := os.Readlink(l.Nodes["w1"].Path("/usr/local/bin/kubelet"))
	must(t, err)
	version := strings.Split(strings.TrimPrefix(is, l.Nodes["w1"].Path("/opt/eggo")), "/")[1]
	var switched, removed bool
	for _, c := range of[event.Change](b) {
		a := c.Desc.Args
		if c.Host == "w1" {
			switched = switched || c.Desc.Key == "change.switch" && a["was"] == version &&
				strings.HasPrefix(a["to"], "kubelet-") && a["to"] != version
			removed = removed || c.Desc.Key == "change.remove" && a["path"] == "/opt/eggo/"+version
		}
	}
	if !switched || !removed {
		t.Errorf("switched %v, removed %v: %v", switched, removed, changes(b, "w1"))
	}
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("a plan changed", diff)
	}
}

// TestVersionsOfBinariesAreRootsAlone: a directory of versions that others may write to is not taken.
func TestVersionsOfBinariesAreRootsAlone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"others may write": func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777)) },
		"a link":           func(t *testing.T, dir string) { must(t, os.Symlink("/", dir)) },
		"a file":           func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) },
	} {
		if testing.Short() && name != "a link" {
			continue
		}
		l := newLab(t, 1)
		spoil(t, l.Nodes["w1"].Path("/opt/eggo"))
		_, sum, err := run(t, l, phases.Deploy)
		refused := func(e event.StepEnded) bool { return e.Fault != nil && e.Fault.Code == "node.unsafe-versions" }
		if err == nil || !slices.ContainsFunc(sum.Failed, refused) {
			t.Errorf("%s: %v %+v", name, err, sum.Failed)
		}
	}
}

// TestStatusNamesTheVersionsOfBinaries of a change that did not come to its end.
func TestStatusNamesTheVersionsOfBinaries(t *testing.T) {
	long(t)
	t.Parallel()
	before := tree(t, newLab(t, 1))
	l := deployed(t, workers(1))
	status := func() *phases.Status {
		t.Helper()
		s, err := phases.GatherStatus(t.Context(), l.Env((&book{}).emit))
		must(t, err)
		return s
	}
	if s := status(); !s.Healthy || len(s.Drift) > 0 || len(s.Nodes[1].Binaries) != 2 ||
		s.Nodes[1].Binaries[0].Linked == "" {
		t.Errorf("%+v", s)
	}
	must(t, l.Rebuild("again"))
	put(t, l.Nodes["w1"].State("broken/kubelet.service"), "")
	if _, sum, err := run(t, l, phases.Deploy); err == nil {
		t.Fatal("it went well", sum)
	}
	s := status()
	var told []string
	for _, d := range s.Drift {
		told = append(told, d.Key+" "+d.Args["node"]+" "+d.Args["binary"])
	}
	for _, want := range []string{"drift.binary-several w1 kubelet", "drift.binary-several m1 kubelet"} {
		if !slices.Contains(told, want) || s.Healthy {
			t.Errorf("no %s in %v", want, told)
		}
	}
	must(t, os.Remove(l.Nodes["w1"].State("broken/kubelet.service")))
	cleanup(t, l, purge)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after a purge with both versions there:", diff)
	}
}

// TestWhatOthersPutBesideAVersionStays: the version goes, its directory with their file does not.
func TestWhatOthersPutBesideAVersionStays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several deploys")
	}
	t.Parallel()
	l := deployed(t, workers(1))
	w := l.Nodes["w1"]
	old, err := os.Readlink(w.Path("/usr/local/bin/kubelet"))
	must(t, err)
	note := filepath.Join(filepath.Dir(old), "note")
	put(t, note, "theirs")
	must(t, l.Rebuild("again"))
	deploy(t, l)
	if _, err := os.Stat(old); err == nil || readFile(t, note) != "theirs" {
		t.Error(err)
	}
	if b, sum, err := run(t, l, phases.Deploy); err != nil || len(of[event.Change](b)) > 0 {
		t.Errorf("the second deploy: %v %v %+v", err, sum.Changed, of[event.Change](b))
	}
	b := cleanup(t, l, purge)
	if readFile(t, note) != "theirs" || !slices.Contains(b.notices(), "notice.kept") {
		t.Error(b.notices())
	}
}

// TestALinkIsNotSwitchedWhereOthersMayWrite: its directory is inspected again when the service is restarted, not only
// when the version came.
func TestALinkIsNotSwitchedWhereOthersMayWrite(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	must(t, l.Rebuild("again"))
	dir := l.Nodes["w1"].Path("/usr/local/bin")
	b := &book{}
	_, err := engine.Run(t.Context(), phases.Deploy(l.Env(func(e event.Event) error {
		if c, ok := e.(event.Change); ok && c.Host == "w1" && c.Desc.Key == "change.upload" {
			must(t, os.Chmod(dir, 0o777))
		}
		return b.emit(e)
	})), quick(b))
	if err == nil {
		t.Fatal("it was switched")
	}
	refused := false
	for _, e := range of[event.StepEnded](b) {
		refused = refused || e.Fault != nil && e.Fault.Code == "node.place-open"
	}
	if is := l.Nodes["w1"].Runs("kubelet.service"); !refused || is != "program kubelet" ||
		afterCrash(l.Nodes["w1"], "kubelet.service") != is {
		t.Errorf("refused %v, %q runs, and a crash would start %q", refused, is,
			afterCrash(l.Nodes["w1"], "kubelet.service"))
	}
}

// TestAVersionThatIsGoneIsNotSwitchedTo: what runs keeps running.
func TestAVersionThatIsGoneIsNotSwitchedTo(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	must(t, l.Rebuild("again"))
	w, b := l.Nodes["w1"], &book{}
	o := quick(b)
	_, err := engine.Run(t.Context(), phases.Deploy(l.Env(func(e event.Event) error {
		if c, ok := e.(event.Change); ok && c.Host == "w1" && c.Desc.Key == "change.switch" &&
			c.Desc.Args["path"] == "/usr/local/bin/kubelet" {
			must(t, os.RemoveAll(w.Path("/opt/eggo/"+c.Desc.Args["to"])))
		}
		return b.emit(e)
	})), o)
	if err == nil {
		t.Fatal("it was switched")
	}
	gone := false
	for _, e := range of[event.StepEnded](b) {
		gone = gone || e.Fault != nil && e.Fault.Code == "node.no-binary"
	}
	if !gone || w.Runs("kubelet.service") != "program kubelet" ||
		afterCrash(w, "kubelet.service") != "program kubelet" {
		t.Errorf("%v: %q runs", gone, w.Runs("kubelet.service"))
	}
}

// TestABalancerThatFailsMeanwhileIsWholeAfterTheNextRun: it ends when it is to leave a server out.
func TestABalancerThatFailsMeanwhileIsWholeAfterTheNextRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several deploys")
	}
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 2, Balancer: true})
	must(t, l.Rebuild("again"))
	reload := l.Nodes["lb"].State("broken/eggo-lb.service")
	b := &book{}
	_, err := engine.Run(t.Context(), phases.Deploy(l.Env(func(e event.Event) error {
		if c, ok := e.(event.Change); ok && c.Desc.Key == "change.balancer-down" {
			put(t, reload, "")
		}
		return b.emit(e)
	})), quick(b))
	if err == nil {
		t.Error("nobody missed the load balancer")
	}
	must(t, os.Remove(reload))
	deploy(t, l)
	if conf := tree(t, l)["lb/root/etc/eggo/nginx-lb.conf"]; strings.Contains(conf, "down") || conf == "" {
		t.Error(conf)
	}
	if left := outOfTurn(l); len(left) > 0 || l.Nodes["lb"].Runs("eggo-lb.service") == "" {
		t.Error(left)
	}
}
