package main

import (
	"context"
	"image/color"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/wizard"
)

// wizardShot is a picture of the wizard: what is typed until then. A word that begins with = is typed letter by letter.
type wizardShot struct {
	name string
	keys []string
	also bool // on a light terminal too
	on   machines
}

// machines are those that are met: all is well with them, as in a run that passes, but where a picture is about the
// rest.
type machines int

const (
	well     machines = iota
	probed            // one is still being probed
	unknown           // the host keys of two are not known
	troubled          // there is much to fix
)

func wizardShots() []wizardShot {
	nodes := []string{"=rack-7", "ctrl+n", "ctrl+n", "=192.0.2.[11-17]", "enter", "enter", "home", "down", "m", "down",
		"m", "down", "l"}
	to := func(steps int, more ...string) []string {
		return slices.Concat(nodes, slices.Repeat([]string{"ctrl+n"}, steps), more)
	}
	// two of the machines were never met: that is decided later
	fixes := slices.Concat(nodes, []string{"ctrl+n", "l"}, slices.Repeat([]string{"ctrl+n"}, 4))
	return []wizardShot{
		{name: "wizard-machines", keys: to(0), also: true, on: probed},
		{name: "wizard-empty", keys: nodes[:3]},
		{name: "wizard-keys", keys: to(0, "f"), on: unknown},
		{name: "wizard-networks", keys: to(1, "=10.240.0.0/16")},
		{name: "wizard-bundle", keys: to(3)},
		{name: "wizard-preflight", keys: to(5)},
		{name: "wizard-fixes", keys: fixes, on: troubled},
		{name: "wizard-overview", keys: to(6), also: true},
		{name: "wizard-review", keys: to(6, "tab", "tab")},
		{name: "wizard-cluster", keys: nodes[:1]},
		{name: "wizard-login", keys: []string{"=rack-7", "ctrl+n", "down", "down", "=secret"}},
		{name: "wizard-runtime", keys: to(2)},
		{name: "wizard-more", keys: to(4, "down", "down", "down", "down", "down", "down")},
		{name: "wizard-plan", keys: to(6, "tab", "tab", "tab")},
	}
}

// screen presses the keys.
func (s wizardShot) screen(lang i18n.Lang, dark bool, w, h int) string {
	p := wizard.New(context.Background(), pretended(s.on))
	app := ui.New(p, ui.Options{Lang: lang})
	do(app, func() tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} })
	if !dark {
		do(app, func() tea.Msg { return tea.BackgroundColorMsg{Color: color.White} })
	}
	do(app, app.Init())
	enter(app, s.keys)
	return app.View().Content
}

// enter presses keys; what begins with = is typed letter by letter.
func enter(app *ui.App, keys []string) {
	for _, k := range keys {
		if text, typed := strings.CutPrefix(k, "="); typed {
			for _, r := range text {
				do(app, func() tea.Msg { return tea.KeyPressMsg{Code: r, Text: string(r)} })
			}
			continue
		}
		do(app, func() tea.Msg { return stepKey(k) })
		app.View()
	}
}

func stepKey(k string) tea.KeyPressMsg {
	switch k {
	case "ctrl+n":
		return tea.KeyPressMsg{Code: 'n', Mod: tea.ModCtrl}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "home":
		return tea.KeyPressMsg{Code: tea.KeyHome}
	}
	return press(k)
}

// pretended are services of machines that there are not.
func pretended(on machines) wizard.Services {
	was := "cluster-id: rack-7\nmasters:\n- name: node-1\n  ip: 192.0.2.11\n  port: 22\n  arch: amd64\nnodes:\n- " +
		"name: old\n  ip: 192.0.2.40\n  port: 22\n  arch: amd64\n"
	return wizard.Services{
		DraftServices: &uitest.Draft{
			OnRead:  func(string) ([]byte, error) { return []byte(was), nil },
			OnFile:  func(string) string { return "/root/.eggo/deploy.yaml" },
			OnKeys:  func() []string { return []string{"/root/.ssh/id_ed25519"} },
			OnWrite: func(string, config.Draft, *i18n.Printer) error { return nil },
			OnProbe: func(_ context.Context, _ config.Draft, m config.Machine, tell func(draft.Probe)) {
				l := draft.Probe{Machine: m, Stage: draft.Seen, OS: "Debian GNU/Linux 12 (bookworm)", OSID: "debian",
					Codename: "bookworm", Arch: "amd64", CPUs: 8, Memory: 32 << 30, Disk: 180 << 30}
				switch last := m.IP[len(m.IP)-1]; {
				case on == troubled && last == '3':
					l = draft.Probe{Machine: m, Stage: draft.Failed,
						Fault: event.NewFault(event.ClassFailed, "ssh.timeout", nil, "addr", m.IP+":22", "limit",
							"10s").On(m.Name)}
				case on >= unknown && (last == '5' || last == '6'):
					l = draft.Probe{Machine: m, Stage: draft.Asking,
						Key: &draft.KeyQuestion{Addr: m.IP + ":22", Type: "ssh-ed25519",
							Fingerprint: "SHA256:1BvT3mzyG6e9iO5jzT0xq2mSxX6b0dE1n3wQ4pY7u" + m.IP[len(m.IP)-1:] + "k",
							Answer:      func(bool) {}}}
				case on != well && last == '7':
					l = draft.Probe{Machine: m, Stage: draft.Inspecting}
				}
				tell(l)
			},
			OnBundles: func(_ context.Context, _ []string, tell func(draft.Bundle)) {
				m := shownBundle()
				tell(draft.Bundle{Path: "/srv/eggo-amd64.tar.gz", Size: 684 << 20, Manifest: m, Done: 684 << 20,
					Verified: true})
				arm := *m
				arm.Arch, arm.OS = "arm64", bundle.OS{Family: "rpm", ID: "openEuler", Release: "24.03"}
				tell(draft.Bundle{Path: "/srv/eggo-openeuler-arm64.tar.gz", Size: 651 << 20, Manifest: &arm,
					Done: 402 << 20})
			},
			OnPreflight: func(_ context.Context, d config.Draft, _ string, tell func(draft.Check)) {
				for _, m := range d.Machines {
					tell(draft.Check{Machine: m.Name})
				}
				if on != troubled {
					tell(draft.Check{End: true})
					return
				}
				find := func(sev event.Severity, i int, code string, kv ...string) {
					name := d.Machines[i].Name
					tell(draft.Check{Finding: &event.Finding{Host: name, Severity: sev,
						Fault: *event.NewFault(event.ClassPreflight, code, nil, kv...).On(name)}})
				}
				find(event.Error, 4, "preflight.arch", "is", "arm64", "says", "amd64")
				find(event.Error, 5, "preflight.disk", "path", "/var/lib/containerd", "device", "/dev/vda1", "need",
					"4096 MiB", "free", "1210 MiB")
				find(event.Warning, 0, "preflight.cpus", "is", "1", "least", "2")
				tell(draft.Check{End: true})
			},
			OnPast: func(context.Context) []draft.Past {
				return []draft.Past{{Cluster: "rack-6", Nodes: 8, Took: 402 * time.Second,
					At: time.Date(2026, 11, 12, 12, 0, 0, 0, time.UTC)}}
			},
			OnPlan: func(_ context.Context, d config.Draft, _ string) ([]draft.Planned, error) {
				out := []draft.Planned{{Changes: []draft.PlannedChange{{Desc: event.M("change.api", "method", "POST",
					"path", "/api/v1/namespaces"), Exact: true}}}}
				for _, m := range d.Machines {
					out = append(out, draft.Planned{Node: m.Name, Address: m.IP, Upload: 310 << 20,
						Changes: []draft.PlannedChange{
							{Desc: event.M("change.upload", "path", "/var/lib/eggo-node/images.tar", "bytes",
								"325058560"), Exact: true}, {Desc: event.M("change.file", "path",
								"/etc/systemd/system/kubelet.service"), Exact: true}}})
				}
				return out, nil
			},
		},
		Run:   func(string, config.Draft) frame.Page { return nil },
		After: func(_ time.Duration, m tea.Msg) tea.Cmd { return func() tea.Msg { return m } },
	}
}

// shownBundle is the manifest of a bundle, as eggo-bundle makes it of the default spec.
func shownBundle() *bundle.Manifest {
	all := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	bin := func(name, version string, mib int64, roles ...bundle.Role) bundle.Member {
		return bundle.Member{Path: name, Kind: bundle.Binary, Name: name, Version: version, Size: mib << 20,
			Roles: roles, Dst: "/usr/local/bin"}
	}
	deb := func(name, version string, mib int64) bundle.Member {
		return bundle.Member{Path: name + ".deb", Kind: bundle.Deb, Name: name, Version: version, Size: mib << 20}
	}
	image := func(name string, mib int64) bundle.Image {
		return bundle.Image{Name: name, Size: mib << 20, Roles: all, Platform: "linux/amd64"}
	}
	return &bundle.Manifest{Name: "eggo", Arch: "amd64", Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []bundle.Member{
			bin("kube-apiserver", "v1.34.2", 98, bundle.ControlPlane),
			bin("kube-controller-manager", "v1.34.2", 89, bundle.ControlPlane),
			bin("kube-scheduler", "v1.34.2", 69, bundle.ControlPlane),
			bin("kubectl", "v1.34.2", 58, bundle.ControlPlane), bin("kubelet", "v1.34.2", 80, all...),
			bin("kube-proxy", "v1.34.2", 68, all...), bin("etcd", "v3.6.4", 25, bundle.Etcd),
			deb("containerd", "1.6.20~ds1-1+deb12u1", 25), deb("runc", "1.1.5+ds1-1", 3), deb("nginx", "1.22.1-9", 1),
			{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml", Version: "v0.28.4",
				Size: 4 << 10},
			{Path: "images.tar", Kind: bundle.Images, Name: "images", Size: 106 << 20},
		},
		Images: []bundle.Image{image("registry.k8s.io/pause:3.10.1", 1),
			image("registry.k8s.io/coredns/coredns:v1.12.1", 20), image("ghcr.io/flannel-io/flannel:v0.28.4", 31)},
		Install: []bundle.Package{{Name: "containerd", Roles: all}, {Name: "runc", Roles: all},
			{Name: "nginx", Roles: []bundle.Role{bundle.LoadBalancer}}}}
}
