package pages

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// bundles of two versions lie on a machine; one that is named is none.
func upgrades(_ context.Context, _ string, paths []string) (backend.Upgrades, error) {
	out := backend.Upgrades{From: "v1.34.2", Arches: []string{"amd64", "arm64"}}
	for _, x := range [][2]string{{"v1.35.4", "amd64"}, {"v1.35.4", "arm64"}, {"v1.36.0", "amd64"}} {
		out.Bundles = append(out.Bundles, backend.Found{Path: "/srv/eggo/eggo-" + x[0] + "-" + x[1] + ".tar.gz",
			Bundle: backend.Bundle{Kubernetes: x[0], Arch: x[1], OS: "debian 12 bookworm", Size: 612 << 20}})
	}
	for _, p := range paths {
		x := backend.Found{Path: p, Named: true,
			Bundle: backend.Bundle{Kubernetes: "v1.36.0", Arch: "arm64", OS: "debian 12 bookworm", Size: 598 << 20}}
		if p == "/tmp/none" {
			x.Fault = event.NewFault(event.ClassBundle, "bundle.none-here", nil, "file", p)
		}
		out.Bundles = append(out.Bundles, x)
	}
	return out, nil
}

func way(_ context.Context, _ string, bundles []string) (backend.Way, error) {
	w := backend.Way{From: "v1.34.2", Hops: []backend.Hop{
		{Version: "v1.35.4", Arches: []string{"amd64", "arm64"}, Back: backend.BackInSoak, Soaks: true, Etcd: true}}}
	if len(bundles) > 2 {
		w.Hops = append(w.Hops, backend.Hop{Version: "v1.36.0", Arches: []string{"amd64"}, Back: backend.BackInSoak,
			Soaks: true})
	}
	return w, nil
}

func underWay() request.ClusterRuns {
	c := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "rack-7", Status: request.Failed, Masters: 3,
		Workers: 5,
		File:    "/var/lib/eggo/rack-7/deploy.yaml"},
		Nodes: nodes(8),
		Runs: []request.Run{run("rack-7", "20261121T114000Z-upgrade",
			"upgrade", request.Interrupted, 20*time.Minute, 4*time.Minute)}}
	c.Upgrade = &request.Upgrading{From: "v1.34.2", To: "v1.35.4", Target: "v1.36.0",
		Snapshot: "/var/lib/eggo/rack-7/snapshots/before-v1.35.4.db"}
	return c
}

// From the choice of bundles to the run: what is chosen and typed is what is asked for, and what is wrong is said
// before a node is asked.
func TestUpgrade(t *testing.T) {
	w := &world{clusters: clusters()[:1]}
	a := begin(t, NewMenu(w.deps()), i18n.English, false, 120, 40)
	uitest.Keys(t, a, "6")
	uitest.Has(t, a, "Kubernetes v1.34.2", "[ ] v1.35.4", "[ ] v1.36.0", "Soak time", "10m")
	uitest.Keys(t, a, "end", "enter")
	uitest.Has(t, a, "Select at least one bundle.")
	uitest.Keys(t, a, "home", "space", "down", "space")
	uitest.Has(t, a, "v1.34.2 → v1.35.4 (amd64, arm64)", "Upgrade the control plane; the API is unavailable",
		"v1.35.4: can be reverted until the soak has ended")
	uitest.Keys(t, a, "down", "down") // the path
	uitest.Type(t, a, "/tmp/none")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "/tmp/none")
	uitest.Keys(t, a, "down", "backspace", "backspace", "backspace") // the soak time
	uitest.Type(t, a, "long")
	uitest.Keys(t, a, "end", "pgdown", "pgdown")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "“long” is not a valid duration.")
	uitest.Keys(t, a, "pgup", "up", "up", "backspace", "backspace", "backspace", "backspace")
	uitest.Type(t, a, "1h")
	uitest.Keys(t, a, "down", "backspace")
	uitest.Type(t, a, "some")
	uitest.Has(t, a, "“some” is not a valid batch.") // as it is typed
	uitest.Keys(t, a, "pgdown", "pgdown", "enter")
	if len(w.asked) > 0 {
		t.Fatalf("asked %+v", w.asked)
	}
	uitest.Keys(t, a, "pgup", "up", "backspace", "backspace", "backspace", "backspace")
	uitest.Type(t, a, "20%")
	uitest.Keys(t, a, "down", "down")
	uitest.Type(t, a, "22:00-06:00")
	uitest.Keys(t, a, "down")
	uitest.Type(t, a, "curl -f http://shop")
	uitest.Keys(t, a, "down", "space", "down", "space", "down", "enter")
	uitest.Has(t, a, "Order of the upgrade", "Soak for 1h", "batch: 20%", "Way back", "v1.34.2")
	q := request.Upgrade{Common: request.OfCluster("lager-süd"), Drain: request.DrainTimeout, Force: true,
		Batch: "20%", Soak: time.Hour, Probe: "curl -f http://shop", Window: "22:00-06:00", Packages: true,
		Bundles: []string{"/srv/eggo/eggo-v1.35.4-amd64.tar.gz", "/srv/eggo/eggo-v1.35.4-arm64.tar.gz"}}
	if want := []backend.Query{backend.Plan{Request: q}}; !reflect.DeepEqual(w.asked, want) {
		t.Errorf("asked %+v\nwant %+v", w.asked, want)
	}
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Upgrade lager-süd?", "Upgrades 3 nodes from v1.34.2 to v1.35.4.", "until the soak has ended")
	if len(w.launched) > 0 {
		t.Fatal("it was not confirmed")
	}
	uitest.Keys(t, a, "y")
	w.began(t, backend.Start{Request: q})
}

// Where bundles of just one newer version were found, they are chosen; what is named is chosen as well.
func TestTheOnlyNewerVersionIsChosen(t *testing.T) {
	w := &world{}
	d := w.deps()
	d.S.(*uitest.Host).OnUpgrades = func(ctx context.Context, c string, paths []string) (backend.Upgrades, error) {
		got, _ := upgrades(ctx, c, paths)
		got.Bundles = slices.Delete(got.Bundles, 2, 3)
		copied := got.Bundles[0]
		copied.Path = "/mnt/copy-of-it.tar.gz"
		got.Bundles = append(got.Bundles, copied)
		return got, nil
	}
	p := NewUpgrade(d, clusters()[0])
	a := begin(t, p, i18n.English, false, 80, 24)
	if got := p.paths(); len(got) != 2 || slices.Contains(got, "/mnt/copy-of-it.tar.gz") {
		t.Error(got)
	}
	uitest.Keys(t, a, "down")
	uitest.Keys(t, a, "down", "down")
	uitest.Type(t, a, "/mnt/b.tar.gz")
	uitest.Keys(t, a, "enter")
	if got := p.paths(); !slices.Contains(got, "/mnt/b.tar.gz") || len(got) != 3 {
		t.Error(got)
	}
	uitest.Has(t, a, "→ v1.36.0")
}

// What preflight has found is shown though nothing can be planned; the run does not begin from there.
func TestFindingsOfARefusedUpgrade(t *testing.T) {
	w := &world{}
	d := w.deps()
	d.S.(*uitest.Host).OnRead = func(context.Context, backend.Query, ask.Asker) (backend.Answer, error) {
		return func(*i18n.Printer) document.Document {
			return document.Document{document.Text("node-2 has too little space")}
		}, event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", "1")
	}
	q, _ := backend.UsualUpgrade().Request("rack-7", nil)
	x, _ := way(t.Context(), "", nil)
	a := begin(t, newUpgradeCheck(d, clusters()[2], x, q), i18n.English, false, 80, 40)
	uitest.Has(t, a, "Preflight found 1 error", "node-2 has too little space", "Order of the upgrade")
	uitest.Keys(t, a, "enter")
	if strings.Contains(uitest.Screen(a), "Upgrade rack-7?") {
		t.Error("it can be begun")
	}
}

// An upgrade under way is continued or reverted first; what else would change the cluster is not possible, and why.
func TestAnUpgradeUnderWay(t *testing.T) {
	c := underWay()
	for key, want := range map[string]request.Request{
		"u": request.NewUpgrade(request.OfCluster("rack-7")),
		"t": request.Back{Common: request.OfCluster("rack-7")},
	} {
		w := &world{clusters: []request.ClusterRuns{c}}
		a := begin(t, NewMenu(w.deps()), i18n.English, false, 80, 24)
		uitest.Has(t, a, "u  Continue the upgrade", "t  Revert the upgrade")
		uitest.Keys(t, a, "4")
		uitest.Has(t, a, "u  Continue the upgrade") // nothing is added to it
		uitest.Keys(t, a, key)
		uitest.Has(t, a, "v1.34.2")
		uitest.Keys(t, a, "enter")
		uitest.Has(t, a, "the upgrade of rack-7?")
		if len(w.launched) > 0 {
			t.Fatal("it was not confirmed")
		}
		uitest.Keys(t, a, "y")
		w.began(t, backend.Start{Request: want, Again: key == "u"})
	}
	c.Upgrade.Committed = true
	a := begin(t, NewMenu((&world{clusters: []request.ClusterRuns{c}}).deps()), i18n.English, false, 80, 24)
	uitest.Keys(t, a, "down")
	uitest.Has(t, a, "only a restore of the etcd snapshot leads back")
}

func TestUpgradeGoldens(t *testing.T) {
	c := clusters()[2]
	c.Status = request.Installed
	d := (&world{clusters: []request.ClusterRuns{c}}).deps()
	begun := (&world{clusters: []request.ClusterRuns{underWay()}}).deps()
	w, _ := way(t.Context(), "", make([]string, 3))
	w.Hops = append([]backend.Hop{{Version: "v1.34.5", Arches: []string{"amd64"}, Back: backend.BackToTheEnd}},
		w.Hops...)
	q, _ := backend.UsualUpgrade().Request("rack-7", []string{"/srv/eggo/eggo-v1.35.4-amd64.tar.gz"})
	for name, page := range map[string]func() frame.Page{
		"upgrade":         func() frame.Page { return NewUpgrade(d, c) },
		"upgradecheck":    func() frame.Page { return newUpgradeCheck(d, c, w, q) },
		"upgradesure":     func() frame.Page { return newUpgradeCheck(d, c, w, q) },
		"upgradingmenu":   func() frame.Page { return NewMenu(begun) },
		"upgradeon":       func() frame.Page { return NewUpgradeOn(begun, underWay()) },
		"upgradebacksure": func() frame.Page { return NewUpgradeBack(begun, underWay()) },
	} {
		for _, shape := range uitest.Crossed() {
			golden(t, name, shape, page())
		}
	}
}
