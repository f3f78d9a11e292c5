package pages

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

var _ = flag.Bool("update", false, "write the goldens")

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

func run(cluster, id, verb, status string, ago, took time.Duration) request.Run {
	return request.Run{Ref: request.Ref{Cluster: cluster, Run: id}, Verb: verb, Version: "v1.2.0", Status: status,
		At: now.Add(-ago), Took: took}
}

func nodes(n int) []config.Node {
	var out []config.Node
	for i := range n {
		x := config.Node{Name: fmt.Sprintf("node-%d", i+1), Arch: "amd64",
			IP: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 11)}), Roles: []bundle.Role{bundle.Worker}}
		if i < 3 {
			x.Roles = []bundle.Role{bundle.ControlPlane, bundle.Etcd}
		}
		out = append(out, x)
	}
	return out
}

// clusters of a machine on which much has happened.
func clusters() []request.ClusterRuns {
	stopped := run("rack-7", "20261121T114000Z-deploy", "deploy", request.Failed, 20*time.Minute, 4*time.Minute)
	stopped.Fault = event.NewFault(event.ClassFailed, "run.failed", nil, "count", "2")
	return []request.ClusterRuns{
		of("lager-süd", request.Installed, 1, 2,
			run("lager-süd", "20261119T081500Z-join", "join", request.Installed, 52*time.Hour, 95*time.Second),
			run("lager-süd", "20261118T081500Z-deploy", "deploy", request.Installed, 76*time.Hour, 6*time.Minute)),
		{ClusterInfo: request.ClusterInfo{Name: "old", Status: request.Removed},
			Runs: []request.Run{run("old", "20261001T081500Z-cleanup", "cleanup", request.Removed, 51*24*time.Hour,
				20*time.Second)}},
		of("rack-7", request.Failed, 3, 5, stopped),
		of("机房三", request.Interrupted, 3, 97,
			run("机房三", "20261121T090000Z-join", "join", request.Interrupted, 3*time.Hour, 12*time.Minute)),
	}
}

// waitingClusters are those of clusters, with one more whose run waits for two decisions, and one whose run just goes
// on.
func waitingClusters() []request.ClusterRuns {
	r := run("halle-2", "20261121T115200Z-deploy", "deploy", request.Running, 8*time.Minute, 0)
	f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "1").On("h1")
	f.Cause = `etcd: discovery failed: error parsing CompactionRetention: time: unknown unit "d" in duration "1d"`
	r.Waits = []request.Wait{
		{Node: "h1", Title: event.M("step.etcd.start"), Since: now.Add(-5 * time.Minute), Fault: f},
		{Node: "h2", Title: event.M("step.infrastructure.packages"), Since: now.Add(-time.Minute),
			Fault: event.NewFault(event.ClassFailed, "ssh.lost", errors.New("broken pipe")).On("h2")}}
	goes := run("anna", "20261121T115900Z-deploy", "deploy", request.Running, time.Minute, 0)
	return append(clusters(), of("anna", request.Running, 1, 1, goes),
		of("halle-2", request.Running, 1, 2, r))
}

// of returns a cluster with its runs.
func of(name, status string, masters, workers int, runs ...request.Run) request.ClusterRuns {
	c := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: name, Status: status, Masters: masters,
		Workers: workers}, Nodes: nodes(masters + workers), Runs: runs}
	if status != request.Running {
		c.File = "/var/lib/eggo/" + name + "/deploy.yaml"
	}
	return c
}

// world is a machine for tests.
type world struct {
	clusters []request.ClusterRuns
	launched []backend.Start
	asked    []backend.Query
	keys     bool
	signer   bool
	fail     error
	nodes    int // of the deploy.yaml and of what is told; 0 is eight
}

// began says whether just this was launched.
func (w *world) began(t *testing.T, want backend.Start) {
	t.Helper()
	if len(w.launched) != 1 || !reflect.DeepEqual(w.launched[0], want) {
		t.Errorf("%+v", w.launched)
	}
}

func (w *world) deps() *Deps {
	n := w.nodes
	if n == 0 {
		n = 8
	}
	list := []event.Record{{Seq: 1, Time: now, Event: event.RunStarted{Cluster: "rack-7", Verb: "deploy"}}}
	return &Deps{Version: "v1.2.0", Install: func() frame.Page { return NewRuns(w.deps(), "") }, S: &uitest.Host{
		OnClusters: func(context.Context) ([]request.ClusterRuns, error) { return w.clusters, nil },
		OnOpen: func(context.Context, request.Ref, float64) (backend.Board, error) {
			l := records(list)
			return backend.Board{Feed: &backend.Live{From: &l, Over: true}}, nil
		},
		OnDemo: func(context.Context) (backend.Board, error) {
			l := records(list)
			return backend.NewStory(&l, 1, func() time.Time { return now }), nil
		},
		OnLaunch: func(ctx context.Context, s backend.Start, to ask.Asker) (request.Ref, error) {
			ask.Tell(ctx, to, ask.Progress{What: event.M("launch.greet", "done", "1", "total", "3")})
			if w.fail != nil {
				return request.Ref{}, w.fail
			}
			if w.keys {
				pw, err := ask.ForSecret(ctx, to, ask.Secret{What: event.M("ask.password", "user", "ops")})
				if err != nil {
					return request.Ref{}, err
				}
				var keys []ask.HostKey
				for i, x := range nodes(max(2, w.nodes)) {
					keys = append(keys, ask.HostKey{Node: x.Name, Addr: x.IP.String() + ":22", Type: "ssh-ed25519",
						Fingerprint: fmt.Sprintf("SHA256:%c%cBvT3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7uZk", 'a'+i%26,
							'1'+i/26)})
				}
				trusted, err := ask.Trusts(ctx, to, ask.HostKeys{Keys: keys})
				if err != nil || !trusted || pw != "secret" {
					return request.Ref{}, errors.Join(event.NewFault(event.ClassAuth, "ssh.no-credentials", nil, "user",
						pw), err)
				}
			}
			if w.signer {
				who := ask.Signer{Bundle: "eggo-amd64.tar.gz", Name: "eggo", Arch: "amd64", Type: "ssh-ed25519",
					Fingerprint: "SHA256:s1Gner3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7"}
				if yes, err := ask.Trusts(ctx, to, who); err != nil || !yes {
					return request.Ref{}, errors.Join(event.NewFault(event.ClassBundle, "trust.refused", nil, "file",
						who.Bundle, "key", who.Fingerprint), err)
				}
			}
			w.launched = append(w.launched, s)
			return request.Ref{Cluster: s.Request.Base().Source.Cluster, Run: "x"}, nil
		},
		OnRead: func(_ context.Context, q backend.Query, _ ask.Asker) (backend.Answer, error) {
			w.asked = append(w.asked, q)
			if _, is := q.(backend.Inventory); is {
				return func(p *i18n.Printer) document.Document { return ours(p, nodes(n)) }, nil
			}
			return func(p *i18n.Printer) document.Document { return well(p, nodes(n)) }, nil
		},
		OnList: func(_ context.Context, dir string, _ []string) (string, []backend.Entry, error) {
			return "/srv/eggo" + dir, []backend.Entry{{Name: "deploy.yaml", Size: 1834, Changed: now.Add(-time.Hour)},
				{Name: "eggo-1.34-amd64.tar.gz", Size: 316 << 20, Changed: now.Add(-48 * time.Hour)},
				{Name: "旧的", Dir: true}}, nil
		},
		OnCheck: func(_ context.Context, file string) (backend.Checked, error) {
			c := backend.Checked{Cluster: request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "rack-7",
				Status: request.Unknown, Masters: 3, Workers: n - 3,
				File: file},
				Nodes: nodes(n)},
				Facts: []event.Msg{event.M("file.fact.network", "pods", "10.244.0.0/16", "services", "10.32.0.0/16"),
					event.M("file.fact.bundle", "path", "/srv/eggo/eggo-1.34-amd64.tar.gz")}}
			if strings.Contains(file, "bad") {
				c.Problems = config.Problems{{Line: 12, Col: 7, Key: "masters[0].ip", Severity: event.Error,
					Code: "config.unreadable", Args: map[string]string{"file": file, "cause": "no"}}}
			}
			return c, nil
		},
		OnBundle: func(context.Context, string) (backend.Bundle, error) {
			return backend.Bundle{Name: "eggo", Kubernetes: "v1.34.2", Arch: "amd64", OS: "debian 12 bookworm",
				ID: "0123456789abcdef", Size: 316 << 20, Groups: []backend.Group{
					{Kind: "images", Size: 200 << 20, Members: []backend.Member{{Name: "registry.k8s.io/pause:3.10.1",
						Version: "linux/amd64", Size: 300 << 10},
						{Name: "registry.k8s.io/coredns/coredns:v1.12.1", Version: "linux/amd64", Size: 20 << 20}}},
					{Kind: "deb", Size: 60 << 20, Members: []backend.Member{{Name: "containerd",
						Version: "1.6.20~ds1-1+deb12u3", Size: 26 << 20}}},
				}}, nil
		},
		OnVerify: func(_ context.Context, _ string, progress func(done, total int64)) error {
			progress(1, 2)
			return nil
		},
		OnUpgrades: upgrades, OnWay: way,
	}, Builds: &builder{end: whole()}}
}

// ours is what there is of ours on nodes.
func ours(p *i18n.Printer, nodes []config.Node) (out document.Document) {
	for _, x := range nodes {
		s := document.Section{Depth: 1, Title: x.Name + "  " + x.IP.String() + "  " + strings.Join(x.RoleNames(), ", ")}
		for _, row := range [][2]string{
			{"units", "etcd.service, kube-apiserver.service, kube-controller-manager.service, " +
				"kube-scheduler.service"},
			{"packages", "conntrack, containerd, ebtables, ethtool, iptables, kmod, libip6tc2, libjansson4, " +
				"libnetfilter-conntrack3, runc, socat"},
			{"files", "31"},
		} {
			s.Rows = append(s.Rows, []document.Cell{{Text: p.T("cli.cleanup." + row[0])}, {Text: row[1]}})
		}
		out = append(out, s)
	}
	return out
}

// well is a cluster whose nodes are ready.
func well(p *i18n.Printer, nodes []config.Node) document.Document {
	s := document.Section{Head: []string{p.T("col.node"), p.T("col.address"), p.T("col.roles"), p.T("col.status"),
		p.T("col.version"), p.T("col.components"), p.T("col.certificates")}}
	for _, x := range nodes {
		s.Rows = append(s.Rows, []document.Cell{{Text: x.Name, Emphasis: document.Name}, {Text: x.IP.String()},
			{Text: strings.Join(x.RoleNames(), ",")}, {Text: "Ready", Emphasis: document.Good}, {Text: "v1.34.2"},
			{Text: p.T("status.run", "count", "7")}, {Text: "2027-11-21"}})
	}
	end := document.Cell{Text: p.T("status.all-well", "cluster", "rack-7"), Emphasis: document.Good}
	return document.Document{s, {Lines: []document.Cell{{}, end}}}
}

type records []event.Record

func (l *records) Next() (event.Record, error) {
	if len(*l) == 0 {
		return event.Record{}, errEnd
	}
	r := (*l)[0]
	*l = (*l)[1:]
	return r, nil
}

func begin(t testing.TB, p frame.Page, lang i18n.Lang, ascii bool, w, h int) *ui.App {
	t.Helper()
	a := ui.New(p, ui.Options{Lang: lang, ASCII: ascii, Now: func() time.Time { return now }})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: w, Height: h})
	uitest.Run(t, a, a.Init())
	return a
}

// Every page fills its screen to the cell, in both languages, with and without Unicode; those that show machines with
// three, thirty and a hundred.
func TestGoldens(t *testing.T) {
	full, fresh := &world{clusters: clusters()}, &world{}
	pages := map[string]func() frame.Page{
		"menu":       func() frame.Page { return NewMenu(full.deps()) },
		"menu-waits": func() frame.Page { return NewMenu((&world{clusters: waitingClusters()}).deps()) },
		"menu-fresh": func() frame.Page { return NewMenu(fresh.deps()) },
		"runs":       func() frame.Page { return NewRuns(full.deps(), "") },
		"pick":       func() frame.Page { return NewPick(full.deps(), "status", clusters(), nil) },
		"files":      func() frame.Page { return NewFile(full.deps()) },
		"bundle":     func() frame.Page { return NewLook(full.deps(), "/srv/eggo/eggo-1.34-amd64.tar.gz") },
		"help":       func() frame.Page { return NewRuns(full.deps(), "") },
		"launch": func() frame.Page {
			d := (&world{fail: event.NewFault(event.ClassLocked, "lock.cluster-held", nil, "program", "eggo-tui", "pid",
				"7", "user", "root", "host", "jump", "verb", "deploy", "since", "now")}).deps()
			return NewLaunch(d, backend.Start{Request: request.Deploy{Common: request.OfCluster("rack-7")}})
		},
	}
	for name, page := range pages {
		for _, shape := range uitest.Shapes() {
			golden(t, name, shape, page())
		}
	}
	for _, n := range []int{3, 30, 100} {
		c := of("rack-7", request.Installed, min(3, n), n-min(3, n))
		w := &world{clusters: []request.ClusterRuns{c}, nodes: n}
		for name, page := range map[string]func() frame.Page{
			"review":     func() frame.Page { return NewReview(w.deps(), "/srv/eggo/deploy.yaml") },
			"review-bad": func() frame.Page { return NewReview(w.deps(), "/srv/eggo/bad.yaml") },
			"status": func() frame.Page {
				return NewTell(w.deps(), "menu.status", "rack-7", backend.Status{Common: request.OfCluster("rack-7")})
			},
			"remove":  func() frame.Page { return NewRemove(w.deps(), c) },
			"add":     func() frame.Page { return NewAdd(w.deps(), c) },
			"cleanup": func() frame.Page { return NewCleanup(w.deps(), c) },
			"keys": func() frame.Page {
				w.keys = true
				return NewLaunch(w.deps(), backend.Start{Request: request.Deploy{Common: request.OfCluster("rack-7")}})
			},
		} {
			for _, shape := range uitest.For(n) {
				golden(t, fmt.Sprintf("%s-%d", name, n), shape, page())
			}
		}
	}
}

// golden draws a page on a terminal.
func golden(t *testing.T, name string, s uitest.Shape, page frame.Page) {
	t.Helper()
	t.Run(name+"-"+s.String(), func(t *testing.T) {
		a := begin(t, page, s.Lang, s.ASCII, s.W, s.H)
		uitest.Screen(a)
		kind, _, _ := strings.Cut(name, "-")
		uitest.Keys(t, a, map[string][]string{"remove": {"space", "down", "space"}, "runs": {"down"},
			"cleanup": {"enter"}, "help": {"?"}, "keys": {"s", "e", "c", "r", "e", "t", "enter"},
			"upgrade": {"space", "down", "space", "down", "space", "down", "down"}, "upgradesure": {"enter"},
			"upgradebacksure": {"enter"}}[kind]...)
		uitest.Fills(t, a, s.W, s.H)
		uitest.Golden(t, a, name+"-"+s.String())
		if s.ASCII && strings.ContainsAny(uitest.Screen(a), "─│╭●▌✔✘…↑↓“”×→·•") {
			t.Error("a character that is not ASCII is drawn")
		}
	})
}

var errEnd = io.EOF

// The likeliest thing stands first: a run that goes on, then one that stopped, then what is installed, else the first
// cluster.
func TestTheLikeliestFirst(t *testing.T) {
	all := clusters()
	busy := all[2]
	busy.Status = request.Running
	for _, c := range []struct {
		have []request.ClusterRuns
		want string
	}{
		{nil, "install"},
		{all[1:2], "install"},
		{all[:1], "status"},
		{all, "resume"},
		{[]request.ClusterRuns{all[3], busy}, "watch"},
	} {
		m := NewMenu((&world{}).deps())
		m.clusters = c.have
		if got := m.entries()[0].id; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// What cannot be done says why, and Enter does nothing.
func TestWhatCannotBeDoneSaysWhy(t *testing.T) {
	a := begin(t, NewMenu((&world{}).deps()), i18n.English, false, 100, 30)
	uitest.Keys(t, a, "down", "down", "down")
	uitest.Has(t, a, "No clusters are managed")
	before := uitest.Screen(a)
	uitest.Keys(t, a, "enter")
	if uitest.Screen(a) != before {
		t.Error("something was done")
	}
	uitest.Keys(t, a, "6")
	uitest.Has(t, a, "No clusters are managed from this host.")
}

// A person resumes: of two clusters one is chosen, the password and the keys are asked for, and the board is shown.
func TestResume(t *testing.T) {
	w := &world{clusters: clusters(), keys: true}
	a := begin(t, NewMenu(w.deps()), i18n.English, false, 100, 30)
	uitest.Has(t, a, "rack-7", "机房三", "20 min ago")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Which cluster?")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Password of ops")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "no password was entered", "Press r to enter the password")
	uitest.Keys(t, a, "r")
	uitest.Has(t, a, "Password of ops")
	uitest.Type(t, a, "secret")
	uitest.Lacks(t, a, "secret")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "2 unknown host keys", "SHA256:a1B", "SHA256:b1B")
	uitest.Keys(t, a, "y")
	if len(w.launched) != 1 || w.launched[0].Request.Base().Source.Cluster != "rack-7" ||
		w.launched[0].Request.Verb() != request.VerbDeploy {
		t.Errorf("%+v", w.launched)
	}
	uitest.Has(t, a, "rack-7")
	uitest.Lacks(t, a, "unknown host keys")
}

// Who signed a bundle is asked about before a run begins; the key is on the screen whole, and the default is no.
func TestTheSignerOfABundle(t *testing.T) {
	words := map[i18n.Lang][]string{
		i18n.English: {"Unknown signer", "eggo-amd64.tar.gz", "ssh-ed25519",
			"SHA256:s1Gner3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7", "No, stop", "Yes, trust this key"},
		i18n.Chinese: {"未知的签名者", "eggo-amd64.tar.gz", "SHA256:s1Gner3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7",
			"是，信任此密钥"},
	}
	for lang, want := range words {
		w := &world{signer: true}
		page := func() frame.Page {
			return NewLaunch(w.deps(), backend.Start{Request: request.Deploy{Common: request.OfCluster("rack-7")}})
		}
		a := begin(t, page(), lang, false, 80, 24)
		uitest.Has(t, a, want...)
		uitest.Lacks(t, a, "{")
		uitest.Keys(t, a, "enter")
		uitest.Has(t, a, map[i18n.Lang]string{i18n.English: "did not trust", i18n.Chinese: "未被信任"}[lang])
		if len(w.launched) != 0 {
			t.Errorf("launched %+v", w.launched)
		}
		a = begin(t, page(), lang, false, 80, 24)
		uitest.Keys(t, a, "y")
		if len(w.launched) != 1 {
			t.Errorf("launched %+v", w.launched)
		}
	}
}

// A run that ended before anything was touched left no deploy.yaml of the cluster: that of the run is shown again, and
// installed.
func TestWhatWasNotBegunIsOfferedAgain(t *testing.T) {
	r := run("rack-9", "20261121T114000Z-deploy", "deploy", request.Failed, time.Minute, time.Second)
	w := &world{clusters: []request.ClusterRuns{{
		ClusterInfo: request.ClusterInfo{Name: "rack-9", Status: request.Failed},
		Tried:       "/root/.eggo/deploy.yaml",
		Runs:        []request.Run{r}}}}
	a := begin(t, NewMenu(w.deps()), i18n.English, false, 100, 30)
	uitest.Has(t, a, "▌  3  Resume", "Opens /root/.eggo/deploy.yaml again")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "No problems found in this file")
	uitest.Keys(t, a, "enter", "y")
	if len(w.launched) != 1 || w.launched[0].Request.Base().Source.File != "/root/.eggo/deploy.yaml" {
		t.Errorf("%+v", w.launched)
	}
}

// A cleanup or a removal that was cut off stands first too: what is left is shown, and confirmed again.
func TestWhatTakesAwayIsGoneOnWith(t *testing.T) {
	for verb, want := range map[string]string{"cleanup": "also delete the runtime's images",
		"delete": "Select nodes to remove from rack-7"} {
		c := clusters()[2]
		c.Status = request.Interrupted
		c.Runs = []request.Run{run("rack-7", "20261121T114000Z-"+verb, verb, request.Interrupted, time.Minute,
			time.Second)}
		w := &world{clusters: []request.ClusterRuns{c}}
		a := begin(t, NewMenu(w.deps()), i18n.English, false, 100, 30)
		uitest.Has(t, a, "▌  3  Resume an interrupted run", "again")
		uitest.Lacks(t, a, "No interrupted runs")
		uitest.Keys(t, a, "enter")
		uitest.Has(t, a, want)
		if len(w.launched) != 0 {
			t.Errorf("%s: something was begun unasked: %+v", verb, w.launched)
		}
	}
}

// What was found is said in either language and not asked for again; what is wider than the screen can be moved to.
func TestStatusInBothLanguages(t *testing.T) {
	w := &world{clusters: clusters()}
	a := begin(t, NewTell(w.deps(), "menu.status", "rack-7", backend.Status{Common: request.OfCluster("rack-7")}),
		i18n.English, false, 80, 24)
	uitest.Has(t, a, "ADDRESS", "rack-7 is healthy")
	uitest.Lacks(t, a, "CERTIFICATES")
	uitest.Keys(t, a, "right")
	uitest.Has(t, a, "CERTIFICATES")
	uitest.Keys(t, a, "L")
	uitest.Has(t, a, "证书")
	uitest.Lacks(t, a, "CERTIFICATES", "is healthy")
	uitest.Keys(t, a, "left", "L", "L", "L")
	uitest.Has(t, a, "ADDRESS", "is healthy")
	if len(w.asked) != 1 {
		t.Errorf("asked %d times", len(w.asked))
	}
}

// A cluster is cleaned up only when its name is typed.
func TestCleanup(t *testing.T) {
	w := &world{clusters: clusters()}
	a := begin(t, NewCleanup(w.deps(), w.clusters[2]), i18n.English, false, 100, 30)
	// whoever confirms it has seen all of it
	uitest.Has(t, a, "node-1", "kube-scheduler.service", "\n                 libnetfilter-conntrack3, runc, socat")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Type the cluster's name", "8 nodes")
	uitest.Keys(t, a, "y", "enter")
	uitest.Has(t, a, "The text does not match “rack-7”.")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "[ ] p: also delete")
	uitest.Keys(t, a, "p")
	uitest.Has(t, a, "[✔] p: also delete")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "etcd's data")
	uitest.Type(t, a, "rack-7")
	if len(w.launched) != 0 {
		t.Fatal("it began")
	}
	uitest.Keys(t, a, "enter")
	of := request.OfCluster("rack-7")
	w.began(t, backend.Start{Request: request.Cleanup{Common: of, Purge: true}})
	if want := (backend.Inventory{Common: of, Purge: true}); !reflect.DeepEqual(w.asked[1], backend.Query(want)) {
		t.Errorf("%+v", w.asked)
	}
	uitest.Has(t, a, "rack-7")
}

// Nodes that leave are marked, the plan is shown, the name is typed.
func TestRemove(t *testing.T) {
	w := &world{clusters: clusters()}
	a := begin(t, NewRemove(w.deps(), w.clusters[2]), i18n.English, false, 100, 30)
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "No node selected")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, "q?L")
	uitest.Has(t, a, "/ q?L", "No match", "Enter keep the filter", "Esc clear filter")
	uitest.Lacks(t, a, "q quit", "Space mark")
	uitest.Keys(t, a, "esc", "/")
	uitest.Type(t, a, "role:worker !node-4")
	uitest.Keys(t, a, "enter", "*")
	uitest.Lacks(t, a, "node-1 ", "node-4  192")
	uitest.Has(t, a, "node-5", "will be removed")
	uitest.Keys(t, a, "*", "esc")
	uitest.Has(t, a, "node-1 ", "node-4  192")
	uitest.Lacks(t, a, "will be removed")
	uitest.Keys(t, a, "down", "down", "down", "space", "down", "space", "enter")
	want := request.Delete{
		Common: request.OfCluster("rack-7"), Names: []string{"node-4", "node-5"}, Drain: request.DrainTimeout,
	}
	if !reflect.DeepEqual(w.asked[0], backend.Query(backend.Plan{Request: want})) {
		t.Errorf("%+v", w.asked)
	}
	uitest.Keys(t, a, "enter")
	uitest.Type(t, a, "rack-7")
	uitest.Keys(t, a, "enter")
	w.began(t, backend.Start{Request: want})
}

// Addresses that join are judged as they are given.
func TestAdd(t *testing.T) {
	w := &world{clusters: clusters()}
	a := begin(t, NewAdd(w.deps(), w.clusters[2]), i18n.English, false, 100, 30)
	uitest.Type(t, a, "192.0.2.11")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "is already in this cluster as node-1")
	uitest.Keys(t, a, "ctrl+u")
	uitest.Type(t, a, "192.0.2.90, 192.0.2.91")
	uitest.Keys(t, a, "enter", "down", "enter", "enter")
	master := []bundle.Role{bundle.ControlPlane}
	want := request.Join{Common: request.OfCluster("rack-7"), Nodes: []config.Node{
		{IP: netip.MustParseAddr("192.0.2.90"), Port: 22, Roles: master},
		{IP: netip.MustParseAddr("192.0.2.91"), Port: 22, Roles: master},
	}}
	if !reflect.DeepEqual(w.asked[0], backend.Query(backend.Plan{Request: want})) {
		t.Errorf("%+v", w.asked)
	}
	w.began(t, backend.Start{Request: want})
}

// A path that is typed behind the directory that stands there starts again where it is absolute.
func TestAPathBeginsAnew(t *testing.T) {
	for typed, want := range map[string]string{
		"/root/deploy.yaml": "/root/deploy.yaml", "/root//srv/a.yaml": "/srv/a.yaml", "/root/~/a.yaml": "~/a.yaml",
		"/root//srv//x/a.yaml": "/x/a.yaml", " /root/ ": "/root/", "": "", "a.yaml": "a.yaml",
	} {
		if got := afresh(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// A saved file is chosen, read, and run; one with errors is not run.
func TestFromAFile(t *testing.T) {
	w := &world{}
	a := begin(t, NewMenu(w.deps()), i18n.English, false, 100, 30)
	uitest.Keys(t, a, "2", "enter")
	uitest.Has(t, a, "/srv/eggo/deploy.yaml", "node-8", "No problems found")
	uitest.Keys(t, a, "enter", "y")
	w.began(t, backend.Start{Request: request.Deploy{Common: request.OfFile("/srv/eggo/deploy.yaml")}})
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "Inspect a bundle") // the menu: nobody wants to choose that file again
	a = begin(t, NewReview(w.deps(), "/bad.yaml"), i18n.English, false, 100, 30)
	uitest.Has(t, a, "1 error, 0 warnings", "masters[0].ip")
	uitest.Keys(t, a, "enter", "y")
	if len(w.launched) != 1 {
		t.Error("a file with errors was run")
	}
}

// Lists are filtered by words and fields; an empty result says so and Esc clears it.
func TestFilter(t *testing.T) {
	w := &world{clusters: clusters()}
	a := begin(t, NewRuns(w.deps(), ""), i18n.English, false, 100, 30)
	uitest.Has(t, a, "rack-7", "机房三", "lager-süd")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, "state:failed")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "rack-7", "1 of 5")
	uitest.Lacks(t, a, "机房三")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, " nobody")
	uitest.Keys(t, a, "enter", "up", "home", "end", "enter")
	uitest.Has(t, a, "No match")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "机房三")
}

// A bundle is shown and verified.
func TestBundle(t *testing.T) {
	a := begin(t, NewLook((&world{}).deps(), "/x.tar.gz"), i18n.English, false, 100, 30)
	uitest.Has(t, a, "v1.34.2", "containerd", "Not verified yet")
	uitest.Keys(t, a, "v")
	uitest.Has(t, a, "every byte matches the manifest")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, "containerd")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "1 of ", "containerd")
	uitest.Lacks(t, a, "v1.34.2", "No match")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, " v")
	uitest.Has(t, a, "No match")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "v1.34.2")
}

// One cluster of many is found by its name and its state.
func TestAClusterIsFound(t *testing.T) {
	var chosen []string
	page := func(c request.ClusterRuns) frame.Page {
		chosen = append(chosen, c.Name)
		return NewRuns((&world{}).deps(), c.Name)
	}
	a := begin(t, NewPick((&world{}).deps(), "status", clusters(), page), i18n.English, false, 100, 30)
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, "state:failed")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "rack-7", "1 of 4")
	uitest.Lacks(t, a, "机房三")
	uitest.Keys(t, a, "enter")
	if len(chosen) != 1 || chosen[0] != "rack-7" {
		t.Error(chosen)
	}
}

// Whatever keys come, at whatever size, the screen is full to the cell.
func FuzzPages(f *testing.F) {
	f.Add(uint64(1), uint16(80), uint16(24))
	f.Add(uint64(2), uint16(1), uint16(1))
	f.Add(uint64(3), uint16(400), uint16(120))
	keys := []string{"enter", "esc", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace",
		"space", "?", "L", "/", "e", "p", "r", "v", "y", "n", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "节",
		"x", "M", "b", "tab"}
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint16) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		width, height := 80, 24
		a := begin(t, NewMenu((&world{clusters: clusters()}).deps()), i18n.English, rnd.IntN(2) == 0, width, height)
		for range 60 {
			switch rnd.IntN(8) {
			case 0:
				width, height = 1+(int(w)+rnd.IntN(60))%400, 1+(int(h)+rnd.IntN(30))%120
				uitest.Drive(t, a, tea.WindowSizeMsg{Width: width, Height: height})
			case 1:
				uitest.Drive(t, a, tea.MouseClickMsg{X: rnd.IntN(width), Y: rnd.IntN(height), Button: tea.MouseLeft})
			case 2:
				uitest.Drive(t, a, tea.MouseWheelMsg{Button: tea.MouseWheelDown})
			case 3:
				uitest.Drive(t, a, tea.PasteMsg{Content: []string{"rack", "\x1b[2J\x1b]0;owned\x07", "\xff\xfe\xc3",
					"\u202eevil שלום", strings.Repeat("\u200b\ufeff", 40), "z" + strings.Repeat("\u0336", 99),
					strings.Repeat("节点 ", 500), "a\nb\rc\td"}[rnd.IntN(8)]})
			default:
				uitest.Drive(t, a, uitest.Press(keys[rnd.IntN(len(keys))]))
			}
			uitest.Fills(t, a, width, height)
		}
	})
}

// A run that waits for a decision is the menu's first offer, before one that just goes on, with what failed and why; so
// it stands among the runs.
func TestWhatWaitsForADecisionComesFirst(t *testing.T) {
	w := &world{clusters: waitingClusters()}
	for lang, words := range map[i18n.Lang][]string{i18n.English: {"Open the run waiting for your decision",
		"action required",
		"5 min ago", "CompactionRetention"}, i18n.Chinese: {"打开等待决定的任务", "待决定", "CompactionRetention"}} {
		a := begin(t, NewMenu(w.deps()), lang, false, 120, 40)
		uitest.Has(t, a, words...)
		uitest.Keys(t, a, "enter")
		screen := uitest.Screen(a)
		if one, two := strings.Index(screen, "halle-2"), strings.Index(screen, "anna"); one < 0 || two < one {
			t.Errorf("what waits does not come first:\n%s", screen)
		}
	}
	a := begin(t, NewRuns(w.deps(), ""), i18n.English, false, 120, 40)
	uitest.Has(t, a, "action required", "running")
	uitest.Keys(t, a, "/", "a", "c", "t", "i", "o", "n", "enter")
	uitest.Has(t, a, "halle-2", "CompactionRetention")
	uitest.Lacks(t, a, "anna")
}
