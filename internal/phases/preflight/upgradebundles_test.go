package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// older is the manifest of the bundle that the cluster is of, with an image less than the new one has.
func older(config.Node) *bundle.Manifest {
	m := nodestest.Manifest()
	m.Kubernetes = "v1.33.13"
	m.Images = m.Images[:2]
	return m
}

// Of images a node needs space for those that it does not have.
func TestSpaceForTheImagesOfAnUpgrade(t *testing.T) {
	const agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.57" // 50 MiB, of workers
	for name, c := range map[string]struct {
		spoil func(in *Input, f *facts.Facts)
		free  int64 // MiB
		want  string
	}{
		"none is new":          {func(in *Input, _ *facts.Facts) { in.Upgrade.Current = in.Target }, 70, ""},
		"one is new":           {nil, 70, "w1 error preflight.disk"},
		"one is new, and fits": {nil, 270, ""},
		"nobody knows of any": {func(in *Input, _ *facts.Facts) { in.Upgrade.Current = nil }, 270,
			"w1 error preflight.disk"},
		"its kubelet has it": {func(in *Input, _ *facts.Facts) {
			in.Upgrade.Objects.Nodes[1].Images = []string{agnhost}
		}, 70, ""},
		"outside the limit": {func(in *Input, _ *facts.Facts) { in.Limit = []string{"m1"} }, 70, ""},
		"the same, rebuilt": {func(in *Input, _ *facts.Facts) { in.Upgrade.Current = rebuilt }, 100,
			"w1 error preflight.disk"},
		"a deploy has them all": {func(in *Input, _ *facts.Facts) { in.Upgrade = nil }, 70, ""},
	} {
		in := upgradeInput()
		in.Upgrade.Current = older
		f := in.Fact("w1")
		for p, s := range f.Free {
			s.Bytes = c.free << 20
			f.Free[p] = s
		}
		if c.spoil != nil {
			c.spoil(in, f)
		}
		if got := found(t, in, checkSpace()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// rebuilt has images of the same names with other contents.
func rebuilt(config.Node) *bundle.Manifest {
	m := nodestest.Manifest()
	for i := range m.Images {
		m.Images[i].Digest = "sha256:00"
	}
	return m
}

func TestCertificatesBeforeAnUpgrade(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		left []time.Duration
		err  error
		want string
	}{
		"long":      {[]time.Duration{31 * day, 365 * day}, nil, ""},
		"within 30": {[]time.Duration{29 * day, time.Hour}, nil, "warning upgrade.certificate-ends 0, 1"},
		"ended":     {[]time.Duration{-time.Hour, 0, 40 * day}, nil, "error upgrade.certificate-ended 0, 1"},
		"both":      {[]time.Duration{-1, 1}, nil, "error upgrade.certificate-ended 0 warning upgrade.certificate-ends 1"},
		"continued": {[]time.Duration{-1, day}, nil,
			"warning upgrade.certificate-renews 0 warning upgrade.certificate-ends 1"},
		"not read":      {nil, errors.New("no shell"), "warning upgrade.certificates"},
		"there is none": {nil, nil, ""},
	} {
		in := upgradeInput()
		in.Upgrade.Continues = name == "continued"
		in.Env.Now = func() time.Time { return at }
		in.Upgrade.Certificates = func(context.Context, config.Node) (out []Certificate, err error) {
			for i, left := range c.left {
				out = append(out, Certificate{At: fmt.Sprint(i), End: at.Add(left)})
			}
			return out, c.err
		}
		var got []string
		for _, f := range in.certificates(t.Context(), worker) {
			got = append(got, strings.TrimSpace(string(f.Severity)+" "+f.Fault.Code+" "+f.Fault.Args["at"]))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

func TestImagesOfPodsThatTheNewBundleLacks(t *testing.T) {
	in := upgradeInput()
	in.Upgrade.Current = func(config.Node) *bundle.Manifest {
		m := nodestest.Manifest()
		for _, name := range []string{"registry.test/plugin/flannel:1", "registry.test/shop:1"} {
			m.Images = append(m.Images, bundle.Image{Name: name})
		}
		return m
	}
	add := func(ns string, images ...string) {
		p := pod("p")
		p.Namespace, p.Images = ns, images
		in.Upgrade.Objects.Pods = append(in.Upgrade.Objects.Pods, p)
	}
	target := nodestest.Manifest()
	target.Images = append(target.Images, bundle.Image{Name: "registry.other/flannel:2"})
	in.SetBundle("amd64", nodestest.Box{Is: target})
	add("kube-flannel", "registry.test/plugin/flannel:1")       // it has a newer one
	add("kube-system", "registry.k8s.io/pause:3.10.1", "own:1") // the same, and one that never was in a bundle
	in.Upgrade.Objects.Pods = append(in.Upgrade.Objects.Pods, &objects.Pod{Node: "x9", Images: []string{"a:1"}})
	if got := found(t, in, checkUpgradeImages()); got != "" {
		t.Error(got)
	}
	add("shop", "registry.test/shop:1")
	if got := found(t, in, checkUpgradeImages()); got != "warning upgrade.image" {
		t.Error(got)
	}
	target.Images = nodestest.Manifest().Images
	got := allFindings(t, in, checkUpgradeImages())
	if !slices.Equal(nodestest.Codes(got), []string{"error upgrade.image-system", "warning upgrade.image"}) ||
		got[0].Fault.Args["images"] != "registry.test/plugin/flannel:1" {
		t.Errorf("%+v", got)
	}
	in.Force = true
	if got := found(t, in, checkUpgradeImages()); got != "warning upgrade.image-system, warning upgrade.image" {
		t.Error(got)
	}
	in.Upgrade.Current = nil
	if got := found(t, in, checkUpgradeImages()); got != "" {
		t.Error(got)
	}
}

func TestTheWayOverTheHops(t *testing.T) {
	box := func(version string, change func(*bundle.Manifest)) map[string]input.Bundle {
		m := nodestest.Manifest()
		m.Kubernetes = version
		change(m)
		return map[string]input.Bundle{"amd64": nodestest.Box{Is: m}}
	}
	good := func(*bundle.Manifest) {}
	no := event.Finding{Severity: event.Error, Fault: *event.NewFault(event.ClassBundle, "bundle.sum", nil)}
	for name, c := range map[string]struct {
		from, to string
		later    []Hop
		failed   []event.Finding
		want     string
	}{
		"a minor":         {from: "v1.33.13", to: "v1.34.2"},
		"a patch":         {from: "v1.34.1", to: "v1.34.2"},
		"an older patch":  {from: "v1.34.10", to: "v1.34.9", want: "error upgrade.hop-older"},
		"an older minor":  {from: "v1.35.0", to: "v1.34.2", want: "error upgrade.hop-older"},
		"a minor skipped": {from: "v1.32.13", to: "v1.34.2", want: "error upgrade.hop-skips"},
		"a chain": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4", Bundles: box("v1.35.4", good)},
			{Version: "v1.36.1", Bundles: box("v1.36.1", good)}}},
		"a gap in the chain": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.36.1",
			Bundles: box("v1.36.1", good)}}, want: "error upgrade.hop-skips"},
		"no bundle": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4"}},
			want: "error upgrade.hop, error upgrade.hop-bundle"},
		"a corrupt bundle": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4",
			Failed: []event.Finding{no}}}, want: "error upgrade.hop, error bundle.sum"},
		"the old one is corrupt": {from: "v1.33.13", to: "v1.34.2", failed: []event.Finding{no},
			want: "error bundle.sum"},
		"of another architecture": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4",
			Bundles: box("v1.35.4", func(m *bundle.Manifest) { m.Arch = "arm64" })}},
			want: "error upgrade.hop, error bundle.wrong-arch"},
		"without the network plugin": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4",
			Bundles: box("v1.35.4", func(m *bundle.Manifest) {
				m.Members = slices.DeleteFunc(m.Members, func(x bundle.Member) bool { return x.Kind == bundle.Addon })
			})}}, want: "error upgrade.hop, error bundle.no-addon"},
		"without the runtime": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4",
			Bundles: box("v1.35.4", func(m *bundle.Manifest) { m.Install = nil })}},
			want: "error upgrade.hop, error bundle.no-runtime"},
		"without a kubelet": {from: "v1.33.13", to: "v1.34.2", later: []Hop{{Version: "v1.35.4",
			Bundles: box("v1.35.4", func(m *bundle.Manifest) { m.Members[3].Roles = nil })}},
			want: "error upgrade.hop, m1 error preflight.no-program, w1 error preflight.no-program"},
	} {
		in := upgradeInput()
		in.Starts = func(bundle.Role) []string { return []string{"kubelet"} }
		in.Upgrade.From, in.Upgrade.To, in.Upgrade.Later, in.Upgrade.Failed = c.from, c.to, c.later, c.failed
		for i := range in.Upgrade.Later {
			in.Upgrade.Later[i].Source.Bundles = map[string]string{"amd64": "b.tar.gz"}
		}
		var got []string // the tools of roles are not what this is about
		for _, f := range strings.Split(found(t, in, checkUpgradeHops()), ", ") {
			if !strings.Contains(f, "warning preflight.no-tool") {
				got = append(got, f)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
