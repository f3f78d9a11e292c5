package guide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
)

const mib = 1 << 20

// manifest is a bundle's, as eggo-bundle makes it of the default spec.
func manifest(arch string) *bundle.Manifest {
	all := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	bin := func(name, version string, size int64, roles ...bundle.Role) bundle.Member {
		return bundle.Member{Path: name, Kind: bundle.Binary, Name: name, Version: version, Size: size * mib,
			Roles: roles, Dst: "/usr/local/bin"}
	}
	return &bundle.Manifest{Arch: arch, Kubernetes: "v1.34.2", Members: []bundle.Member{
		bin("kube-apiserver", "v1.34.2", 100, bundle.ControlPlane), bin("kubelet", "v1.34.2", 80, all...),
		bin("etcd", "v3.6.4", 30, bundle.Etcd), bin("etcdctl", "v3.6.4", 10, bundle.Etcd),
		{Path: "c.deb", Kind: bundle.Deb, Name: "containerd", Version: "1:1.6.20~ds1-1+deb12u1",
			Size: 25 * mib, Roles: all},
		{Path: "d.deb", Kind: bundle.Deb, Name: "docker.io", Version: "20.10.24+dfsg1-1", Size: 25 * mib, Roles: all},
		{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml", Version: "v0.28.4",
			Size: 4 << 10},
	}, Images: []bundle.Image{{Name: "registry.k8s.io/coredns/coredns:v1.12.1", Size: 20 * mib, Roles: all}},
		Install: []bundle.Package{{Name: "containerd", Roles: all}}}
}

// machines are n of a role.
func machines(d *config.Draft, stem string, n int, roles ...bundle.Role) {
	for i := range n {
		d.Machines = append(d.Machines, config.Machine{Name: fmt.Sprintf("%s-%d", stem, i+1),
			IP: fmt.Sprintf("10.0.%d.%d", len(d.Machines)/200, 1+len(d.Machines)%200), Roles: roles})
	}
}

func row(s guide.Preview, label string) string {
	if i := slices.IndexFunc(s.Rows, func(r guide.Row) bool { return r.Label == label }); i >= 0 {
		return s.Rows[i].Text
	}
	return ""
}

func groups(s guide.Preview, p *i18n.Printer) string {
	var out []string
	for _, g := range s.Groups {
		out = append(out, g.Title(p, false)+": "+strings.Join(report.Ranges(g.Names), " ")+": "+
			strings.Join(g.Runs, " "))
	}
	return strings.Join(out, "\n")
}

// What will stand follows from the draft and the bundles: groups with their nodes, versions, networks and bytes.
func TestWhatWillStand(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	d := config.Draft{}.Clone()
	machines(&d, "lb", 1, bundle.LoadBalancer)
	machines(&d, "master", 3, bundle.ControlPlane, bundle.Etcd)
	machines(&d, "worker", 60, bundle.Worker)
	d.Set("package-src.x86src", "/srv/b.tar.gz")
	c, problems := d.Check("x")
	if c == nil {
		t.Fatal(problems)
	}
	s := guide.PreviewOf(guide.PreviewInput{Draft: d, Cluster: c, Bundles: []*bundle.Manifest{manifest("amd64")}},
		p)
	want := "Load balancer: lb-1: nginx :8443\n" +
		"Control planes (3): master-1 master-2 master-3: kube-apiserver :6443 etcd :2379\n" +
		"Workers (60): worker-[1-60]: kubelet, containerd"
	if got := groups(s, p); got != want || !s.Stacked {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for label, want := range map[string]string{
		"Versions":      "Kubernetes v1.34.2, etcd v3.6.4, containerd 1.6.20, flannel v0.28.4, CoreDNS v1.12.1",
		"API endpoint":  "10.0.0.1:8443",
		"Pod CIDR":      "10.244.0.0/16",
		"Service CIDR":  "10.32.0.0/16; cluster DNS 10.32.0.10, domain cluster.local",
		"Upload":        "about 6.6 GiB (240.0 MiB per control plane, 100.0 MiB per worker",
		"Expected time": "unknown",
	} {
		if got := row(s, label); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}

// Etcd of its own is a group; the plan's bytes count before the manifest's; nodes of a role that get different amounts
// are a range.
func TestThePlanIsMoreThanTheManifest(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	d := config.Draft{}.Clone()
	machines(&d, "m", 1, bundle.ControlPlane)
	machines(&d, "e", 3, bundle.Etcd)
	machines(&d, "w", 2, bundle.Worker)
	in := guide.PreviewInput{Draft: d, Bundles: []*bundle.Manifest{manifest("amd64")}, Planned: true,
		Plan: []draft.Planned{{Node: "m-1", Upload: 240 * mib}, {Node: "w-1", Upload: 100 * mib}, {Node: "w-2",
			Upload: 20 * mib}}}
	s := guide.PreviewOf(in, p)
	if got := groups(s, p); !strings.Contains(got, "etcd (3): e-1 e-2 e-3: etcd :2379") || s.Stacked ||
		strings.Contains(got, "6443 etcd") {
		t.Error(got)
	}
	if got, want := row(s, "Upload"), "360.0 MiB (240.0 MiB per control plane, "+
		"20.0 MiB to 100.0 MiB per worker"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	in.Plan = nil
	if s := guide.PreviewOf(in, p); row(s, "Upload") != "nothing, the nodes have all files" || row(s, "") != "" {
		t.Error(s.Rows)
	}
	in.Planned, in.Bundles = false, []*bundle.Manifest{manifest("arm64")}
	if got := row(guide.PreviewOf(in, p), "Upload"); got != "" {
		t.Errorf("a number without a source: %q", got)
	}
}

// A time is said where an earlier install had about as many nodes, and where it comes from is said with it; else there
// is none.
func TestTimeIsThatOfAnEarlierInstall(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	past := []draft.Past{{Cluster: "big", Nodes: 50, At: at, Took: 12 * time.Minute},
		{Cluster: "small", Nodes: 3, At: at, Took: 5*time.Minute + 40*time.Second}}
	for n, want := range map[int]string{
		4:   "about 6 min: small with 3 nodes took 5m40s (2026-11-20)",
		30:  "about 12 min: big with 50 nodes took 12m00s (2026-11-20)",
		400: "no estimate for 400 nodes; big with 50 nodes took 12m00s (2026-11-20)",
	} {
		d := config.Draft{}.Clone()
		machines(&d, "m", n, bundle.ControlPlane)
		if got := row(guide.PreviewOf(guide.PreviewInput{Draft: d, Past: past}, p), "Expected time"); got != want {
			t.Errorf("%d nodes: %q, want %q", n, got, want)
		}
	}
}

// Where machines join, the groups say how many are new, and what is known of the cluster is not said again.
func TestMachinesThatJoin(t *testing.T) {
	d := config.Draft{}.Clone()
	machines(&d, "m", 1, bundle.ControlPlane)
	machines(&d, "w", 3, bundle.Worker)
	s := guide.PreviewOf(guide.PreviewInput{Draft: d,
		Member: func(m config.Machine) bool { return m.Name != "w-3" }},
		i18n.NewPrinter(i18n.English))
	if got := s.Groups[1].Title(i18n.NewPrinter(i18n.English), true); got != "Workers (3, 1 new)" || len(s.Rows) != 0 {
		t.Errorf("%s %v", got, s.Rows)
	}
}
