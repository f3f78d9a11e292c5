package lines

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// builder is a builder for tests.
type builder struct {
	net    error
	orders []backend.Build
	end    backend.BuildEnd
	begun  func() // it ends when it is stopped; nil: it ends by itself
}

func (b *builder) Offer(context.Context) (backend.BuildOffer, error) {
	return backend.BuildOffer{Usual: "debian-12", Presets: []string{"cn"}, Arch: "amd64", Out: "/x/out",
		Systems: []backend.BuildSystem{{ID: "centos-9", Kubernetes: "v1.33.1", Runtime: "containerd"},
			{ID: "debian-12", Kubernetes: "v1.34.2", Runtime: "containerd"}}}, nil
}

func (b *builder) Reach(context.Context, backend.Build) error { return b.net }

func (b *builder) Build(
	ctx context.Context, what backend.Build, show func(backend.BuildProgress),
) backend.BuildEnd {
	b.orders = append(b.orders, what)
	p := backend.BuildProgress{Resolving: true, Total: backend.BuildRow{Total: -1}}
	for range 2 { // what is said stays said
		show(p)
		p.Notes = []event.Msg{event.M("make.resolved", "arch", "arm64", "packages", "142", "size", "86 MiB")}
		p.Warnings = []event.Msg{event.M("build.warn.latest", "image", "registry.test/app:latest")}
	}
	if b.begun != nil {
		b.begun()
		<-ctx.Done()
		return backend.BuildEnd{Faults: []*event.Fault{event.NewFault(event.ClassInterrupted, "interrupted", nil)}}
	}
	return b.end
}

// A bundle is built line by line, and the wizard begins with it.
func TestABundleIsBuiltLineByLine(t *testing.T) {
	t.Parallel()
	m, said, _ := dialogueAt(i18n.English, "b\n1\n2\n2\n/tmp/b\ny\n:q\n")
	b := &builder{end: backend.BuildEnd{Lock: "/tmp/b/bundle.lock", Took: 271 * time.Second, Bundles: []backend.Built{
		{Arch: "arm64", Path: "/tmp/b/eggo-arm64.tar.gz", Size: 1 << 20, SHA256: "0123"}}}}
	m.builds = b
	if err := m.turn(t.Context()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
	want := backend.Build{System: "centos-9", Arches: []string{"arm64"}, Preset: "cn", Out: "/tmp/b"}
	if len(b.orders) != 1 || !reflect.DeepEqual(b.orders[0], want) {
		t.Errorf("%+v, want %+v", b.orders, want)
	}
	plain(t, said.String())
	says(t, said.String(), "b  Build a bundle", "centos-9, Kubernetes v1.33.1", "Resolving", "142 packages",
		"the tag latest changes", "Built in 4:31", "sha256 0123", "eggo-bundle sign --key KEY /tmp/b/eggo-arm64.tar.gz",
		"Install a cluster from this bundle now?", "Step 1 of 9")
}

// Without a network it is said why, and nothing is built unless that is wanted; what fails has its reason and advice.
func TestABuildThatFailsLineByLine(t *testing.T) {
	t.Parallel()
	m, said, _ := dialogueAt(i18n.English, "\n\n\n\nn\n")
	b := &builder{net: event.NewFault(event.ClassFailed, "build.no-network", errors.New("no such host"), "hosts",
		"dl.k8s.io")}
	m.builds = b
	if err := m.build(t.Context()); err != nil || len(b.orders) > 0 {
		t.Errorf("%v %+v", err, b.orders)
	}
	says(t, said.String(), "No network.", "(dl.k8s.io): no such host", "Build on a host with Internet access")

	m, said, _ = dialogueAt(i18n.Chinese, "\n\n\n\n")
	m.builds = &builder{end: backend.BuildEnd{Faults: []*event.Fault{
		event.NewFault(event.ClassFailed, "build.no-space", nil, "file", "/x/out/eggo-amd64.tar.gz")}}}
	if err := m.build(t.Context()); err != nil {
		t.Error(err)
	}
	says(t, said.String(), "制作失败", "/x/out/eggo-amd64.tar.gz", "已下载的内容保留在缓存中")
}

// An interrupt stops the build, whose end is waited for, and leads back to the menu.
func TestABuildIsStoppedLineByLine(t *testing.T) {
	t.Parallel()
	m, said, _ := dialogueAt(i18n.English, "b\n\n\n\n\n")
	stop := make(chan struct{})
	m.term.Interrupts = func() (<-chan struct{}, func()) { return stop, func() {} }
	m.builds = &builder{begun: func() { close(stop) }}
	if err := m.interruptible(t.Context()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
	says(t, said.String(), "Build stopped.")
}
