package wizard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
)

// exampleManifest is that of a bundle, as eggo-bundle makes it of the default spec.
func exampleManifest() *bundle.Manifest {
	all := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	bin := func(name, version string, size int64, roles ...bundle.Role) bundle.Member {
		return bundle.Member{Path: name, Kind: bundle.Binary, Name: name, Version: version, Size: size << 20,
			Roles: roles, Dst: "/usr/local/bin", SHA256: strings.Repeat("0", 64)}
	}
	deb := func(name, version string) bundle.Member {
		return bundle.Member{Path: name + ".deb", Kind: bundle.Deb, Name: name, Version: version, Size: 9 << 20}
	}
	image := func(name string, size int64) bundle.Image {
		return bundle.Image{Name: name, Size: size << 20, Roles: all, Platform: "linux/amd64"}
	}
	return &bundle.Manifest{Name: "eggo-debian-bookworm", Arch: "amd64", Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []bundle.Member{
			bin("kube-apiserver", "v1.34.2", 98, bundle.ControlPlane),
			bin("kube-controller-manager", "v1.34.2", 89, bundle.ControlPlane),
			bin("kube-scheduler", "v1.34.2", 69, bundle.ControlPlane),
			bin("kubectl", "v1.34.2", 58, bundle.ControlPlane), bin("kubelet", "v1.34.2", 80, all...),
			bin("kube-proxy", "v1.34.2", 68, all...), bin("etcd", "v3.6.4", 25, bundle.Etcd),
			bin("etcdctl", "v3.6.4", 17, bundle.Etcd),
			deb("containerd", "1.6.20~ds1-1+deb12u1"), deb("runc", "1.1.5+ds1-1"), deb("nginx", "1.22.1-9"),
			{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml", Version: "v0.28.4",
				Size: 4 << 10},
			{Path: "images.tar", Kind: bundle.Images, Name: "images", Size: 96 << 20},
		},
		Images: []bundle.Image{image("registry.k8s.io/pause:3.10.1", 1),
			image("registry.k8s.io/coredns/coredns:v1.12.1", 20), image("ghcr.io/flannel-io/flannel:v0.28.4", 31)},
		Install: []bundle.Package{{Name: "containerd", Roles: all}, {Name: "runc", Roles: all},
			{Name: "nginx", Roles: []bundle.Role{bundle.LoadBalancer}}}}
}

// toReview types machines, gives them roles by keys, and goes to the last step.
func toReview(t testing.TB, lang i18n.Lang, ascii bool, w, h, n int, roles ...string) *ui.App {
	t.Helper()
	a, p, _ := open(t, lang, ascii, w, h)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, fmt.Sprintf("192.168.1.[%d-%d]", 15, 14+n))
	uitest.Keys(t, a, append([]string{"enter", "enter"}, roles...)...)
	for p.steps[p.g.At].id() != "review" {
		uitest.Keys(t, a, "ctrl+n")
	}
	return a
}

// The last step begins with a picture of what will stand, and what is known of it, before anything else: for clusters
// of any size, in both languages.
func TestReviewStartsWithThePreview(t *testing.T) {
	a := toReview(t, i18n.English, false, 120, 40, 3)
	uitest.Has(t, a, "Control plane (1)", "kube-apiserver :6443", "etcd :2379", "──→", "Workers (2)",
		"kubelet, containerd", "Kubernetes v1.34.2, etcd v3.6.4, containerd 1.6.20, flannel v0.28.4,",
		"192.168.1.15:6443", "10.244.0.0/16", "cluster DNS 10.32.0.10, domain cluster.local",
		"930.0 MiB (310.0 MiB per control plane, 310.0 MiB per worker",
		"about 6 min: rack-1 with 5 nodes took 5m40s (2026-11-20)")
	uitest.Lacks(t, a, "Load balancer (")
	screen := uitest.Screen(a)
	if strings.Index(screen, "Workers (2)") > strings.Index(screen, "Expected time") {
		t.Error("the picture is not what comes first")
	}
	a = toReview(t, i18n.Chinese, true, 80, 30, 100)
	uitest.Has(t, a, "控制平面（1）", "工作节点（99）", "node-[2-100]", "-->", "100 个节点暂无估计")
}

// Etcd of its own stands below the control planes, the load balancer before them; each line is as wide as the others.
func TestThePreviewHasAllRoles(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		a := toReview(t, i18n.English, false, w, 40, 6, "home", "down", "e", "down", "e", "down", "e", "down", "l",
			"home", "e")
		uitest.Fills(t, a, w, 40)
		uitest.Has(t, a, "Load balancer", "nginx :8443", "Control plane", "kube-apiserver :6443", "etcd (3)",
			"Workers (")
	}
}

// The preview of a join shows the number of new machines, and nothing that stays unchanged.
func TestThePreviewOfAJoin(t *testing.T) {
	w := &world{files: map[string]string{}, written: map[string]config.Draft{}}
	a, _ := openAdd(t, w, i18n.English)
	uitest.Type(t, a, "web-1 10.0.0.20")
	uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "Control plane (1)", "Worker (1, 1 new)", "310.0 MiB per worker")
	uitest.Lacks(t, a, "Expected time", "Pod CIDR")
}

// A plan of what the draft was before is none of what it is now: the sizes are the manifest's again.
func TestAnOldPlanIsNotThePlan(t *testing.T) {
	a := toReview(t, i18n.English, false, 120, 40, 3)
	uitest.Has(t, a, "930.0 MiB (310.0 MiB per control plane")
	for range 5 {
		uitest.Keys(t, a, "ctrl+p")
	}
	uitest.Has(t, a, "Address ranges")
	uitest.Type(t, a, "nonsense")
	for range 5 {
		uitest.Keys(t, a, "ctrl+n")
	}
	uitest.Has(t, a, "Expected time", "about 9", "556.0 MiB per control plane, 200.0 MiB per worker")
	uitest.Lacks(t, a, "930.0 MiB (310.0 MiB")
}

// BenchmarkSteps draws each step of a cluster of a hundred machines.
func BenchmarkSteps(b *testing.B) {
	a := toReview(b, i18n.English, false, 200, 60, 100)
	for _, view := range []string{"review", "file"} {
		b.Run(view, func(b *testing.B) {
			for b.Loop() {
				a.View()
			}
		})
		uitest.Keys(b, a, "tab")
	}
	for _, id := range []string{"preflight", "extra", "bundle", "runtime", "networks", "nodes", "login", "cluster"} {
		uitest.Keys(b, a, "ctrl+p")
		b.Run(id, func(b *testing.B) {
			for b.Loop() {
				a.View()
			}
		})
	}
}

// Three control planes without a load balancer are a warning of the review, before preflight was run.
func TestReview_WarnsOfASinglePoint(t *testing.T) {
	const en, zh = "192.168.1.15:6443 is the address of one of", "192.168.1.15:6443 只是 3 个控制平面"
	for lang, want := range map[i18n.Lang]string{i18n.English: en, i18n.Chinese: zh} {
		uitest.Has(t, toReview(t, lang, false, 120, 40, 4, "home", "down", "m", "down", "m"), want)
		uitest.Has(t, toReview(t, lang, false, 80, 24, 4, "home", "down", "m", "down", "m"), want[:17])
		uitest.Lacks(t, toReview(t, lang, false, 120, 40, 4), want)
		uitest.Lacks(t, toReview(t, lang, false, 120, 40, 4, "home", "down", "m", "down", "m", "down", "l"), want)
	}
}
