package phases

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// box is a bundle that is only its manifest.
type box struct{ m *bundle.Manifest }

func (b box) Manifest() *bundle.Manifest                          { return b.m }
func (box) Open(string) (io.ReadSeekCloser, error)                { return nil, io.EOF }
func (box) Images(context.Context, []string) (bundle.File, error) { return bundle.File{}, io.EOF }

var (
	cpRole, workerRole, etcdRole = bundle.ControlPlane, bundle.Worker, bundle.Etcd
	master                       = config.Node{Name: "m1", IP: netip.MustParseAddr("192.0.2.11"), Port: 22,
		Arch: "amd64", Roles: []bundle.Role{cpRole, etcdRole}}
	worker = config.Node{Name: "w1", IP: netip.MustParseAddr("192.0.2.21"), Port: 22, Arch: "amd64",
		Roles: []bundle.Role{workerRole}}
)

func manifest() *bundle.Manifest {
	return &bundle.Manifest{
		Name: "b", Arch: "amd64", Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []bundle.Member{
			{Path: "containerd_1_amd64.deb", Kind: bundle.Deb, Name: "containerd", Version: "1.6.20~ds1-1+b1",
				Size: 10 << 20},
			{Path: "etcd", Kind: bundle.Binary, Name: "etcd", Dst: "/usr/local/bin", Mode: 0o755, Size: 20 << 20,
				Roles: []bundle.Role{etcdRole}},
			{Path: "kube-apiserver", Kind: bundle.Binary, Name: "kube-apiserver", Dst: "/usr/local/bin", Mode: 0o755,
				Size: 80 << 20, Roles: []bundle.Role{cpRole}},
			{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Dst: "/usr/local/bin", Size: 60 << 20,
				Roles: []bundle.Role{cpRole, workerRole}},
			{Path: "cni/bridge", Kind: bundle.Binary, Name: "cni", Dst: "/opt/cni/bin", Size: 4 << 20,
				Roles: []bundle.Role{workerRole}},
			{Path: "cni/loopback", Kind: bundle.Binary, Name: "cni", Dst: "/opt/cni/bin", Size: 4 << 20,
				Roles: []bundle.Role{workerRole}},
			{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml", Size: 4 << 10},
			{Path: "addons/metrics.yaml", Kind: bundle.Addon, Name: "metrics.yaml", Size: 4 << 10},
		},
		Images: []bundle.Image{
			{Name: "registry.k8s.io/pause:3.10.1", Digest: "sha256:aa", Size: 1 << 20,
				Roles: []bundle.Role{cpRole, workerRole}},
			{Name: "registry.k8s.io/coredns/coredns:v1.12.1", Digest: "sha256:bb", Size: 20 << 20,
				Roles: []bundle.Role{cpRole, workerRole}},
			{Name: "registry.k8s.io/e2e-test-images/agnhost:2.57", Digest: "sha256:cc", Size: 50 << 20,
				Roles: []bundle.Role{workerRole}},
		},
		Install: []bundle.Package{{Name: "socat", Roles: []bundle.Role{workerRole}},
			{Name: "containerd", Roles: []bundle.Role{cpRole, workerRole}}},
	}
}

func newTestRun() *run {
	r := newRun(Env{Cluster: &config.Cluster{Name: "mine", Nodes: []config.Node{master, worker},
		NetworkPlugin: "flannel", Packages: map[bundle.Role][]config.Package{}}, Now: time.Now})
	r.SetBundle("amd64", box{manifest()})
	return r
}

// good are the facts of a machine with which nothing is wrong.
func good(n config.Node) *facts.Facts {
	f := &facts.Facts{Arch: "amd64", OS: map[string]string{"ID": "debian", "VERSION_CODENAME": "bookworm",
		"PRETTY_NAME": "Debian"}, Systemd: true, Cgroup2: true, Conntrack: true, PkgManagers: []string{"apt-get"},
		Addresses: []string{"127.0.0.1", n.IP.String()}, Listening: map[int]string{},
		Free: map[string]facts.FreeSpace{}, MachineID: n.Name}
	for _, p := range facts.SpacePaths() {
		f.Free[p] = facts.FreeSpace{Device: "/dev/vda1", Bytes: 20 << 30}
	}
	return f
}

func codes(all []event.Finding) []string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Severity)+" "+f.Fault.Code)
	}
	return out
}

func TestWhatIsWrongWithAMachine(t *testing.T) {
	for name, c := range map[string]struct {
		node  config.Node
		spoil func(r *run, f *facts.Facts)
		want  []string
	}{
		"nothing": {worker, func(*run, *facts.Facts) {}, nil},
		"another architecture": {worker, func(_ *run, f *facts.Facts) { f.Arch = "arm64" },
			[]string{"error preflight.arch"}},
		"no systemd": {worker, func(_ *run, f *facts.Facts) { f.Systemd = false },
			[]string{"error preflight.no-systemd"}},
		"another address": {worker, func(_ *run, f *facts.Facts) { f.Addresses = []string{"10.0.0.1"} },
			[]string{"error preflight.address"}},
		"clock ahead": {worker, func(_ *run, f *facts.Facts) { f.Skew = 31 * time.Second },
			[]string{"error preflight.clock"}},
		"clock behind": {worker, func(_ *run, f *facts.Facts) { f.Skew = -time.Hour },
			[]string{"error preflight.clock"}},
		"clock a little off": {worker, func(_ *run, f *facts.Facts) { f.Skew = -6 * time.Second },
			[]string{"warning preflight.clock"}},
		"a slow answer is no skew": {worker, func(_ *run, f *facts.Facts) {
			f.Skew, f.SkewError = 32*time.Second, 30*time.Second
		}, nil},
		"something missing": {worker, func(_ *run, f *facts.Facts) {
			f.Missing = []string{"program tar", "cgroup controller pids"}
		}, []string{"error preflight.missing"}},
		"swap": {worker, func(_ *run, f *facts.Facts) { f.Swap = true },
			[]string{"error preflight.swap"}},
		"swap under etcd alone": {config.Node{Name: "e1", IP: worker.IP, Arch: "amd64", Roles: []bundle.Role{etcdRole}},
			func(_ *run, f *facts.Facts) {
				f.Swap = true
			}, nil},
		"another release": {worker, func(_ *run, f *facts.Facts) { f.OS["VERSION_CODENAME"] = "trixie" },
			[]string{"error preflight.os"}},
		"another package manager": {worker, func(_ *run, f *facts.Facts) { f.PkgManagers = []string{"dnf"} },
			[]string{"error preflight.no-packager"}},
		"dnf beside apt": {worker, func(_ *run, f *facts.Facts) {
			f.PkgManagers = []string{"apt-get", "dnf", "yum"}
		}, nil},
		"another family": {worker, func(_ *run, f *facts.Facts) {
			f.OS["ID"], f.PkgManagers = "openEuler", []string{"apt-get", "dnf"}
		}, []string{"error preflight.os"}},
		"a derivative": {worker, func(_ *run, f *facts.Facts) {
			f.OS["ID"], f.OS["ID_LIKE"] = "raspbian", "debian"
		}, nil},
		"a system nobody knows": {worker, func(_ *run, f *facts.Facts) { f.OS = map[string]string{} },
			[]string{"error preflight.os"}},
		"another cluster": {worker, func(_ *run, f *facts.Facts) {
			f.Cluster, f.Active = "theirs", []string{"kubelet"}
		}, []string{"error preflight.other-cluster"}},
		"ours already": {worker, func(_ *run, f *facts.Facts) {
			f.Cluster, f.Active, f.Present, f.Listening[10250] = "mine", []string{"kubelet"},
				[]string{"/etc/kubernetes"}, "kubelet"
		}, nil},
		"a foreign kubelet": {worker, func(_ *run, f *facts.Facts) {
			f.Active, f.Listening[10250] = []string{"kubelet"}, "kubelet"
		}, []string{"error preflight.foreign-cluster"}},
		"leftovers": {worker, func(_ *run, f *facts.Facts) { f.Present = []string{"/var/lib/etcd"} },
			[]string{"error preflight.leftovers"}},
		"a port is taken": {worker, func(_ *run, f *facts.Facts) { f.Listening[10250] = "nginx" },
			[]string{"error preflight.port"}},
		"two ports of the master": {master, func(_ *run, f *facts.Facts) {
			f.Listening[2379], f.Listening[6443] = "x", "y"
		}, []string{"error preflight.port", "error preflight.port"}},
		"the master's, on a worker": {worker, func(_ *run, f *facts.Facts) {
			f.Listening[2379], f.Listening[6443] = "x", "y"
		}, nil},
		"no space": {worker, func(_ *run, f *facts.Facts) { full(f, "/dev/vda1", 100<<20) },
			[]string{"error preflight.disk"}},
		"no space for images": {worker, func(_ *run, f *facts.Facts) {
			f.Free["/var/lib/containerd"] = facts.FreeSpace{Device: "/dev/vdb", Bytes: 600 << 20}
		}, []string{"error preflight.disk"}},
		"just space for images": {worker, func(_ *run, f *facts.Facts) {
			f.Free["/var/lib/containerd"] = facts.FreeSpace{Device: "/dev/vdb", Bytes: (512 + 3*71) << 20}
		}, nil},
		"no space, but ours already": {worker, func(_ *run, f *facts.Facts) {
			f.Cluster = "mine"
			full(f, "/dev/vda1", 1)
			f.Versions = []string{"kubelet-"}
		}, nil},
		"a daemon.json": {worker, func(r *run, f *facts.Facts) {
			r.Cluster.Runtime, f.DockerJSON = "docker", true
		}, []string{"warning preflight.docker-json"}},
		"a daemon.json in vain": {worker, func(_ *run, f *facts.Facts) { f.DockerJSON = true }, nil},
		"one CPU": {master, func(_ *run, f *facts.Facts) { f.CPUs = 1 },
			[]string{"warning preflight.cpus"}},
		"1 GiB of memory": {master, func(_ *run, f *facts.Facts) { f.Memory = 1 << 30 },
			[]string{"warning preflight.memory"}},
		"a small worker":     {worker, func(_ *run, f *facts.Facts) { f.CPUs, f.Memory = 1, 1<<30 }, nil},
		"two CPUs and 2 GiB": {master, func(_ *run, f *facts.Facts) { f.CPUs, f.Memory = 2, 2<<30 }, nil},
		"SELinux under nginx": {balancerNode, func(_ *run, f *facts.Facts) { f.SELinux = true },
			[]string{"warning preflight.selinux-balancer"}},
		"SELinux elsewhere": {worker, func(_ *run, f *facts.Facts) { f.SELinux = true }, nil},
		"an endpoint nobody knows": {worker, func(r *run, f *facts.Facts) {
			named(r, f)
			r.Cluster.Nodes = append(r.Cluster.Nodes, master)
		}, []string{"error preflight.endpoint-unknown"}},
		"of one control plane": {worker, named, []string{"warning preflight.endpoint-told"}},
		"of a load balancer": {worker, func(r *run, f *facts.Facts) {
			named(r, f)
			r.Cluster.Nodes = append(r.Cluster.Nodes, master, balancerNode)
		}, []string{"warning preflight.endpoint-told"}},
		"which a member never asks": {etcdOnly, named, nil},
		"no bundle to compare with": {worker, func(r *run, f *facts.Facts) {
			r.SetBundle("amd64", nil)
			f.PkgManagers = nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newTestRun(), good(c.node)
			c.spoil(r, f)
			got := r.judgeNode(c.node, f)
			if diff := cmp.Diff(c.want, codes(got)); diff != "" {
				t.Error(diff)
			}
			for _, g := range got {
				if g.Host != c.node.Name || g.Fault.Node != c.node.Name || g.Fault.Class != event.ClassPreflight {
					t.Errorf("%+v", g)
				}
			}
		})
	}
}

var balancerNode = config.Node{Name: "lb", IP: netip.MustParseAddr("192.0.2.41"), Port: 22, Arch: "amd64",
	Roles: []bundle.Role{bundle.LoadBalancer}}

// named has the cluster reached by a name that the machine cannot resolve.
func named(r *run, f *facts.Facts) { r.Cluster.Endpoint, f.Resolves = "api.example.org:6443", "no" }

func full(f *facts.Facts, device string, left int64) {
	for p := range f.Free {
		f.Free[p] = facts.FreeSpace{Device: device, Bytes: left}
	}
}

func TestWhatABundleLacks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *config.Cluster, m *bundle.Manifest)
		want   []string
	}{
		"nothing": {func(*config.Cluster, *bundle.Manifest) {}, nil},
		"of another machine": {func(_ *config.Cluster, m *bundle.Manifest) { m.Arch = "arm64" },
			[]string{"error bundle.wrong-arch"}},
		"no pause": {func(_ *config.Cluster, m *bundle.Manifest) { m.Images = m.Images[1:] },
			[]string{"error bundle.image-absent"}},
		"another pause": {func(c *config.Cluster, _ *bundle.Manifest) { c.PauseImage = "k8s.gcr.io/pause:3.2" },
			[]string{"error bundle.image-absent"}},
		"another CoreDNS": {func(c *config.Cluster, _ *bundle.Manifest) { c.DNS.ImageVersion = "1.8.4" },
			[]string{"error bundle.image-absent"}},
		"the same, without v": {func(c *config.Cluster, _ *bundle.Manifest) { c.DNS.ImageVersion = "1.12.1" }, nil},
		"no network plugin": {func(c *config.Cluster, _ *bundle.Manifest) { c.NetworkPlugin = "calico" },
			[]string{"error bundle.no-addon"}},
		"an addon": {func(c *config.Cluster, _ *bundle.Manifest) {
			c.Addons = []config.Addon{{Filename: "metrics.yaml"}, {Filename: "x.yaml"}}
		}, []string{"error bundle.no-addon"}},
		"a package": {func(c *config.Cluster, _ *bundle.Manifest) {
			c.Packages[workerRole] = []config.Package{{Name: "kubelet", Type: "binary"},
				{Name: "addons", Type: "binary"}, {Name: "containerd", Type: "pkg"}, {Name: "nginx", Type: "pkg"}}
		}, []string{"error bundle.no-package"}},
		"the runtime, in a list": {func(c *config.Cluster, _ *bundle.Manifest) {
			c.Packages[workerRole] = []config.Package{{Name: "kubelet", Type: "binary"}}
		}, []string{"error bundle.no-runtime"}},
		"another runtime": {func(c *config.Cluster, _ *bundle.Manifest) { c.Runtime = "isulad" },
			[]string{"error bundle.no-runtime"}},
		"docker and what it needs": {func(c *config.Cluster, _ *bundle.Manifest) { c.Runtime = "docker" },
			[]string{"error bundle.no-runtime", "error bundle.no-runtime"}},
		"containerd as a program": {func(_ *config.Cluster, m *bundle.Manifest) {
			m.Install = nil
			m.Members = append(m.Members, bundle.Member{Path: "containerd", Kind: bundle.Binary, Name: "containerd",
				Dst: "/usr/local/bin", Roles: []bundle.Role{cpRole, workerRole}})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRun()
			m := manifest()
			c.change(r.Cluster, m)
			r.SetBundle("amd64", box{m})
			for _, n := range r.Cluster.Nodes {
				r.SetFact(n.Name, good(n))
			}
			got := r.judgeBundles()
			if diff := cmp.Diff(c.want, codes(got)); diff != "" {
				t.Error(diff, got)
			}
			for _, g := range got {
				if g.Fault.Class != event.ClassBundle || g.Fault.Args["arch"] != "amd64" {
					t.Errorf("%+v", g)
				}
			}
		})
	}
}

func TestMachinesThatWereCopiedAreTold(t *testing.T) {
	r := newTestRun()
	r.SetFact("m1", good(master))
	r.SetFact("w1", good(worker))
	if got := r.judgeTogether(); got != nil {
		t.Error(got)
	}
	r.Fact("w1").MachineID = "m1"
	if got := codes(r.judgeTogether()); !slices.Equal(got, []string{"warning preflight.machine-id"}) {
		t.Error(got)
	}
	r.Fact("w1").MachineID, r.Fact("m1").MachineID = "", ""
	if got := r.judgeTogether(); got != nil {
		t.Error("two machines without an identity:", got)
	}
}

func files(list []payload.Placed) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.File)
	}
	return out
}

func TestANodeGetsWhatItsRolesNeed(t *testing.T) {
	both := config.Node{Name: "b", Roles: []bundle.Role{cpRole, workerRole, etcdRole}}
	bin := func(names ...string) []string {
		for i := range names {
			names[i] = "/usr/local/bin/" + names[i]
		}
		return names
	}
	for name, c := range map[string]struct {
		node     config.Node
		packages map[bundle.Role][]config.Package
		files    []string
		install  []string
	}{
		"a master": {master, nil, bin("kube-apiserver", "kubelet", "etcd"), []string{"containerd"}},
		"a worker": {worker, nil, append(bin("kubelet"), "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"),
			[]string{"containerd", "socat"}},
		"all, each once": {both, nil, append(bin("kube-apiserver", "kubelet"), "/opt/cni/bin/bridge",
			"/opt/cni/bin/loopback", "/usr/local/bin/etcd"), []string{"containerd", "socat"}},
		"an empty list": {worker, map[bundle.Role][]config.Package{workerRole: {}},
			append(bin("kubelet"), "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"), []string{"containerd", "socat"}},
		"another's list": {worker, map[bundle.Role][]config.Package{cpRole: {{Name: "etcd", Type: "binary",
			Dst: "/usr/bin"}}}, append(bin("kubelet"), "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"),
			[]string{"containerd", "socat"}},
		"a list of its own": {worker, map[bundle.Role][]config.Package{workerRole: {
			{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}, {Name: "cni", Type: "binary", Dst: "/opt/own"},
			{Name: "addons", Type: "binary", Dst: "/etc/kubernetes"}, {Name: "runc", Type: "pkg"},
			{Name: "runc", Type: "pkg"}, {Name: "absent", Type: "binary", Dst: "/x"}}},
			[]string{"/usr/bin/kubelet", "/opt/own/bridge", "/opt/own/loopback",
				"/etc/kubernetes/addons/kube-flannel.yml", "/etc/kubernetes/addons/metrics.yaml"}, []string{"runc"}},
		"a list for one of two roles": {config.Node{Name: "b", Roles: []bundle.Role{cpRole, workerRole}},
			map[bundle.Role][]config.Package{workerRole: {{Name: "cni", Type: "binary", Dst: "/opt/own"}}},
			append(bin("kube-apiserver", "kubelet"), "/opt/own/bridge", "/opt/own/loopback"), []string{"containerd"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRun()
			r.Cluster.Packages = c.packages
			got := r.Members(c.node, manifest())
			if diff := cmp.Diff(c.files, files(got)); diff != "" {
				t.Error(diff)
			}
			for _, p := range got {
				if want := map[bool]uint32{true: 0o644, false: 0o755}[p.Kind == bundle.Addon]; p.Mode != want {
					t.Errorf("%s has mode %o", p.File, p.Mode)
				}
			}
			if diff := cmp.Diff(c.install, r.Packages(c.node, manifest())); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := newTestRun().Images(master, manifest()); len(got) != 2 {
		t.Error("images of a master:", got)
	}
	if got := newTestRun().Images(worker, manifest()); len(got) != 3 {
		t.Error("images of a worker:", got)
	}
	if got := newTestRun().Images(config.Node{Roles: []bundle.Role{etcdRole}}, manifest()); got != nil {
		t.Error("images of etcd:", got)
	}
}

func TestWhichPauseAndWhichDNS(t *testing.T) {
	r := newTestRun()
	for _, c := range []struct{ pause, dns, wantPause, wantDNS string }{
		{"", "", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/coredns/coredns:v1.12.1"},
		{"own:5000/pause:1", "v1.12.1", "own:5000/pause:1", "registry.k8s.io/coredns/coredns:v1.12.1"},
		{"", "1.12.1", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/coredns/coredns:v1.12.1"},
		{"", "1.8.4", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/coredns/coredns:1.8.4"},
	} {
		r.Cluster.PauseImage, r.Cluster.DNS.ImageVersion = c.pause, c.dns
		if p, d := r.PauseImage(manifest()), r.DNSImage(manifest()); p != c.wantPause || d != c.wantDNS {
			t.Errorf("%+v: %s, %s", c, p, d)
		}
	}
}

func TestTheNetworkPluginComesFirstUnlessListed(t *testing.T) {
	r := newTestRun()
	for _, c := range []struct{ listed, want []string }{
		{nil, []string{"kube-flannel.yml"}},
		{[]string{"metrics.yaml"}, []string{"kube-flannel.yml", "metrics.yaml"}},
		{[]string{"metrics.yaml", "kube-flannel.yml"}, []string{"metrics.yaml", "kube-flannel.yml"}},
	} {
		r.Cluster.Addons = nil
		for _, f := range c.listed {
			r.Cluster.Addons = append(r.Cluster.Addons, config.Addon{Filename: f})
		}
		if got := r.AddonFiles(manifest()); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.listed, got)
		}
	}
}

func TestWhoWaitsForAProgram(t *testing.T) {
	for want, roles := range map[string][]bundle.Role{plan.GroupEtcd: {etcdRole}, plan.GroupControl: {cpRole},
		plan.GroupNode: {cpRole, workerRole, etcdRole}} {
		if got := plan.GroupOf(config.Node{Roles: []bundle.Role{cpRole, etcdRole}},
			bundle.Member{Roles: roles}); got != want {
			t.Errorf("%v: %s", roles, got)
		}
		if got := plan.GroupOf(config.Node{Roles: []bundle.Role{workerRole}},
			bundle.Member{Roles: roles}); got != plan.GroupNode {
			t.Errorf("%v on a worker: %s", roles, got)
		}
	}
	if got := plan.GroupOf(config.Node{}, bundle.Member{}); got != plan.GroupNode {
		t.Error("a file that deploy.yaml lists and nobody needs:", got)
	}
}

func TestSkewIsWordedAsPreciselyAsItIsKnown(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour - 700*time.Millisecond: "1h0m0s", time.Hour + 2*time.Second: "1h0m0s",
		-time.Hour - time.Second: "-1h0m0s",
		31 * time.Second:         "31s", 31*time.Second + 400*time.Millisecond: "31s",
		9*time.Minute + 59*time.Second: "9m59s",
	} {
		if got := wordSkew(d); got != want {
			t.Errorf("%s is worded %s, not %s", d, got, want)
		}
	}
}

func TestWhatTheAPIServerWaitsFor(t *testing.T) {
	long := errors.New("[+]ping ok\n[+]log ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n" +
		"[-]autoregister-completion failed: reason withheld\n[+]shutdown ok")
	if got := clients.Unready(long).Error(); got != "waiting for rbac/bootstrap-roles, autoregister-completion" {
		t.Error(got)
	}
	if plain := errors.New("connection refused"); clients.Unready(plain) != plain {
		t.Error("an error without checks is not the same any more")
	}
}

// TestRoomForAnotherVersion: beside the binaries that run the node needs room for those that are about to come, and for
// no others.
func TestRoomForAnotherVersion(t *testing.T) {
	r := newTestRun()
	m := manifest()
	for i := range m.Members {
		m.Members[i].SHA256 = strings.Repeat("5", 64)
	}
	f := good(worker)
	f.Cluster = r.Cluster.Name
	f.Free["/opt/eggo"] = facts.FreeSpace{Device: "/dev/vdc", Bytes: 50 << 20}
	if got := codes(r.judgeSpace(worker, f, box{m})); !slices.Equal(got, []string{"error preflight.disk"}) {
		t.Errorf("60 MiB into 50: %v", got)
	}
	f.Versions = []string{"kubelet-555555555555"}
	if got := codes(r.judgeSpace(worker, f, box{m})); len(got) > 0 {
		t.Errorf("it is there already: %v", got)
	}
	f.Cluster, f.Versions = "", nil
	if got := codes(r.judgeSpace(worker, f, box{m})); !slices.Equal(got, []string{"error preflight.disk"}) {
		t.Errorf("a new machine: %v", got)
	}
}
