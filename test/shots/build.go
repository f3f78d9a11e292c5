package main

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
)

// builder builds nothing: it stands still halfway.
type builder struct{}

func (builder) Offer(context.Context) (backend.BuildOffer, error) {
	o := backend.BuildOffer{Usual: "debian-12", Presets: assets.MirrorPresets(), Arch: "amd64", Out: "/root/out"}
	for _, s := range assets.Systems() {
		o.Systems = append(o.Systems, backend.BuildSystem{ID: s, Kubernetes: "v1.34.2", Runtime: "containerd"})
	}
	return o, nil
}

func (builder) Reach(context.Context, backend.Build) error { return nil }

func (builder) Build(ctx context.Context, _ backend.Build, show func(backend.BuildProgress)) backend.BuildEnd {
	row := func(label, arch string, done, total, rate int64) backend.BuildRow {
		return backend.BuildRow{Label: label, Arch: arch, Done: done << 20, Total: total << 20, Rate: rate << 20,
			Left: time.Duration((total-done)/rate) * time.Second}
	}
	show(backend.BuildProgress{Sources: 57, Cached: 12, Total: row("", "", 512, 1314, 11), Rows: []backend.BuildRow{
		row("eggo-amd64.tar.gz", "", 263, 684, 6), row("eggo-arm64.tar.gz", "", 249, 630, 5),
		row("kube-apiserver", "amd64", 31, 72, 4), row("registry.k8s.io/coredns/coredns:v1.12.1", "arm64", 12, 20, 3),
		row("ghcr.io/flannel-io/flannel:v0.28.4", "amd64", 8, 34, 4),
	}, Notes: []event.Msg{event.M("make.resolved", "arch", "amd64", "packages", "41", "size", "86.2 MiB"),
		event.M("make.resolved", "arch", "arm64", "packages", "41", "size", "79.4 MiB")}})
	<-ctx.Done()
	return backend.BuildEnd{}
}

// halfway is the page of a build that nobody listens to once it has shown how far it is.
type halfway struct{ *pages.Make }

// Update implements frame.Page.
func (p *halfway) Update(m tea.Msg, e *frame.Env) tea.Cmd {
	c := p.Make.Update(m, e)
	if p.Gauge(e) != nil {
		return nil
	}
	return c
}

func building(d *pages.Deps) frame.Page {
	return &halfway{pages.NewMake(d, "make.use", func([]string) tea.Cmd { return nil })}
}
