package wizard

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

var (
	_     = flag.Bool("update", false, "write the goldens")
	seeds = flag.Uint64("seeds", 25, "of TestManySeeds")
)

// world is what the services of a test do.
type world struct {
	saved   draft.Saved
	has     bool
	files   map[string]string
	written map[string]config.Draft
	ran     []string
	keys    int // host keys that were trusted

	codes map[string]string // the faults of looks that fail, by address

	strangers bool // nobody has met any machine
	gate      int  // machines that an unknown bastion serves
	slow      bool // preflight does not come to its end
}

func (w *world) services() Services {
	return Services{
		DraftServices: &uitest.Draft{
			OnLoad:   func() (draft.Saved, bool) { return w.saved, w.has },
			OnSave:   func(s draft.Saved) error { w.saved, w.has = s, true; return nil },
			OnForget: func() error { w.has = false; return nil },
			OnRead: func(path string) ([]byte, error) {
				if t, ok := w.files[path]; ok {
					return []byte(t), nil
				}
				return nil, nil
			},
			OnFile: func(cluster string) string { return "/root/.eggo/" + cluster + ".yaml" },
			OnLookup: func(_ context.Context, host string) ([]netip.Addr, error) {
				if host == "web1.example.com" {
					return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
				}
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			},
			OnKeys: func() []string { return []string{"/root/.ssh/id_ed25519"} },
			OnProbe: func(_ context.Context, _ config.Draft, m config.Machine, tell func(draft.Probe)) {
				for _, s := range []draft.Stage{draft.LogIn, draft.Inspecting} {
					tell(draft.Probe{Machine: m, Stage: s})
				}
				l := draft.Probe{Machine: m, Stage: draft.Seen, OS: "Debian GNU/Linux 12 (bookworm)", OSID: "debian",
					Codename: "bookworm", Arch: "amd64", CPUs: 4, Memory: 8 << 30, Disk: 52 << 30,
					Skew: 40 * time.Millisecond}
				switch {
				case w.codes[m.IP] != "":
					fault := event.NewFault(event.ClassAuth, w.codes[m.IP], nil, "addr", m.IP+":22", "user", "root",
						"tried", "publickey", "type", "ssh-ed25519", "fingerprint", "SHA256:1BvT",
						"file", "/tmp/known_hosts")
					l = draft.Probe{Machine: m, Stage: draft.Failed, Fault: fault.On(m.Name)}
				case strings.HasSuffix(m.IP, ".12") && !w.strangers:
					l = draft.Probe{Machine: m, Stage: draft.Failed,
						Fault: event.NewFault(event.ClassFailed, "ssh.unreachable", errors.New("no route to host"),
							"addr", m.IP+":22").On(m.Name)}
				case w.gate > 0:
					l = draft.Probe{Machine: m, Stage: draft.Asking, Key: &draft.KeyQuestion{Node: "192.0.2.200",
						Addr: "192.0.2.200:22", Type: "ssh-ed25519", Serves: w.gate,
						Fingerprint: "SHA256:gate3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7uZk", Answer: func(yes bool) {
							if yes {
								w.keys++
							}
						}}}
				case w.strangers, strings.HasSuffix(m.IP, ".13"):
					l = draft.Probe{Machine: m, Stage: draft.Asking,
						Key: &draft.KeyQuestion{Addr: m.IP + ":22", Type: "ssh-ed25519",
							Fingerprint: "SHA256:1BvT3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7uZk", Answer: func(yes bool) {
								if yes {
									w.keys++
								}
							}}}
				case strings.HasSuffix(m.IP, ".14"):
					f := event.NewFault(event.ClassPreflight, "preflight.other-cluster", nil, "cluster",
						"old").On(m.Name)
					l.Findings = []event.Finding{{Host: m.Name, Severity: event.Error, Fault: *f}}
				}
				tell(l)
			},
			OnBundles: func(_ context.Context, paths []string, tell func(draft.Bundle)) {
				m := exampleManifest()
				tell(draft.Bundle{Path: "/srv/eggo-debian-bookworm-amd64.tar.gz", Size: 412 << 20, Manifest: m,
					Done: 200 << 20})
				tell(draft.Bundle{Path: "/srv/eggo-debian-bookworm-amd64.tar.gz", Size: 412 << 20, Manifest: m,
					Done: 412 << 20, Verified: true})
				arm := *m
				arm.Arch, arm.OS = "arm64", bundle.OS{Family: "rpm", ID: "openEuler", Release: "24.03"}
				tell(draft.Bundle{Path: "/srv/eggo-openeuler-arm64.tar.gz", Size: 398 << 20, Manifest: &arm,
					Verified: true})
				tell(draft.Bundle{Path: "/srv/old.tar.gz", Size: 1 << 20,
					Fault: event.NewFault(event.ClassBundle, "bundle.no-manifest", nil, "file", "/srv/old.tar.gz",
						"layout", "typed")})
			},
			OnPreflight: func(_ context.Context, d config.Draft, _ string, tell func(draft.Check)) {
				for i, m := range d.Machines {
					if w.slow && i > len(d.Machines)/2 {
						tell(draft.Check{Bundle: "/srv/eggo-debian-bookworm-amd64.tar.gz", Done: 200 << 20,
							Total: 412 << 20})
						return
					}
					tell(draft.Check{Machine: m.Name})
					if i%10 == 7 && len(d.Machines) >= 30 {
						tell(draft.Check{Finding: &event.Finding{Host: m.Name, Severity: event.Error,
							Fault: *event.NewFault(event.ClassPreflight, "preflight.disk", nil, "path",
								"/var/lib/containerd", "device", "/dev/vda1", "need", "4096 MiB", "free",
								"1210 MiB").On(m.Name)}})
					}
					if m.Arch != "arm64" && strings.HasSuffix(m.IP, ".11") {
						tell(draft.Check{Finding: &event.Finding{Host: m.Name, Severity: event.Error,
							Fault: *event.NewFault(event.ClassPreflight, "preflight.arch", nil, "is", "arm64", "says",
								"amd64").On(m.Name)}})
					}
				}
				tell(draft.Check{Finding: &event.Finding{Host: d.Machines[0].Name, Severity: event.Warning,
					Fault: *event.NewFault(event.ClassPreflight, "preflight.cpus", nil, "is", "1", "least",
						"2").On(d.Machines[0].Name)}})
				tell(draft.Check{End: true})
			},
			OnPlan: func(_ context.Context, d config.Draft, _ string) ([]draft.Planned, error) {
				out := []draft.Planned{{Changes: []draft.PlannedChange{{Desc: event.M("change.api", "method", "POST",
					"path", "/api/v1/namespaces"), Exact: true}}}}
				for _, m := range d.Machines {
					out = append(out, draft.Planned{Node: m.Name, Address: m.IP, Upload: 310 << 20,
						Changes: []draft.PlannedChange{{Desc: event.M("change.upload", "path",
							"/var/lib/eggo-node/images.tar", "bytes", "325058560"), Exact: true}}})
				}
				return out, nil
			},
			OnPast: func(context.Context) []draft.Past {
				return []draft.Past{{Cluster: "rack-1", Nodes: 5, Took: 340 * time.Second,
					At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}}
			},
			OnWrite: func(path string, d config.Draft, p *i18n.Printer) error {
				w.written[path] = d
				w.files[path] = string(d.Commented(p))
				return nil
			},
		},
		Run: func(file string, _ config.Draft) frame.Page {
			w.ran = append(w.ran, file)
			return New(context.Background(), Services{DraftServices: &uitest.Draft{}})
		},
		After: func(_ time.Duration, m tea.Msg) tea.Cmd { return func() tea.Msg { return m } },
	}
}

func open(t testing.TB, lang i18n.Lang, ascii bool, w, h int) (*ui.App, *Page, *world) {
	t.Helper()
	wo := &world{files: map[string]string{}, written: map[string]config.Draft{}}
	p := New(context.Background(), wo.services())
	a := ui.New(p, ui.Options{Lang: lang, ASCII: ascii, Now: func() time.Time {
		return time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	}})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: w, Height: h})
	uitest.Run(t, a, a.Init())
	return a, p, wo
}

// threeNodes types what no program can know: three addresses.
func threeNodes(t testing.TB, a *ui.App) {
	t.Helper()
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.0.[15-17]")
	uitest.Keys(t, a, "enter")
}

// A cluster of three machines takes one line of typing, and keys that say: go on.
func TestThreeMachinesTakeOneLine(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 100, 32)
	uitest.Has(t, a, "Grey values are defaults", "k8s-cluster", "/root/.eggo/k8s-cluster.yaml")
	threeNodes(t, a)
	uitest.Has(t, a, "node-1", "192.168.0.17", "3 machines", "M 1 control plane", "W 2 worker", "3 ready", "4 CPUs")
	uitest.Keys(t, a, "ctrl+n")
	uitest.Has(t, a, "10.244.0.0/16", "192.168.0.15:6443")
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "eggo-debian-bookworm-amd64.tar.gz", "verified", "v1.34.2", "not a bundle")
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "Preflight passed: 3 nodes ready")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "What the installation creates", "Control plane (1)", "Workers (2)")
	uitest.Keys(t, a, "tab")
	uitest.Has(t, a, "# name of the cluster")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, "x86src")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "x86src", "/srv/eggo-debian-bookworm-amd64.tar.gz")
	uitest.Keys(t, a, "tab")
	uitest.Has(t, a, "does not exist yet")
	uitest.Keys(t, a, "tab")
	uitest.Has(t, a, "node-2", "310.0 MiB")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Install k8s-cluster now?")
	uitest.Keys(t, a, "y")
	d, ok := w.written["/root/.eggo/k8s-cluster.yaml"]
	if c, problems := d.Check("x"); !ok || c == nil || len(c.Nodes) != 3 || len(w.ran) != 1 || w.has {
		t.Fatalf("%v %v %v: %v", ok, c, w.ran, problems)
	}
	if p.g.Problems.HasErrors() {
		t.Error(p.g.Problems)
	}
}

// What is wrong is said where it is typed, in words that say what to type; going back is always possible and loses
// nothing.
func TestWhatIsWrongIsSaidWhereItIsTyped(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 100, 32)
	uitest.Type(t, a, "Ｐrod!")
	uitest.Has(t, a, "Prod!", "✘", "→")
	uitest.Keys(t, a, "ctrl+n", "esc")
	uitest.Has(t, a, "Prod!", "Grey values are defaults")
	uitest.Keys(t, a, "ctrl+u")
	uitest.Type(t, a, "prod")
	uitest.Lacks(t, a, "✘")
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "nonsense")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Cannot resolve nonsense: no such host")
	uitest.Keys(t, a, "ctrl+u")
	a.Update(tea.PasteMsg{Content: "name,ip,role\r\nm1,192.168.0.21,master\nw1 192.168.0.22 worker etcd\n" +
		"192.168.0.22:2222"})
	uitest.Drive(t, a, tea.PasteMsg{Content: "m1,192.168.0.21,master\nw1 192.168.0.22 worker etcd\n192.168.0.12\n"})
	uitest.Has(t, a, "m1", "w1", "unreachable")
	if n := len(p.g.Draft.Machines); n != 4 { // one of them has the address of another, and another port
		t.Fatalf("%d machines: %v", n, p.g.Draft.Machines)
	}
	uitest.Keys(t, a, "g", "e", "u", "w")
	if m := p.g.Draft.Machines[0]; !m.Has(bundle.Etcd) || !m.Has(bundle.Worker) || !m.Has(bundle.ControlPlane) {
		t.Errorf("%v", m.Roles)
	}
	uitest.Keys(t, a, "ctrl+n")
	uitest.Keys(t, a, "ctrl+u")
	uitest.Type(t, a, "192.168.0.0/16")
	uitest.Has(t, a, "✘")
	uitest.Keys(t, a, "ctrl+n", "esc", "esc")
	uitest.Has(t, a, "m1")
	uitest.Keys(t, a, "*", "d")
	uitest.Has(t, a, "No machines yet")
	uitest.Keys(t, a, "ctrl+_")
	uitest.Has(t, a, "m1", "w1")
}

// A wizard that was cut off is offered again; its passwords were not kept.
func TestADraftIsOfferedAgain(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 100, 32)
	uitest.Keys(t, a, "ctrl+n", "down", "down")
	uitest.Type(t, a, "geheim")
	uitest.Lacks(t, a, "geheim")
	uitest.Keys(t, a, "ctrl+n")
	uitest.Type(t, a, "10.0.0.1")
	uitest.Keys(t, a, "enter", "ctrl+n")
	if !w.has || len(w.saved.Draft.Machines) != 1 || w.saved.Draft.Value("password") != "" {
		t.Fatalf("%+v", w.saved)
	}
	p := New(context.Background(), w.services())
	b := ui.New(p, ui.Options{Lang: i18n.English})
	uitest.Drive(t, b, tea.WindowSizeMsg{Width: 100, Height: 32})
	uitest.Run(t, b, b.Init())
	uitest.Has(t, b, "Unfinished draft", "1 machine)")
	uitest.Keys(t, b, "c")
	uitest.Has(t, b, "Pod CIDR")
	if len(p.g.Draft.Machines) != 1 {
		t.Error("the machines are lost")
	}
}

// Host keys that nobody has seen are shown before they are trusted.
func TestHostKeysAreAskedAbout(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 120, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.13")
	uitest.Keys(t, a, "enter", "enter")
	uitest.Has(t, a, "unknown host key", "SHA256:1BvT3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7uZk", "host keys")
	uitest.Keys(t, a, "f")
	uitest.Has(t, a, "1 unknown host key", "ssh-ed25519")
	uitest.Keys(t, a, "enter")
	if w.keys != 0 {
		t.Error("the default trusts")
	}
	uitest.Keys(t, a, "f")
	uitest.Has(t, a, "0 of 1 trusted")
	uitest.Keys(t, a, "y")
	if w.keys != 1 {
		t.Error("it was not answered")
	}
}

// A finding of preflight is fixed where it is told.
func TestAFindingIsFixed(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 120, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[10-11]")
	uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "1 error blocks the installation", "use detected architecture")
	uitest.Keys(t, a, "enter")
	if p.g.Draft.Machines[1].Arch != "arm64" {
		t.Error(p.g.Draft.Machines)
	}
	uitest.Has(t, a, "1 invalid setting") // it needs a bundle of its own now
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "arm64", "no bundle selected")
}

// Machines join a cluster that is there: its own stay as they are, whatever keys come.
func TestMachinesJoin(t *testing.T) {
	wo := &world{files: map[string]string{}, written: map[string]config.Draft{}}
	d := config.Draft{
		Machines: []config.Machine{{Name: "m1", IP: "10.0.0.1",
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}},
	}.WithValues(map[string]string{"cluster-id": "prod", "package-src.x86src": "/srv/x.tar.gz",
		"eggo.password-from": "prompt"})
	wo.files["/state/deploy.yaml"] = string(d.Commented(i18n.NewPrinter(i18n.Chinese)))
	p := NewAdd(context.Background(), wo.services(), d, "/state/deploy.yaml")
	a := ui.New(p, ui.Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 120, Height: 36})
	uitest.Run(t, a, a.Init())
	uitest.Has(t, a, "Add nodes", "Password")
	uitest.Type(t, a, "geheim")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "m1", "in the cluster")
	uitest.Type(t, a, "10.0.0.[20-21]")
	uitest.Keys(t, a, "enter", "enter", "g", "w", "d", "e", "enter")
	uitest.Drive(t, a, tea.PasteMsg{Content: "10.0.0.1 worker"})
	if m := p.g.Draft.Machines; len(m) != 3 || len(m[0].Roles) != 2 || !m[1].Has(bundle.Worker) ||
		m[1].Has(bundle.ControlPlane) {
		t.Fatalf("%v", m)
	}
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "file to write", "node-1")
	uitest.Keys(t, a, "tab", "tab")
	uitest.Has(t, a, "+ - name: node-2")
	uitest.Lacks(t, a, "- - name: m1", "- eggo", "geheim")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Add 2 nodes to prod now?")
	uitest.Keys(t, a, "y")
	if d, ok := wo.written["/state/deploy.yaml"]; !ok || len(d.Machines) != 3 || len(wo.written) != 1 ||
		len(wo.ran) != 1 {
		t.Errorf("%v %v", wo.ran, wo.written)
	}
}

// Every key of deploy.yaml can be reached, found and changed, blocks of YAML too.
func TestEveryKeyCanBeReached(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 120, 40)
	threeNodes(t, a)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "Advanced settings", "cluster-id")
	uitest.Keys(t, a, "/")
	uitest.Type(t, a, "extra-args")
	uitest.Keys(t, a, "enter", "enter")
	uitest.Type(t, a, "- name: kubelet")
	uitest.Keys(t, a, "enter")
	uitest.Type(t, a, "  extra-args: {--nonsense: 1}")
	uitest.Has(t, a, "✘")
	for range "--nonsense: 1}" {
		uitest.Keys(t, a, "backspace")
	}
	uitest.Type(t, a, "--v: \"2\"}")
	uitest.Lacks(t, a, "✘")
	uitest.Keys(t, a, "ctrl+s")
	if c, problems := p.g.Draft.Check("x"); c == nil || len(c.ExtraArgs) != 1 {
		t.Errorf("%v\n%s", problems, p.g.Draft.YAML())
	}
}

// Every step fills its screen to the cell, in both languages, with and without Unicode, with three, thirty and a
// hundred machines.
func TestGoldens(t *testing.T) {
	for _, n := range []int{3, 30, 100} {
		for _, shape := range uitest.For(n) {
			a, p, w := open(t, shape.Lang, shape.ASCII, shape.W, shape.H)
			golden := func(name string) {
				t.Helper()
				uitest.Fills(t, a, shape.W, shape.H)
				uitest.Golden(t, a, fmt.Sprintf("%s-%d-%s", name, n, shape))
				if s := uitest.Screen(a); shape.ASCII && strings.ContainsAny(s, "─│╭●▌✔✘…↑↓“”×→·•") {
					t.Errorf("%s: a character that is not ASCII is drawn:\n%s", name, s)
				}
			}
			for i, s := range p.steps {
				id := string(s.id())
				if id == "nodes" {
					uitest.Type(t, a, fmt.Sprintf("192.168.1.[%d-%d]", 10, 9+n))
					uitest.Keys(t, a, "enter", "enter", "g", "down")
				}
				if n == 3 || id == "nodes" || id == "preflight" || id == "review" {
					golden(id)
				}
				switch id {
				case "preflight":
					w.slow = true
					uitest.Keys(t, a, "r")
					golden("preflight-busy")
					w.slow = false
					uitest.Keys(t, a, "r")
				case "review":
					uitest.Keys(t, a, "tab")
					golden("review-file")
					uitest.Keys(t, a, "tab")
					golden("review-changes")
					uitest.Keys(t, a, "tab")
					golden("review-plan")
				}
				if i+1 < len(p.steps) {
					uitest.Keys(t, a, "ctrl+n")
				}
				if id == "nodes" && n > 3 { // one of them was never met
					uitest.Keys(t, a, "l")
				}
			}
		}
	}
}

// Machines that are met for the first time are shown with their fingerprints, all of them, however many there are.
func TestGoldensOfFirstContact(t *testing.T) {
	for _, n := range []int{3, 30, 100} {
		for _, shape := range uitest.For(n) {
			a, _, w := open(t, shape.Lang, shape.ASCII, shape.W, shape.H)
			w.strangers = true
			uitest.Keys(t, a, "ctrl+n", "ctrl+n")
			uitest.Type(t, a, fmt.Sprintf("192.168.1.[%d-%d]", 10, 9+n))
			uitest.Keys(t, a, "enter", "enter", "f")
			uitest.Fills(t, a, shape.W, shape.H)
			uitest.Golden(t, a, fmt.Sprintf("keys-%d-%s", n, shape))
			for range 2 * n {
				if w.keys > 0 {
					break
				}
				uitest.Keys(t, a, "y")
				uitest.Fills(t, a, shape.W, shape.H)
			}
			if w.keys != n {
				t.Errorf("%s: %d keys of %d are trusted", shape, w.keys, n)
			}
		}
	}
}

// typedIn is all that was typed into the wizard: the draft, where it goes, and what stands in fields that were not
// taken yet.
func typedIn(p *Page) string {
	text := string(p.g.Draft.YAML()) + "\x00" + p.g.Draft.Value("password") + p.g.Draft.Value("eggo.sudo-password") +
		"\x00" + p.g.File
	for _, s := range p.steps {
		if h, is := s.(holder); is {
			held := h.held()
			for _, field := range slices.Sorted(maps.Keys(held)) {
				text += "\x00" + held[field]
			}
		}
	}
	return text
}

func machinesOf(p *Page) *nodes {
	for _, s := range p.steps {
		if n, is := s.(*nodes); is {
			return n
		}
	}
	return nil
}

// machinesAdded says whether what is different is only that the line which was typed is a machine now.
func machinesAdded(before config.Draft, p *Page) bool {
	now := p.g.Draft.Clone()
	if len(now.Machines) < len(before.Machines) {
		return false
	}
	for i, m := range before.Machines {
		if now.Machines[i].Name != m.Name || now.Machines[i].IP != m.IP || now.Machines[i].Port != m.Port {
			return false
		}
	}
	now.Machines = before.Machines
	return now.Equal(before)
}

// Whatever is typed and pasted at whatever size, the screen is full to the cell, nothing breaks, and what was typed
// stays: through steps to and fro, other sizes, the wheel and the other language it is there letter by letter, what is
// undone is done again, and what a key takes away can be had back.
func FuzzWizard(f *testing.F) {
	f.Add(uint64(1), uint16(80), uint16(24), "192.168.0.[1-9]")
	f.Add(uint64(2), uint16(1), uint16(1), "节点 10.0.0.1 worker\n\x1b[2J\u202e")
	f.Add(uint64(3), uint16(400), uint16(120), "masters: [{name: a, ip: 192.0.2.1}]\n")
	f.Add(uint64(4), uint16(97), uint16(31), "no machine\n10.0.0.1\n\u200b\u0336\xff\xfe שלום")
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint16, text string) {
		driveWizard(t, seed, w, h, text, fuzzKeys())
	})
}

func fuzzKeys() []string {
	return []string{"enter", "esc", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace",
		"delete", "tab", "shift+tab", "space", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+p",
		"ctrl+_", "ctrl+r", "ctrl+s", "ctrl+o", "ctrl+v", "ctrl+u", "?", "L", "/", "a", "p", "i", "d", "m", "w", "e",
		"l", "u", "r", "f", "x", "g", "G", "*", "n", "y", "1", ".", "节"}
}

// driveWizard does what comes of a seed.
func driveWizard(t *testing.T, seed uint64, w, h uint16, text string, keys []string) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	a, p, _ := open(t, i18n.Chinese, seed%2 == 0, 80, 24)
	wide, high := 80, 24
	same := func(what string, do func()) { // nothing that was typed is another
		t.Helper()
		before, draft := typedIn(p), p.g.Draft.Clone()
		line, block := machinesOf(p).line.Value(), machinesOf(p).area.Value()
		do()
		now := typedIn(p)
		if now == before {
			return
		}
		if n := machinesOf(p); (line != "" && n.line.Value() == "" || block != "" && n.area.Value() == "") &&
			machinesAdded(draft, p) {
			return
		}
		t.Fatalf("%s made\n%q\nof\n%q", what, now, before)
	}
	for range 40 {
		switch rnd.IntN(10) {
		case 0:
			wide, high = 1+(int(w)+rnd.IntN(100))%400, 1+(int(h)+rnd.IntN(40))%120
			same("another size", func() { uitest.Drive(t, a, tea.WindowSizeMsg{Width: wide, Height: high}) })
		case 1:
			n := machinesOf(p)
			among := p.steps[p.g.At] == step(n) && n.mode != editing && n.mode != filtering && wide >= 60 && high >= 16
			uitest.Drive(t, a, tea.PasteMsg{Content: text})
			if l := machines.Read(text); among && guide.Whole(l) && n.line.Value() == "" && n.area.Value() == "" {
				for _, m := range l.Entries { // each is in the table, whatever stood there before
					if draft.Listed(p.g.Draft, m.Machine) < 0 {
						t.Fatalf("seed %d: %v was pasted and is nowhere", seed, m)
					}
				}
			}
		case 2:
			uitest.Drive(t, a, tea.MouseClickMsg{X: rnd.IntN(wide), Y: rnd.IntN(high), Button: tea.MouseLeft})
		case 3:
			same("the wheel", func() { uitest.Drive(t, a, tea.MouseWheelMsg{Button: tea.MouseWheelDown}) })
		case 4:
			key := []string{"ctrl+n", "ctrl+p", "esc", "pgup", "pgdown"}[rnd.IntN(5)]
			same(key, func() { uitest.Keys(t, a, key) })
		case 5:
			if wide < 60 || high < 16 { // no key is taken there
				continue
			}
			before := typedIn(p)
			if uitest.Keys(t, a, "ctrl+_"); typedIn(p) == before {
				continue
			}
			if uitest.Keys(t, a, "ctrl+r"); typedIn(p) != before {
				t.Fatalf("undone and done again is\n%q\nnot\n%q", typedIn(p), before)
			}
		default:
			before := p.g.Draft.Clone()
			key := keys[rnd.IntN(len(keys))]
			uitest.Keys(t, a, key)
			if !before.Equal(p.g.Draft) { // nothing that was typed is gone for good
				now := p.g.Draft.Clone()
				p.snapshot()
				back, forth, words := *p.g, *p.g, i18n.NewPrinter(i18n.English)
				_, undo := back.Undo(words)
				if _, redo := forth.Redo(words); !undo && !redo {
					t.Fatalf("seed %d: no way back by %s from %v to %v", seed, key, before, now)
				}
			}
		}
		uitest.Fills(t, a, wide, high)
		if p.unsaved() { // the terminal may be gone now
			t.Fatalf("seed %d: what is typed is not kept: %+v, kept is %+v", seed, p.saved(), p.stored)
		}
	}
}

// Some seeds, in any run of the tests; -seeds 1500 takes a few minutes.
func TestManySeeds(t *testing.T) {
	texts := []string{"192.168.0.[1-9]", "节点 10.0.0.1 worker\n\x1b[2J\u202e", "masters: [{name: a, ip: 192.0.2.1}]\n",
		"no machine\n10.0.0.1\n\u200b\u0336\xff\xfe שלום"}
	for seed := range *seeds {
		driveWizard(t, seed, uint16(seed*7919), uint16(seed*104729), texts[seed%4], fuzzKeys())
	}
}

// What is typed among the machines and was not taken is there after other steps, another size, another language, undo
// and Esc; whoever goes on with a line that is a machine means it.
func TestALineThatIsTypedStays(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 100, 32)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "half a mach")
	for _, back := range [][]string{{"ctrl+n", "ctrl+p"}, {"ctrl+p", "ctrl+n"}, {"esc", "ctrl+n"},
		{"ctrl+_", "ctrl+r"}} {
		uitest.Keys(t, a, back...)
		uitest.Drive(t, a, tea.WindowSizeMsg{Width: 20, Height: 5})
		uitest.Drive(t, a, tea.WindowSizeMsg{Width: 110, Height: 30})
		uitest.Has(t, a, "half a mach")
	}
	uitest.Keys(t, a, "ctrl+u")
	uitest.Type(t, a, "10.0.0.1")
	uitest.Keys(t, a, "enter")
	uitest.Type(t, a, "10.0.0.2")
	uitest.Keys(t, a, "esc", "a")
	uitest.Has(t, a, "10.0.0.2")
	uitest.Keys(t, a, "ctrl+n", "esc")
	if m := p.g.Draft.Machines; len(m) != 2 || m[1].IP != "10.0.0.2" {
		t.Fatalf("%v", m)
	}
	uitest.Keys(t, a, "p")
	uitest.Drive(t, a, tea.PasteMsg{Content: "what is this\n10.0.0.3\n"})
	uitest.Keys(t, a, "ctrl+s", "ctrl+n", "esc")
	uitest.Has(t, a, "what is this")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "10.0.0.3")
	uitest.Keys(t, a, "u")
	uitest.Lacks(t, a, "10.0.0.3")
	uitest.Keys(t, a, "p")
	uitest.Has(t, a, "what is this")
}

// Whoever is quicker than the bundles that are looked for finds preflight begun as soon as one is there that fits.
func TestPreflightBeginsWhenTheDraftIsWhole(t *testing.T) {
	wo := &world{files: map[string]string{}, written: map[string]config.Draft{}}
	svc := wo.services()
	svc.DraftServices.(*uitest.Draft).OnBundles = func(context.Context, []string, func(draft.Bundle)) {}
	p := New(context.Background(), svc)
	a := ui.New(p, ui.Options{Lang: i18n.English, Now: func() time.Time {
		return time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	}})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 32})
	uitest.Run(t, a, a.Init())
	threeNodes(t, a)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "Checks every machine", "x86src")
	m := &bundle.Manifest{Name: "eggo-debian-bookworm", Arch: "amd64", Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"}}
	uitest.Drive(t, a, draft.Bundle{Path: "/srv/b.tar.gz", Size: 412 << 20, Manifest: m, Verified: true})
	uitest.Has(t, a, "Preflight passed")
}
