package pages

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// builder is a builder for tests.
type builder struct {
	net     error           // why nothing answers
	asked   []backend.Build // of Reach
	orders  []backend.Build
	shows   []backend.BuildProgress
	end     backend.BuildEnd
	stuck   bool // it ends when it is stopped
	stopped bool
}

func (b *builder) Offer(context.Context) (backend.BuildOffer, error) {
	o := backend.BuildOffer{Usual: "debian-12", Presets: []string{"cn"}, Arch: "amd64", Out: "/srv/eggo/out"}
	for _, s := range []string{"centos-9", "debian-12", "debian-13", "openeuler-22.03", "openeuler-24.03",
		"ubuntu-22.04", "ubuntu-24.04"} {
		o.Systems = append(o.Systems, backend.BuildSystem{ID: s, Kubernetes: "v1.34.2", Runtime: "containerd"})
	}
	return o, nil
}

func (b *builder) Reach(_ context.Context, what backend.Build) error {
	b.asked = append(b.asked, what)
	return b.net
}

func (b *builder) Build(
	ctx context.Context, what backend.Build, show func(backend.BuildProgress),
) backend.BuildEnd {
	b.orders = append(b.orders, what)
	for _, x := range b.shows {
		show(x)
	}
	if b.stuck {
		<-ctx.Done()
		b.stopped = true
		return backend.BuildEnd{Faults: []*event.Fault{event.NewFault(event.ClassInterrupted, "interrupted", nil)}}
	}
	return b.end
}

func noNetwork() error {
	return event.NewFault(event.ClassFailed, "build.no-network", errors.New("dial tcp: no such host"), "hosts",
		"dl.k8s.io, github.com")
}

const mib = 1 << 20

// halfway is a build under way.
func halfway() backend.BuildProgress {
	row := func(label, arch string, done, total, rate int64) backend.BuildRow {
		return backend.BuildRow{Label: label, Arch: arch, Done: done * mib, Total: total * mib, Rate: rate * mib,
			Left: time.Duration((total-done)/max(1, rate)) * time.Second}
	}
	p := backend.BuildProgress{Sources: 57, Cached: 12, Hidden: 3, Total: row("", "", 480, 1224, 6),
		Rows: []backend.BuildRow{
			row("eggo-amd64.tar.gz", "", 260, 612, 3), row("eggo-arm64.tar.gz", "", 220, 612, 3),
			row("registry.k8s.io/coredns/coredns:v1.12.1", "amd64", 12, 60, 2),
			row("ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1", "arm64", 3, 11, 1),
			{Label: "kube-apiserver", Arch: "arm64", Done: 40 * mib, Total: -1, Left: -1,
				Note: "bundle.cli.note.retry"},
		},
		Notes: []event.Msg{event.M("make.resolved", "arch", "amd64", "packages", "142", "size", "86 MiB"),
			event.M("make.resolved", "arch", "arm64", "packages", "141", "size", "84 MiB")},
		Troubles: []*event.Fault{event.NewFault(event.ClassFailed, "fetch.truncated", nil, "what", "kube-apiserver",
			"url", "https://dl.k8s.io/x", "got", "2097152", "want", "4194304")},
	}
	for range 2 { // what both architectures say is said once
		p.Warnings = append(p.Warnings, event.M("build.warn.latest", "image", "registry.test/app:latest"))
	}
	return p
}

// whole is how a build of both architectures ended well.
func whole() backend.BuildEnd {
	return backend.BuildEnd{Lock: "/srv/eggo/out/bundle.lock", Took: 271 * time.Second, Fetched: 700 * mib,
		Warnings: halfway().Warnings, Bundles: []backend.Built{
			{Arch: "amd64", Path: "/srv/eggo/out/eggo-amd64.tar.gz", Size: 612 * mib,
				SHA256: strings.Repeat("0123456789abcdef", 4)},
			{Arch: "arm64", Path: "/srv/eggo/out/eggo-arm64.tar.gz", Size: 598 * mib, Unchanged: true,
				SHA256: strings.Repeat("fedcba9876543210", 4)},
		}}
}

func broken() backend.BuildEnd {
	var missing []*event.Fault // with the same advice
	for _, name := range []string{"kube-apiserver", "kube-proxy", "kubectl", "etcd"} {
		missing = append(missing, event.NewFault(event.ClassFailed, "fetch.dns", errors.New("no such host"), "what",
			name, "url", "https://dl.k8s.io/"+name, "host", "dl.k8s.io"))
	}
	return backend.BuildEnd{Faults: append(missing,
		event.NewFault(event.ClassFailed, "fetch.not-found", nil, "what", "kubelet", "url",
			"https://dl.k8s.io/kubelet"),
		event.NewFault(event.ClassFailed, "build.no-space", nil, "file", "/srv/eggo/out/eggo-amd64.tar.gz"))}
}

func maker(b *builder) *Make {
	d := (&world{}).deps()
	d.Builds = b
	return NewMake(d, "make.use", d.installFrom)
}

// toGo goes from the fields to the last row.
func toGo(t *testing.T, a *ui.App) {
	t.Helper()
	uitest.Keys(t, a, "end", "enter")
}

func TestGoldensOfABuild(t *testing.T) {
	for name, begun := range map[string]func(t *testing.T, s uitest.Shape) *ui.App{
		"make": func(t *testing.T, s uitest.Shape) *ui.App {
			return begin(t, maker(&builder{}), s.Lang, s.ASCII, s.W, s.H)
		},
		"make-alone": func(t *testing.T, s uitest.Shape) *ui.App {
			a := begin(t, maker(&builder{net: noNetwork()}), s.Lang, s.ASCII, s.W, s.H)
			uitest.Keys(t, a, "tab", "tab", "down", "space", "tab")
			return a
		},
		"make-busy": func(t *testing.T, s uitest.Shape) *ui.App {
			p := maker(&builder{})
			a := begin(t, p, s.Lang, s.ASCII, s.W, s.H)
			p.arches["arm64"], p.building, p.progress = true, true, halfway()
			return a
		},
		"make-done": func(t *testing.T, s uitest.Shape) *ui.App {
			a := begin(t, maker(&builder{end: whole()}), s.Lang, s.ASCII, s.W, s.H)
			uitest.Keys(t, a, "enter", "down", "space")
			toGo(t, a)
			return a
		},
		"make-failed": func(t *testing.T, s uitest.Shape) *ui.App {
			a := begin(t, maker(&builder{end: broken()}), s.Lang, s.ASCII, s.W, s.H)
			toGo(t, a)
			return a
		},
		"menu-build": func(t *testing.T, s uitest.Shape) *ui.App {
			w := &world{}
			d := w.deps()
			d.Builds = &builder{net: noNetwork()}
			a := begin(t, NewMenu(d), s.Lang, s.ASCII, s.W, s.H)
			uitest.Keys(t, a, "end", "up", "up", "up")
			return a
		},
	} {
		for _, s := range uitest.Shapes() {
			if s.W > 120 {
				continue // as wide, with more below
			}
			t.Run(name+"-"+s.String(), func(t *testing.T) {
				a := begun(t, s)
				uitest.Fills(t, a, s.W, s.H)
				uitest.Golden(t, a, name+"-"+s.String())
				if s.ASCII && strings.ContainsAny(uitest.Screen(a), "─│╭●▌✔✘…↑↓“”×→·•") {
					t.Error("a character that is not ASCII is drawn")
				}
			})
		}
	}
}

// What is chosen is what is built; the bundles lead to the wizard.
func TestABundleIsBuilt(t *testing.T) {
	b := &builder{end: whole(), shows: []backend.BuildProgress{halfway()}}
	d := (&world{}).deps()
	d.Builds = b
	var used []string
	d.InstallFrom = func(files []string) frame.Page {
		used = files
		return NewRuns(d, "")
	}
	a := begin(t, NewMenu(d), i18n.English, false, 80, 24)
	if len(b.asked) > 0 {
		t.Error("the network is asked before anybody looks at what needs it")
	}
	uitest.Keys(t, a, "b")
	uitest.Has(t, a, "openeuler-24.03", "Kubernetes v1.34.2", "Network available", "/srv/eggo/out")
	// the system, arm64 besides amd64, the preset, another directory
	uitest.Keys(t, a, "down", "down", "down", "enter", "down", "space", "enter", "down", "enter", "ctrl+u")
	uitest.Type(t, a, "/tmp/b k")
	uitest.Keys(t, a, "enter", "enter")
	want := backend.Build{System: "openeuler-24.03", Arches: []string{"amd64", "arm64"}, Preset: "cn", Out: "/tmp/b k"}
	if len(b.orders) != 1 || !reflect.DeepEqual(b.orders[0], want) {
		t.Errorf("%+v, want %+v", b.orders, want)
	}
	if last := b.asked[len(b.asked)-1]; last.Preset != "cn" {
		t.Errorf("the servers of %+v were asked", last)
	}
	uitest.Has(t, a, "Built in 4:31", "/srv/eggo/out/eggo-amd64.tar.gz", "sha256 0123456789abcdef",
		"already up to date", "eggo-bundle sign --key KEY")
	uitest.Keys(t, a, "enter")
	if len(used) != 2 {
		t.Errorf("the wizard got %q", used)
	}
	uitest.Has(t, a, "Past runs")
}

// Without an architecture, or a directory, nothing begins.
func TestABuildNeedsAnArchitecture(t *testing.T) {
	b := &builder{}
	a := begin(t, maker(b), i18n.English, false, 80, 24)
	uitest.Keys(t, a, "tab", "space")
	toGo(t, a)
	uitest.Has(t, a, "Select at least one architecture.")
	uitest.Keys(t, a, "home", "tab", "space", "tab", "tab", "ctrl+u")
	uitest.Keys(t, a, "enter", "enter")
	uitest.Has(t, a, "Enter an output directory.")
	if len(b.orders) > 0 {
		t.Errorf("%+v", b.orders)
	}
}

// A build that failed says why and what to do, can be tried again, and leads back to the fields.
func TestABuildFails(t *testing.T) {
	b := &builder{end: broken()}
	a := begin(t, maker(b), i18n.English, false, 100, 30)
	toGo(t, a)
	uitest.Has(t, a, "The build failed", "kubelet", "No space left for", "Free some space",
		"Downloads stay in the cache")
	b.end = whole()
	uitest.Keys(t, a, "r")
	uitest.Has(t, a, "Built in")
	if len(b.orders) != 2 {
		t.Errorf("%+v", b.orders)
	}
	b.end = broken()
	a = begin(t, NewMenu(maker(b).d), i18n.English, false, 100, 30)
	uitest.Keys(t, a, "b")
	toGo(t, a)
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "Output directory")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "Past runs")
}

// A build is left only after it was asked, and its end is waited for; Ctrl-C ends the program then.
func TestABuildIsStopped(t *testing.T) {
	for _, key := range []string{"esc", "s", "ctrl+c"} {
		b := &builder{stuck: true, shows: []backend.BuildProgress{halfway()}}
		a := begin(t, NewMenu(maker(b).d), i18n.English, false, 80, 24)
		uitest.Keys(t, a, "b", "end")
		_, told := a.Update(uitest.Press("enter")) // what it tells is heard below
		uitest.Has(t, a, "resolving versions and packages")
		uitest.Keys(t, a, key, "enter") // no is the default
		if uitest.Has(t, a, "resolving versions"); b.stopped {
			t.Error("it was stopped by itself")
		}
		uitest.Keys(t, a, key, "s")
		uitest.Has(t, a, "Stopping")
		quit := ends(t, a, told)
		if !b.stopped || quit != (key == "ctrl+c") {
			t.Errorf("%s: stopped %v, quit %v", key, b.stopped, quit)
		}
		if !quit {
			uitest.Has(t, a, "Build stopped.", "Output directory")
		}
	}
}

// ends runs a command and what comes of it, and says whether the program ends with it.
func ends(t *testing.T, a *ui.App, c tea.Cmd) bool {
	t.Helper()
	if c == nil {
		return false
	}
	switch m := c().(type) {
	case nil:
		return false
	case tea.QuitMsg:
		return true
	case tea.BatchMsg:
		quit := false
		for _, c := range m {
			quit = ends(t, a, c) || quit
		}
		return quit
	default:
		_, c := a.Update(m)
		return ends(t, a, c)
	}
}

// Without a network the entry stays, and says so when it is selected; the page does too, and builds all the same: the
// cache may have all.
func TestThereIsNoNetwork(t *testing.T) {
	b := &builder{net: noNetwork(), end: whole()}
	a := begin(t, NewMenu(maker(b).d), i18n.English, false, 100, 30)
	uitest.Lacks(t, a, "No network.")
	uitest.Keys(t, a, "end", "up", "up", "up")
	uitest.Has(t, a, "No network.", "dl.k8s.io, github.com", "Build on a host with Internet access")
	uitest.Keys(t, a, "up", "down")
	if len(b.asked) != 1 {
		t.Errorf("asked %d times", len(b.asked))
	}
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "No network.", "Output directory")
	toGo(t, a)
	uitest.Has(t, a, "Built in")
}
