package operation

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

const twoArches = `cluster-id: sim # ours
masters: [{name: m1, ip: 192.0.2.11, arch: amd64}]
nodes: [{name: w1, ip: 192.0.2.21, arch: arm64}, {name: w2, ip: 192.0.2.22, arch: arm64}]
package-src: {type: tar.gz, x86src: /b/34-amd64, armsrc: /b/34-arm64}
`

// kubernetes is a bundle's manifest: its name says which bundle it is.
func kubernetes(name, version, arch, system string) *bundle.Manifest {
	m := &bundle.Manifest{Name: name, Kubernetes: version, Arch: arch}
	m.OS.ID, m.OS.Release, _ = strings.Cut(system, " ")
	return m
}

// upgradable is a cluster of two architectures at v1.34.2, and bundles of later and earlier versions.
func upgradable(t *testing.T) (*fakes, Deps) {
	t.Helper()
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	f.heads = map[string]*bundle.Manifest{
		"/b/35-amd64-rpm":  kubernetes("i", "v1.35.4", "amd64", "openEuler 22.03"),
		"/b/34-amd64-else": kubernetes("k", "v1.34.2", "amd64", "debian 12"),
		"/b/odd":           kubernetes("odd", "latest", "amd64", "debian 12"),
		"/b/2.0":           kubernetes("two", "v2.0.0", "amd64", "debian 12"),
	}
	for v, version := range map[string]string{
		"33": "v1.33.13", "34": "v1.34.2", "34.9": "v1.34.9", "35": "v1.35.4", "36": "v1.36.3", "36rc": "v1.36.3-rc.1",
	} {
		for _, arch := range []string{"amd64", "arm64"} {
			f.heads["/b/"+v+"-"+arch] = kubernetes(v+arch, version, arch, "debian 12")
		}
	}
	saveOwn(t, f, twoArches)
	return f, d
}

func saveOwn(t *testing.T, f *fakes, text string) {
	t.Helper()
	if err := os.MkdirAll(f.lab.StateDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.lab.StateDir(), "deploy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// guarded is a request as its run has it when nothing was made.
func guarded(t *testing.T, q request.Request, d Deps) (*prepared, error) {
	t.Helper()
	p, err := load(t.Context(), q, d)
	if err != nil {
		return nil, err
	}
	if p.files, err = d.Store.Open(t.Context(), p.cluster.Name); err != nil {
		t.Fatal(err)
	}
	if err := p.loadOwn(p.files); err != nil {
		t.Fatal(err)
	}
	return p, p.guard()
}

func upgradeTo(bundles ...string) request.Upgrade {
	for i, b := range bundles {
		bundles[i] = "/b/" + b
	}
	return request.NewUpgrade(request.OfCluster("sim"), bundles...)
}

func TestBundlesBecomeHops(t *testing.T) {
	_, d := upgradable(t)
	for _, c := range []struct {
		bundles  []string
		versions string // from the cluster's own on
		source   config.PackageSource
	}{
		{[]string{"35-arm64", "35-amd64"}, "v1.34.2 v1.35.4",
			config.PackageSource{Bundles: map[string]string{"amd64": "/b/35-amd64", "arm64": "/b/35-arm64"}}},
		{[]string{"34.9-arm64", "34.9-amd64"}, "v1.34.2 v1.34.9",
			config.PackageSource{Bundles: map[string]string{"amd64": "/b/34.9-amd64", "arm64": "/b/34.9-arm64"}}},
		{[]string{"36-arm64", "35-amd64", "36-amd64", "35-arm64", "34.9-amd64", "34.9-arm64"},
			"v1.34.2 v1.34.9 v1.35.4 v1.36.3",
			config.PackageSource{Bundles: map[string]string{"amd64": "/b/36-amd64", "arm64": "/b/36-arm64"}}},
		{[]string{"35-amd64", "35-arm64", "36-amd64", "36-arm64", "36rc-amd64", "36rc-arm64"},
			"v1.34.2 v1.35.4 v1.36.3-rc.1 v1.36.3",
			config.PackageSource{Bundles: map[string]string{"amd64": "/b/36-amd64", "arm64": "/b/36-arm64"}}},
		// what is for the system of the cluster's own bundle stands in its place
		{[]string{"35-amd64-rpm", "35-amd64", "35-arm64"}, "v1.34.2 v1.35.4", config.PackageSource{
			Bundles: map[string]string{"amd64": "/b/35-amd64", "arm64": "/b/35-arm64"},
			More:    []string{"/b/35-amd64-rpm"}}},
		{[]string{"35-amd64", "../b/35-amd64", "35-arm64"}, "v1.34.2 v1.35.4",
			config.PackageSource{Bundles: map[string]string{"amd64": "/b/35-amd64", "arm64": "/b/35-arm64"}}},
		// those of the version that it has are passed over, and are all that is needed where nothing is to do
		{[]string{"34-amd64", "35-amd64", "35-arm64"}, "v1.34.2 v1.35.4",
			config.PackageSource{Bundles: map[string]string{"amd64": "/b/35-amd64", "arm64": "/b/35-arm64"}}},
		{[]string{"34-amd64", "34-arm64"}, "v1.34.2", config.PackageSource{}},
		{[]string{"33-amd64", "34-amd64"}, "v1.34.2", config.PackageSource{}},
	} {
		p, err := guarded(t, upgradeTo(c.bundles...), d)
		if err != nil {
			t.Errorf("%v: %v", c.bundles, err)
			continue
		}
		if got := strings.Join(p.route.whole(), " "); got != c.versions {
			t.Errorf("%v: %s", c.bundles, got)
		}
		if n := len(p.route.hops); n > 0 {
			last := p.route.hops[n-1].Source
			if !maps.Equal(last.Bundles, c.source.Bundles) || !slices.Equal(last.More, c.source.More) {
				t.Errorf("%v: %+v", c.bundles, last)
			}
		}
	}
}

func TestBundlesThatAreNoUpgrade(t *testing.T) {
	for _, c := range []struct {
		bundles []string
		code    string
		names   string // the argument that says which
		what    string
	}{
		{nil, "upgrade.no-bundles", "version", "v1.34.2"},
		{[]string{"35-amd64", "broken", "35-arm64"}, "upgrade.unreadable", "file", "/b/broken"},
		{[]string{"odd"}, "upgrade.no-version", "file", "/b/odd"},
		{[]string{"33-amd64", "33-arm64"}, "upgrade.older", "file", "/b/33-amd64"},
		{[]string{"33-amd64", "35-amd64", "35-arm64"}, "upgrade.older", "file", "/b/33-amd64"},
		{[]string{"34-amd64-else"}, "upgrade.same", "file", "/b/34-amd64-else"},
		{[]string{"36-amd64", "36-arm64"}, "upgrade.skipped", "missing", "1.35"},
		{[]string{"2.0"}, "upgrade.skipped", "to", "v2.0.0"},
		{[]string{"35-amd64"}, "upgrade.arch", "arch", "arm64"},
		{[]string{"35-amd64", "35-arm64", "36-arm64"}, "upgrade.arch", "arch", "amd64"},
		{[]string{"35-amd64", "35-arm64", "35-amd64-rpm", "35-amd64-copy"}, "upgrade.twice", "other",
			"/b/35-amd64-copy"},
	} {
		f, dd := upgradable(t)
		f.heads["/b/35-amd64-copy"] = f.heads["/b/35-amd64"]
		_, err := guarded(t, upgradeTo(c.bundles...), dd)
		fault := event.AsFault(err)
		if fault == nil || fault.Code != c.code || fault.Args[c.names] != c.what {
			t.Errorf("%v: %v %+v", c.bundles, err, fault)
		}
	}
	f, d := upgradable(t)
	delete(f.heads, "/b/34-arm64")
	if _, err := guarded(t, upgradeTo("35-amd64"), d); event.AsFault(err).Code != "upgrade.own-bundle" ||
		event.AsFault(err).Args["file"] != "/b/34-arm64" {
		t.Error(err)
	}
}

// An upgrade follows the cluster's own deploy.yaml: a copy may name other bundles, and differ in nothing else.
func TestAnUpgradeFollowsTheClustersOwn(t *testing.T) {
	f, d := upgradable(t)
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	of := func(text string) request.Upgrade {
		q := upgradeTo("35-amd64", "35-arm64")
		q.Source = request.Source{File: file, Text: []byte(text)}
		return q
	}
	same := strings.Replace(twoArches, "/b/34-amd64", "/b/35-amd64", 1) + "# a copy\n"
	p, err := guarded(t, of(same), d)
	if err != nil || p.file != p.own || p.copy == nil || p.copy.file != file {
		t.Fatalf("%v %+v", err, p)
	}
	msgs := p.copyLines(p.route.hops[0].Source)
	if len(msgs) != 1 || msgs[0].Key != "next.source-line" || msgs[0].Args["line"] != "4" ||
		msgs[0].Args["key"] != "package-src.armsrc" || msgs[0].Args["value"] != "/b/35-arm64" {
		t.Errorf("%+v", msgs)
	}
	_, err = guarded(t, of(twoArches+"runtime: docker\n"), d)
	fault := event.AsFault(err)
	if fault == nil || fault.Code != "upgrade.differs" || fault.Calls[0].Verb != "deploy" ||
		fault.Calls[0].File != file {
		t.Errorf("%+v", fault)
	}
	if err := os.Remove(filepath.Join(f.lab.StateDir(), "deploy.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err = guarded(t, of(twoArches), d)
	if fault := event.AsFault(err); fault == nil || fault.Code != "upgrade.no-cluster" {
		t.Error(err)
	}
}

func hop(version, name string) upgrade.Hop {
	return upgrade.Hop{Version: version, Source: config.PackageSource{Type: "tar.gz",
		Bundles: map[string]string{"amd64": "/b/" + name + "-amd64", "arm64": "/b/" + name + "-arm64"}}}
}

func begun(t *testing.T, f *fakes, b upgrade.Begun) {
	t.Helper()
	if b.Hops == nil {
		b.From, b.Hops = "v1.34.2", []upgrade.Hop{hop("v1.35.4", "35"), hop("v1.36.3", "36")}
	}
	if err := b.Write(f.lab.StateDir()); err != nil {
		t.Fatal(err)
	}
}

func TestAnUpgradeUnderWayIsContinued(t *testing.T) {
	f, d := upgradable(t)
	begun(t, f, upgrade.Begun{})
	for _, bundles := range [][]string{
		nil, {"35-amd64", "35-arm64", "36-amd64", "36-arm64"},
		{"33-amd64", "34-arm64", "36-amd64", "36-arm64", "35-amd64", "35-arm64"}, // versions that it has
	} {
		p, err := guarded(t, upgradeTo(bundles...), d)
		if err != nil || strings.Join(p.route.whole(), " ") != "v1.34.2 v1.35.4 v1.36.3" || !p.route.begun.Under() {
			t.Errorf("%v: %v", bundles, err)
		}
	}
	for _, bundles := range [][]string{{"35-amd64", "35-arm64"}, {"35-amd64-rpm"}, {"34-amd64"}} {
		_, err := guarded(t, upgradeTo(bundles...), d)
		if fault := event.AsFault(err); fault == nil || fault.Code != "upgrade.other" || len(fault.Calls) != 2 {
			t.Errorf("%v: %v", bundles, err)
		}
	}
	// The bundles may be in another place by now, or built again.
	for _, arch := range []string{"amd64", "arm64"} {
		f.heads["/b/moved-"+arch] = kubernetes("again", "v1.35.4", arch, "debian 12")
		delete(f.heads, "/b/35-"+arch)
	}
	p, err := guarded(t, upgradeTo("moved-amd64", "moved-arm64", "36-amd64", "36-arm64"), d)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"/b/moved-arm64", "/b/36-arm64"} {
		for what, hops := range map[string][]upgrade.Hop{"route": p.route.hops, "kept": p.route.begun.Hops} {
			if is := hops[i].Source.Bundles["arm64"]; is != want {
				t.Errorf("%s %d: %s", what, i, is)
			}
		}
	}
	_, err = guarded(t, upgradeTo("moved-amd64", "36-amd64", "36-arm64"), d)
	if fault := event.AsFault(err); fault == nil || fault.Code != "upgrade.arch" {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(f.lab.StateDir(), "upgrade.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := guarded(t, upgradeTo(), d); event.AsFault(err) == nil || event.AsFault(err).Code != "state.read" {
		t.Error(err)
	}
}

// Who continues says nothing again: the options are those of the newest upgrade, but for its limit.
func TestOptionsOfAnUpgradeUnderWay(t *testing.T) {
	f, d := upgradable(t)
	begun(t, f, upgrade.Begun{})
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	was := upgradeTo("35-amd64", "35-arm64", "36-amd64", "36-arm64")
	was.Limit, was.Soak, was.Batch, was.Window = []string{"m1"}, time.Hour, "50%", "22:00-06:00"
	log, err := files.Journal().NewRun("upgrade", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	if err := bus.Emit(event.RunStarted{Verb: "upgrade", Options: options(was)}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := guarded(t, upgradeTo(), d)
	if err != nil {
		t.Fatal(err)
	}
	got := p.request.(request.Upgrade)
	if got.Soak != time.Hour || got.Batch != "50%" || got.Window != "22:00-06:00" ||
		len(got.Limit)+len(got.Bundles) > 0 {
		t.Errorf("%+v", got)
	}
	if w, err := p.upgrade(); err != nil || w.plan == nil {
		t.Error(err)
	}
	// Also who says where its bundles lie now.
	p, err = guarded(t, upgradeTo("35-amd64", "35-arm64", "36-amd64", "36-arm64"), d)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.request.(request.Upgrade); got.Soak != time.Hour || got.Batch != "50%" || got.Window != "22:00-06:00" ||
		len(got.Limit) > 0 || len(got.Bundles) != 4 {
		t.Errorf("%+v", got)
	}
}

// What is not allowed while nodes have two versions is refused before a run has a directory.
func TestWhileAnUpgradeIsUnderWay(t *testing.T) {
	f, d := upgradable(t)
	begun(t, f, upgrade.Begun{})
	c := request.OfCluster("sim")
	if err := os.MkdirAll(filepath.Join(f.lab.StateDir(), "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.lab.StateDir(), "pki", "ca.crt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	limited := c
	limited.Limit = []string{"w1"}
	for _, q := range []request.Request{
		request.Deploy{Common: c}, request.Join{Common: c, Nodes: []config.Node{{}}}, request.Renew{Common: c},
		request.Delete{Common: c, Names: []string{"w1"}, Drain: time.Minute},
		request.Cleanup{Common: c, Nodes: []string{"w1"}}, request.Cleanup{Common: limited},
	} {
		for how, err := range map[string]error{
			"a run":     second(Start(t.Context(), q, d)),
			"a plan":    second(Plan(t.Context(), q, d)),
			"questions": second(Questions(t.Context(), q, d, func(context.Context, *Scope) error { return nil })),
		} {
			fault := event.AsFault(err)
			if fault == nil || fault.Code != "upgrade.unfinished" || len(fault.Calls) != 2 ||
				fault.Calls[0].Verb != "upgrade" || fault.Calls[1].Verb != "upgrade --back" ||
				fault.Args["to"] != "v1.35.4" {
				t.Errorf("%s of %s: %v", how, q.Verb(), err)
			}
		}
	}
	if err := second(Preflight(t.Context(), c, d)); event.AsFault(err) == nil ||
		event.AsFault(err).Code != "upgrade.unfinished" {
		t.Error(err)
	}
	runs, err := os.ReadDir(filepath.Join(f.lab.StateDir(), "runs"))
	if len(runs) > 0 {
		t.Error(runs, err)
	}
	if _, err := guarded(t, request.Delete{Common: c, Names: []string{"w1", "m1"}, Force: true,
		Drain: time.Minute}, d); event.AsFault(err) == nil || event.AsFault(err).Code != "upgrade.unfinished" {
		t.Error(err)
	}
	for _, q := range []request.Request{
		request.Cleanup{Common: c}, request.Snapshot{Common: c}, request.Restore{Common: c}, request.Back{Common: c},
		request.Delete{Common: c, Names: []string{"w1"}, Force: true, Drain: time.Minute}, // lost for good
	} {
		if _, err := guarded(t, q, d); err != nil {
			t.Errorf("%s: %v", q.Verb(), err)
		}
	}
	info, err := Cluster(t.Context(), d.Store, "sim")
	want := request.Upgrading{From: "v1.34.2", To: "v1.35.4", Target: "v1.36.3"}
	if err != nil || info.Upgrade == nil || *info.Upgrade != want {
		t.Errorf("%+v %v", info, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTheWayBack(t *testing.T) {
	f, d := upgradable(t)
	q := request.Back{Common: request.OfCluster("sim")}
	_, err := guarded(t, q, d)
	if fault := event.AsFault(err); fault == nil || fault.Code != "upgrade.none" {
		t.Error(err)
	}
	begun(t, f, upgrade.Begun{})
	p, err := guarded(t, q, d)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.back()
	if err != nil || w.next()[0].Key != "next.upgrade-back-rest" || w.next()[0].Call.Verb != "upgrade --back" {
		t.Error(err)
	}
	if err := upgrade.Forget(f.lab.StateDir()); err != nil || w.next()[0].Key != "next.upgrade-back" {
		t.Error(err)
	}
	begun(t, f, upgrade.Begun{Committed: true, Snapshot: "/s/snapshot.db"})
	_, err = guarded(t, q, d)
	fault := event.AsFault(err)
	if fault == nil || fault.Code != "upgrade.no-way-back" || len(fault.Calls) != 3 ||
		fault.Calls[1].Verb != "etcd restore" || fault.Calls[1].Snapshot != "/s/snapshot.db" {
		t.Errorf("%+v", fault)
	}
	for why, b := range map[string]upgrade.Begun{
		"no snapshot": {Committed: true},
		"the last steps": {Committed: true, Snapshot: "/s", From: "v1.33.13",
			Hops: []upgrade.Hop{hop("v1.34.2", "34")}},
		"etcd's own minor": {Committed: true, Snapshot: "/s"},
	} {
		if f.heads["/b/35-amd64"].Members = nil; why == "etcd's own minor" {
			etcd := bundle.Member{Kind: bundle.Binary, Name: "etcd", Version: "v3.7.0"}
			f.heads["/b/35-amd64"].Members = append(f.heads["/b/35-amd64"].Members, etcd)
		}
		begun(t, f, b)
		_, err = guarded(t, q, d)
		if fault := event.AsFault(err); fault == nil || fault.Code != "upgrade.only-forward" || len(fault.Calls) != 1 {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// A restore of the snapshot from before the hop makes the way back free again, and the way forward stays committed;
// another one changes nothing.
func TestARestoreOpensTheWayBack(t *testing.T) {
	f, d := upgradable(t)
	before, other := filepath.Join(t.TempDir(), "before.db"), filepath.Join(t.TempDir(), "other.db")
	for _, path := range []string{before, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := guarded(t, request.Restore{Common: request.OfCluster("sim")}, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.restored(t.Context(), before); err != nil { // no upgrade is under way
		t.Error(err)
	}
	for _, c := range []struct {
		of       string
		restored bool
	}{{other, false}, {before, true}} {
		begun(t, f, upgrade.Begun{Committed: true, Snapshot: before, Soak: time.Now()})
		if err := p.restored(t.Context(), c.of); err != nil {
			t.Fatal(err)
		}
		b, err := upgrade.ReadBegun(f.lab.StateDir())
		if err != nil || !b.Committed || b.Restored != c.restored || len(b.Hops) != 2 {
			t.Errorf("%s: %+v %v", c.of, b, err)
		}
		back, err := guarded(t, request.Back{Common: request.OfCluster("sim")}, d)
		if (err == nil) != c.restored {
			t.Errorf("%s: %v", c.of, err)
		}
		if c.restored && !back.route.begun.Restored {
			t.Errorf("%+v", back.route.begun)
		}
	}
	if f.held[len(f.held)-1] != "upgrade" {
		t.Error(f.held)
	}
}

// When a hop is reached the cluster's own deploy.yaml names its bundles, and nothing else of it changes.
func TestAHopThatIsReached(t *testing.T) {
	f, d := upgradable(t)
	p, err := guarded(t, upgradeTo("35-amd64", "35-arm64"), d)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.reached(t.Context(), p.route.hops[0]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(f.lab.StateDir(), "deploy.yaml"))
	if want := strings.ReplaceAll(twoArches, "/b/34", "/b/35"); err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	if !slices.Contains(f.held, "deploy.yaml") {
		t.Error(f.held)
	}
	w, err := p.upgrade()
	if err != nil || w.next()[0].Key != "next.upgraded" || w.next()[0].Args["version"] != "v1.35.4" {
		t.Error(err)
	}
	begun(t, f, upgrade.Begun{})
	if m := w.next()[0]; m.Key != "next.upgrade-rest" || m.Call == nil || m.Call.Verb != "upgrade" {
		t.Errorf("%+v", m)
	}
}

// A bundle that was replaced by that of another version at the same path says nothing of the cluster: its nodes are
// asked before a run says that there is nothing to do.
func TestABundleThatWasReplaced(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	d.Clock = operationtest.Swift{}
	q := deployOf(f)
	if err := os.WriteFile(q.Source.File, q.Source.Text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := doing(t, q, d); err != nil {
		t.Fatal(err)
	}
	own := f.lab.Cluster.Source.Bundles["amd64"]
	u := request.NewUpgrade(request.OfFile(q.Source.File), own)
	for version, code := range map[string]string{phasestest.Version: "", "v1.35.4": "upgrade.bundle-replaced"} {
		f.heads = map[string]*bundle.Manifest{own: kubernetes("own", version, "amd64", "debian 12")}
		ended, err := doing(t, u, d)
		switch fault := event.AsFault(err); {
		case code == "" && (err != nil || ended.Next[0].Key != "next.upgraded-already"):
			t.Errorf("%s: %+v %v", version, ended, err)
		case code != "" && (fault == nil || fault.Class != event.ClassPreflight || ended.Outcome != event.Failed):
			t.Errorf("%s: %+v %v", version, ended, err)
		}
	}
}

// What resume continues is the verb of the run, with its options; of an upgrade under way it names no bundles, for
// those that it has reached may be gone.
func TestAnUpgradeIsResumed(t *testing.T) {
	f, d := upgradable(t)
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	was := upgradeTo("35-amd64", "35-arm64")
	was.Soak, was.Limit = time.Hour, []string{"m1"}
	resumed := func(q request.Request) request.Request {
		log, err := files.Journal().NewRun(string(q.Verb()), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		err = event.NewBus(time.Now, log).Emit(event.RunStarted{Verb: string(q.Verb()), Options: options(q)})
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := Resume(t.Context(), d.Store, "sim", "", request.Common{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got, is := resumed(was).(request.Upgrade)
	if !is || !slices.Equal(got.Bundles, was.Bundles) || got.Soak != time.Hour || !slices.Equal(got.Limit, was.Limit) {
		t.Errorf("%+v", got)
	}
	begun(t, f, upgrade.Begun{})
	if got, is := resumed(was).(request.Upgrade); !is || len(got.Bundles) > 0 || got.Soak != time.Hour {
		t.Errorf("%+v", got)
	}
	if got, is := resumed(request.Back{}).(request.Back); !is || got.Source.Cluster != "sim" {
		t.Errorf("%+v", got)
	}
}

// doing starts a request and waits for its end.
func doing(t *testing.T, q request.Request, d Deps) (event.RunEnded, error) {
	t.Helper()
	h, err := Start(t.Context(), q, d)
	if err != nil {
		return event.RunEnded{}, err
	}
	_, err = h.Wait(t.Context())
	var ended event.RunEnded
	for rec := range h.Events(t.Context(), 1) {
		if e, is := rec.Event.(event.RunEnded); is {
			ended = e
		}
	}
	return ended, err
}

// released is a deployed cluster with a file of the user's, and a bundle of v1.35.4.
func released(t *testing.T) (f *fakes, d Deps, q request.Deploy, next string) {
	t.Helper()
	f, d = simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	d.Clock = operationtest.Swift{}
	q = deployOf(f)
	if err := os.WriteFile(q.Source.File, q.Source.Text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := doing(t, q, d); err != nil {
		t.Fatal(err)
	}
	next, err := f.lab.Release("v1.35.4")
	if err != nil {
		t.Fatal(err)
	}
	old := f.lab.Cluster.Source.Bundles["amd64"]
	f.heads = map[string]*bundle.Manifest{
		old:  kubernetes("old", phasestest.Version, "amd64", "debian 12"),
		next: kubernetes("next", "v1.35.4", "amd64", "debian 12"),
	}
	return f, d, q, next
}

// Within a limit an upgrade stays under way; without one it comes to its end, with the options that it was begun with.
func TestAnUpgradeWithinALimit(t *testing.T) {
	f, d, _, next := released(t)
	u := request.NewUpgrade(request.OfCluster("sim"), next)
	u.Soak, u.Limit = 0, []string{"m1"}
	ended, err := doing(t, u, d)
	if err != nil || ended.Next[0].Key != "next.upgrade-rest" {
		t.Fatalf("%+v %v", ended, err)
	}
	if b, err := upgrade.ReadBegun(f.lab.StateDir()); err != nil || !b.Under() {
		t.Errorf("%+v %v", b, err)
	}
	if is := f.lab.Nodes["w1"].Runs("kubelet.service"); strings.Contains(is, "v1.35.4") {
		t.Error("w1 runs", is)
	}
	allAt(t, f, "the first part", 2, "m1")
	ended, err = doing(t, request.NewUpgrade(request.OfCluster("sim")), d)
	if err != nil || ended.Next[0].Key != "next.upgraded" {
		t.Fatalf("%+v %v", ended, err)
	}
	if is := f.lab.Nodes["w1"].Runs("kubelet.service"); !strings.Contains(is, "v1.35.4") {
		t.Error("w1 runs", is)
	}
	allAt(t, f, "the rest", 3, "m1", "w1")
}

// The whole way on simulated nodes: a soak that fails, the way back, the upgrade to its end, and once more.
func TestAnUpgradeFromItsRequestToItsEnd(t *testing.T) {
	long(t)
	f, d, q, next := released(t)
	c := request.OfFile(q.Source.File)
	u := request.NewUpgrade(c, next)
	u.Soak, u.Probe = 0, "false"
	ended, err := doing(t, u, d)
	if fault := event.AsFault(err); fault == nil || ended.Outcome != event.Failed {
		t.Fatal(err)
	}
	for _, m := range ended.Next {
		if m.Key == "next.resume" && (m.Call.Verb != "upgrade" || m.Call.Probe != "false" || m.Call.Soak == nil) {
			t.Errorf("%+v", m.Call)
		}
	}
	b, err := upgrade.ReadBegun(f.lab.StateDir())
	if err != nil || !b.Under() || b.Committed || b.Snapshot == "" {
		t.Fatalf("%+v %v", b, err)
	}
	if _, err := doing(t, q, d); event.AsFault(err) == nil || event.AsFault(err).Code != "upgrade.unfinished" {
		t.Fatal(err)
	}
	if ended, err = doing(t, request.Back{Common: c}, d); err != nil || ended.Next[0].Key != "next.upgrade-back" {
		t.Fatalf("%+v %v", ended, err)
	}
	allAt(t, f, "the upgrade and its way back", 3, "m1", "w1")
	u.Probe = "true"
	if would, err := Plan(t.Context(), u, d); err != nil || would.Steps == 0 {
		t.Fatalf("%+v %v", would, err)
	}
	if ended, err = doing(t, u, d); err != nil || ended.Next[0].Key != "next.upgraded" ||
		ended.Next[1].Key != "next.source-line" || ended.Next[1].Args["value"] != next {
		t.Fatalf("%+v %v", ended, err)
	}
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := files.Config()
	is, _ := config.Load(text, "f")
	if err != nil || is == nil || is.Source.Bundles["amd64"] != next ||
		!config.SameButSources(text, q.Source.Text, "f") {
		t.Errorf("%v\n%s", err, text)
	}
	if mine, err := os.ReadFile(q.Source.File); err != nil || string(mine) != string(q.Source.Text) {
		t.Error("the user's file was changed", err)
	}
	if b, err := upgrade.ReadBegun(f.lab.StateDir()); err != nil || b.Under() {
		t.Errorf("%+v %v", b, err)
	}
	if ended, err = doing(t, u, d); err != nil || ended.Outcome != event.OK ||
		ended.Next[0].Key != "next.upgraded-already" {
		t.Fatalf("%+v %v", ended, err)
	}
}

// Before the run it is asked who signed the bundles of all versions on the way, and the versions are there to confirm.
func TestAllBundlesOfAnUpgradeAreVouchedFor(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	saveOwn(t, f, string(f.lab.DeployYAML()))
	f.heads = map[string]*bundle.Manifest{
		f.lab.Cluster.Source.Bundles["amd64"]: kubernetes("old", phasestest.Version, "amd64", "debian 12"),
		"/b/35":                               kubernetes("35", "v1.35.4", "amd64", "debian 12"),
		"/b/36":                               kubernetes("36", "v1.36.3", "amd64", "debian 12"),
		"/b/36-rpm":                           kubernetes("rpm", "v1.36.3", "amd64", "openEuler 22.03"),
	}
	_, err := Questions(t.Context(), upgradeTo("36-rpm", "36", "35"), d, func(_ context.Context, s *Scope) error {
		if got := strings.Join(s.Versions(), " "); got != "v1.34.2 v1.35.4 v1.36.3" || len(s.Targets()) != 1 {
			t.Error(got, s.Targets())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, b := range f.vouch {
		paths = append(paths, b.Path)
	}
	if got := strings.Join(paths[1:], " "); got != "/b/35 /b/36 /b/36-rpm" {
		t.Error(paths)
	}
}
