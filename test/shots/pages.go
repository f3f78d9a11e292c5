package main

import (
	"context"
	"fmt"
	"image/color"
	"net/netip"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/status"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
)

// pageShot is a picture of a page around a run: the page, and the keys that lead to what is shown.
type pageShot struct {
	name string
	page func(d *pages.Deps) frame.Page
	keys []string
	also bool // on a light terminal too
}

func pageShots() []pageShot {
	rack, edge := jumpClusters()[0], jumpClusters()[1]
	menu := func(d *pages.Deps) frame.Page { return pages.NewMenu(d) }
	return []pageShot{
		{name: "menu", page: menu, also: true},
		{name: "build", page: building},
		{name: "building", page: building, keys: []string{"enter", "down", "space", "tab", "tab", "tab", "enter"}},
		{name: "help", page: func(d *pages.Deps) frame.Page { return pages.NewRuns(d, "") }, keys: []string{"?"}},
		{name: "runs", page: func(d *pages.Deps) frame.Page { return pages.NewRuns(d, "") },
			keys: []string{"down", "down"}},
		{name: "status", page: func(d *pages.Deps) frame.Page {
			return pages.NewTell(d, "menu.status", rack.Name, backend.Status{Common: request.OfCluster(rack.Name)})
		}},
		{name: "file", page: func(d *pages.Deps) frame.Page { return pages.NewReview(d, "/srv/eggo/deploy.yaml") }},
		{name: "bundle", page: func(d *pages.Deps) frame.Page { return pages.NewLook(d, "/srv/eggo-amd64.tar.gz") },
			keys: []string{"v"}},
		{name: "remove", page: func(d *pages.Deps) frame.Page { return pages.NewRemove(d, rack) },
			keys: []string{"down", "down", "down", "space", "down", "space"}},
		{name: "upgrade", also: true, page: func(d *pages.Deps) frame.Page { return pages.NewUpgrade(d, edge) },
			keys: []string{"space", "down", "space"}},
		{name: "upgrade-check", page: func(d *pages.Deps) frame.Page { return pages.NewUpgrade(d, edge) },
			keys: []string{"space", "down", "space", "end", "pgdown", "pgdown", "pgdown", "enter"}},
		{name: "cleanup", page: func(d *pages.Deps) frame.Page { return pages.NewCleanup(d, rack) },
			keys: []string{"enter", "=rack"}},
		{name: "first-contact", page: func(d *pages.Deps) frame.Page {
			return pages.NewLaunch(d, backend.Start{Request: request.Deploy{Common: request.OfCluster(rack.Name)}})
		}},
	}
}

// screen draws the page.
func (s pageShot) screen(lang i18n.Lang, dark bool, w, h int) string {
	app := ui.New(s.page(jumpDeps()), ui.Options{Lang: lang, Now: func() time.Time { return jumpNow() }})
	do(app, func() tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} })
	if !dark {
		do(app, func() tea.Msg { return tea.BackgroundColorMsg{Color: color.White} })
	}
	do(app, app.Init())
	app.View()
	enter(app, s.keys)
	return app.View().Content
}

func jumpNow() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func jumpNodes(n int) []config.Node {
	var out []config.Node
	for i := range n {
		x := config.Node{Name: fmt.Sprintf("node-%d", i+1), Arch: "amd64",
			IP: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 11)}), Roles: []bundle.Role{bundle.Worker}}
		switch {
		case i < 3:
			x.Roles = []bundle.Role{bundle.ControlPlane, bundle.Etcd}
		case i == 3:
			x.Roles = []bundle.Role{bundle.Worker, bundle.LoadBalancer}
		}
		out = append(out, x)
	}
	return out
}

// jumpClusters are those of a jump host on which much has happened.
func jumpClusters() []request.ClusterRuns {
	run := func(cluster, verb, status string, ago, took time.Duration) request.Run {
		at := jumpNow().Add(-ago)
		return request.Run{Ref: request.Ref{Cluster: cluster, Run: at.Format("20060102T150405Z") + "-" + verb},
			Verb: verb, Version: "v1.2.0", Status: status, At: at, Took: took}
	}
	stopped := run("rack-7", "deploy", request.Failed, 20*time.Minute, 4*time.Minute)
	stopped.Fault = event.NewFault(event.ClassFailed, "run.failed", nil, "count", "2")
	return []request.ClusterRuns{
		of("rack-7", request.Failed, 3, 5, stopped),
		of("edge-berlin", request.Installed, 1, 2,
			run("edge-berlin", "join", request.Installed, 52*time.Hour, 95*time.Second),
			run("edge-berlin", "deploy", request.Installed, 76*time.Hour, 6*time.Minute)),
		of("shanghai-2", request.Installed, 3, 97,
			run("shanghai-2", "delete", request.Interrupted, 26*time.Hour, 12*time.Minute),
			run("shanghai-2", "deploy", request.Installed, 12*24*time.Hour, 31*time.Minute)),
		{ClusterInfo: request.ClusterInfo{Name: "trial", Status: request.Removed},
			Runs: []request.Run{run("trial", "cleanup", request.Removed, 51*24*time.Hour, 20*time.Second)}},
	}
}

// of returns a cluster with its runs.
func of(name, status string, masters, workers int, runs ...request.Run) request.ClusterRuns {
	return request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: name, Status: status, Masters: masters,
		Workers: workers, File: "/var/lib/eggo/" + name + "/deploy.yaml"},
		Nodes: jumpNodes(masters + workers), Runs: runs}
}

// jumpDeps are the services of a jump host that there is not.
func jumpDeps() *pages.Deps {
	nothing := func() frame.Page { return nil }
	return &pages.Deps{Version: "v1.2.0", Install: nothing, S: &uitest.Host{
		OnClusters: func(context.Context) ([]request.ClusterRuns, error) { return jumpClusters(), nil },
		OnOpen: func(context.Context, request.Ref, float64) (backend.Board, error) {
			return backend.Board{Feed: &reel{}}, nil
		},
		OnLaunch: func(ctx context.Context, _ backend.Start, to ask.Asker) (request.Ref, error) {
			var keys []ask.HostKey
			for i, n := range jumpNodes(3) {
				keys = append(keys, ask.HostKey{Node: n.Name, Addr: n.IP.String() + ":22", Type: "ssh-ed25519",
					Fingerprint: "SHA256:1BvT3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7u" + string("ABC"[i]) + "k"})
			}
			known := func(string, []ask.HostKey) ([]ask.KeyCheck, error) { return nil, nil }
			_, err := to.Ask(ctx, ask.HostKeys{Keys: keys, Known: known})
			return request.Ref{}, err
		},
		OnRead: jumpTold,
		OnDemo: func(context.Context) (backend.Board, error) { return backend.Board{Feed: &reel{}}, nil },
		OnCheck: func(_ context.Context, file string) (backend.Checked, error) {
			c := jumpClusters()[0]
			c.Status, c.File = request.Unknown, file
			return backend.Checked{Cluster: c, Facts: []event.Msg{event.M("file.fact.network", "pods", "10.244.0.0/16",
				"services", "10.32.0.0/16"), event.M("file.fact.bundle", "path", "/srv/eggo-amd64.tar.gz")},
				Problems: config.Problems{{Line: 7, Col: 3, Key: "masters", Severity: event.Warning,
					Code: "config.etcd-even", Args: map[string]string{"count": "2"}}}}, nil
		},
		OnBundle: func(context.Context, string) (backend.Bundle, error) {
			return backend.Bundle{Name: "eggo", Kubernetes: "v1.34.2", Arch: "amd64", OS: "debian 12 bookworm",
				ID: "5f1c0a97d2be44e1", Size: 684 << 20, Groups: []backend.Group{
					{Kind: "images", Size: 412 << 20, Members: []backend.Member{{Name: "registry.k8s.io/pause:3.10.1",
						Version: "linux/amd64", Size: 300 << 10},
						{Name: "registry.k8s.io/coredns/coredns:v1.12.1", Version: "linux/amd64", Size: 20 << 20},
						{Name: "ghcr.io/flannel-io/flannel:v0.27.4", Version: "linux/amd64", Size: 34 << 20}}},
					{Kind: "binary", Size: 210 << 20, Members: []backend.Member{{Name: "kube-apiserver",
						Version: "v1.34.2", Size: 72 << 20}, {Name: "kubelet", Version: "v1.34.2", Size: 58 << 20},
						{Name: "etcd", Version: "v3.6.5", Size: 25 << 20}}},
					{Kind: "deb", Size: 60 << 20, Members: []backend.Member{{Name: "containerd",
						Version: "1.6.20~ds1-1+deb12u3", Size: 26 << 20},
						{Name: "conntrack", Version: "1:1.4.7-1+b2", Size: 35 << 10}}},
				}}, nil
		},
		OnVerify: func(_ context.Context, _ string, progress func(done, total int64)) error {
			progress(1, 1)
			return nil
		},
		OnUpgrades: jumpUpgrades,
		OnWay: func(context.Context, string, []string) (backend.Way, error) {
			return backend.Way{From: "v1.34.2", Hops: []backend.Hop{{Version: "v1.35.4", Back: backend.BackInSoak,
				Etcd: true, Arches: []string{"amd64", "arm64"}}}}, nil
		},
	}, Builds: builder{}}
}

// jumpUpgrades are bundles of two newer versions.
func jumpUpgrades(context.Context, string, []string) (backend.Upgrades, error) {
	out := backend.Upgrades{From: "v1.34.2", Arches: []string{"amd64", "arm64"}}
	for _, x := range [][2]string{{"v1.35.4", "amd64"}, {"v1.35.4", "arm64"}, {"v1.36.1", "amd64"}} {
		out.Bundles = append(out.Bundles, backend.Found{Path: "/srv/eggo/eggo-" + x[0] + "-" + x[1] + ".tar.gz",
			Bundle: backend.Bundle{Kubernetes: x[0], Arch: x[1], OS: "debian 12 bookworm", Size: 684 << 20}})
	}
	return out, nil
}

// jumpTold answers queries as a cluster would.
func jumpTold(_ context.Context, q backend.Query, _ ask.Asker) (backend.Answer, error) {
	if _, is := q.(backend.Inventory); is {
		return func(p *i18n.Printer) document.Document { return present.Inventory(p, jumpInventory()...) }, nil
	}
	if x, is := q.(backend.Plan); is {
		return func(p *i18n.Printer) document.Document { return present.Plan(p, x.Call().Verb, jumpPlan()) }, nil
	}
	return func(p *i18n.Printer) document.Document { return present.Status(p, jumpStatus()) }, nil
}

// jumpPlan is a plan of an upgrade.
func jumpPlan() *operation.PlanResult {
	out := &operation.PlanResult{Cluster: "edge-berlin", Steps: 6}
	for i, n := range jumpNodes(4)[2:] {
		x := request.PlannedNode{Node: n.Name, Address: n.IP.String(), Upload: int64(312-40*i) << 20}
		for _, step := range []string{"infrastructure.send-images", "control-plane.turn", "nodes.turn"} {
			if i == 0 || step != "control-plane.turn" {
				x.Changes = append(x.Changes, request.PlannedChange{Desc: event.M("step." + step)})
			}
		}
		out.Nodes = append(out.Nodes, x)
	}
	return out
}

func jumpInventory() []operation.NodeInventory {
	var out []operation.NodeInventory
	for _, n := range jumpNodes(8) {
		out = append(out, operation.NodeInventory{Node: n, Inventory: phases.Inventory{
			Units:    []string{"kubelet.service", "containerd.service"},
			Packages: []string{"containerd", "conntrack", "socat"}, Files: 41, Images: 9,
			Directories: []string{"/etc/kubernetes", "/var/lib/kubelet", "/opt/cni"},
		}})
	}
	return out
}

func jumpStatus() *operation.StatusResult {
	st := &phases.Status{Cluster: "rack-7", Healthy: true, Workloads: []status.Workload{
		{Kind: "DaemonSet", Name: "kube-flannel/kube-flannel-ds", Ready: 8, Want: 8},
		{Kind: "Deployment", Name: "kube-system/coredns", Ready: 2, Want: 2},
	}}
	for i, n := range jumpNodes(8) {
		node := phases.NodeStatus{Node: n.Name, Address: n.IP.String(), Roles: n.RoleNames(), Reached: true,
			Registered: true, Ready: true, Kubelet: "v1.34.2", Certificates: []status.Certificate{
				{Path: "/etc/kubernetes/pki/x.crt", Ends: jumpNow().AddDate(1, 0, 0)}}}
		for range 7 {
			node.Components = append(node.Components, status.Component{State: "active"})
		}
		st.Nodes = append(st.Nodes, node)
		if i < 3 {
			st.Etcd = append(st.Etcd, status.Member{Node: n.Name, Healthy: true, Leader: i == 1, Version: "3.6.5",
				DBBytes: int64(6+i) << 20})
		}
	}
	return &operation.StatusResult{Status: st}
}
