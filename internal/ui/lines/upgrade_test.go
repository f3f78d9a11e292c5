package lines

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// upgradable is a menu at which a cluster can be upgraded with bundles of these versions.
func upgradable(lang i18n.Lang, typed string, versions ...string) (*menu, interface{ String() string }, *files) {
	m, said, f := dialogueAt(lang, typed)
	m.svc.(*host).OnUpgrades = func(_ context.Context, _ string, paths []string) (backend.Upgrades, error) {
		out := backend.Upgrades{From: "v1.34.2", Arches: []string{"amd64", "arm64"}}
		for _, v := range versions {
			out.Bundles = append(out.Bundles, backend.Found{Path: "/b/" + v + ".tar.gz",
				Bundle: backend.Bundle{Kubernetes: v, Arch: "amd64"}})
		}
		for _, p := range paths {
			x := backend.Found{Path: p, Bundle: backend.Bundle{Kubernetes: "v1.35.4", Arch: "arm64"}}
			if p == "/none" {
				x.Fault = event.NewFault(event.ClassBundle, "bundle.none-here", nil, "file", p)
			}
			out.Bundles = append(out.Bundles, x)
		}
		return out, nil
	}
	m.svc.(*host).OnWay = func(_ context.Context, _ string, bundles []string) (backend.Way, error) {
		w := backend.Way{From: "v1.34.2", Hops: []backend.Hop{{Version: "v1.35.4", Arches: []string{"amd64"},
			Back: backend.BackInSoak, Soaks: true}}}
		switch all := strings.Join(bundles, " "); {
		case all == "/b/v1.36.0.tar.gz":
			return w, event.NewFault(event.ClassUsage, "upgrade.skipped", nil, "from", "1.34", "to", "v1.36.0",
				"missing", "1.35")
		case strings.Contains(all, "v1.36"):
			w.Hops = append(w.Hops, backend.Hop{Version: "v1.36.0", Back: backend.BackInSoak, Soaks: true})
		}
		return w, nil
	}
	m.svc.(*host).OnRead = func(context.Context, backend.Query, ask.Asker) (backend.Answer, error) {
		return func(*i18n.Printer) document.Document {
			return document.Document{document.Text("what would be done")}
		}, nil
	}
	return m, said, f
}

// Bundles are chosen by numbers or paths, Enter takes those of the only newer version; options are asked for when they
// are to be changed; what happens is shown before, and nothing begins without a yes.
func TestUpgradeLineByLine(t *testing.T) {
	t.Parallel()
	of := request.OfCluster("rack")
	for name, c := range map[string]struct {
		typed    []string
		versions []string
		want     *request.Upgrade
		said     []string
	}{
		"the only version": {[]string{"", "n", "y"}, []string{"v1.35.4"}, &request.Upgrade{Common: of, Batch: "1",
			Soak: 10 * time.Minute, Drain: request.DrainTimeout, Bundles: []string{"/b/v1.35.4.tar.gz"}},
			[]string{"1  v1.35.4  amd64", "for arm64 is selected", "1  Take a snapshot", "until the soak has ended",
				"what would be done", "Upgrades 2 nodes from v1.34.2 to v1.35.4"}},
		"two, and options": {[]string{"2", "1 2", "y", "soon", "25%", "", "-", "-", "n", "n", "1h", "", "90s",
			"22:00-06:00", "true", "y", "y", "y"}, []string{"v1.35.4", "v1.36.0"}, &request.Upgrade{Common: of,
			Bundles: []string{"/b/v1.35.4.tar.gz", "/b/v1.36.0.tar.gz"}, Soak: time.Hour, Batch: "25%",
			Drain: 90 * time.Second, Window: "22:00-06:00", Probe: "true", Packages: true, Force: true},
			[]string{"a bundle of 1.35 is missing",
				"Also select a bundle of Kubernetes 1.35", "“soon” is not a valid duration", "Soak for 1h",
				"batch: 25%", "each of the 2 versions"}},
		"a path": {[]string{"/none", "/b/arm", "3", "n", "y"}, []string{"v1.35.4"}, &request.Upgrade{Common: of,
			Batch: "1", Soak: 10 * time.Minute, Drain: request.DrainTimeout, Bundles: []string{"/b/arm"}},
			[]string{"bundle.none-here", "3  v1.35.4  arm64"}},
		"no":   {[]string{"1", "n", "n"}, []string{"v1.35.4"}, nil, nil},
		"back": {[]string{""}, []string{"v1.35.4", "v1.36.0"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, said, f := upgradable(i18n.English, strings.Join(c.typed, "\n")+"\n", c.versions...)
			_ = m.upgrade(t.Context(), rack())
			plain(t, said.String())
			says(t, said.String(), c.said...)
			switch {
			case c.want == nil && len(f.begun) > 0:
				t.Errorf("%+v began\n%s", f.begun, said)
			case c.want != nil && (len(f.begun) != 1 || !equalCalls(f.begun[0].Request, *c.want)):
				t.Errorf("%+v began, want %+v\n%s", f.begun, c.want, said)
			}
		})
	}
}

// What preflight has found is said though nothing can be planned, and nothing begins.
func TestFindingsOfARefusedUpgradeLineByLine(t *testing.T) {
	t.Parallel()
	m, said, f := upgradable(i18n.English, "\nn\ny\n", "v1.35.4")
	m.svc.(*host).OnRead = func(context.Context, backend.Query, ask.Asker) (backend.Answer, error) {
		return func(*i18n.Printer) document.Document {
			return document.Document{document.Text("node-2 has too little space")}
		}, event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", "1")
	}
	if err := m.upgrade(t.Context(), rack()); err == nil || len(f.begun) > 0 {
		t.Errorf("%v, %+v began", err, f.begun)
	}
	says(t, said.String(), "node-2 has too little space")
}

// An upgrade under way is continued or reverted, after a yes, also when what is left of it cannot be seen.
func TestAnUpgradeUnderWayLineByLine(t *testing.T) {
	t.Parallel()
	c := rack()
	c.Upgrade = &request.Upgrading{From: "v1.34.2", To: "v1.35.4", Target: "v1.35.4"}
	for key, want := range map[string]request.Request{
		"u": request.NewUpgrade(request.OfCluster("rack")),
		"t": request.Back{Common: request.OfCluster("rack")},
	} {
		for _, yes := range []string{"y", "n"} {
			m, said, f := upgradable(i18n.Chinese, key+"\n"+yes+"\n")
			list := []request.ClusterRuns{c}
			m.svc.(*host).OnClusters = func(context.Context) ([]request.ClusterRuns, error) { return list, nil }
			m.svc.(*host).OnRead = func(context.Context, backend.Query, ask.Asker) (backend.Answer, error) {
				return nil, event.NewFault(event.ClassFailed, "ssh.unreachable", nil, "addr", "192.0.2.1")
			}
			_ = m.turn(t.Context())
			says(t, said.String(), "u  继续升级: rack", "t  回退升级: rack", "请先继续或回退", "v1.34.2")
			if began := len(f.begun) == 1 && equalCalls(f.begun[0].Request, want); began != (yes == "y") {
				t.Errorf("%s, %s: %+v began\n%s", key, yes, f.begun, said)
			}
		}
	}
}
