package phases

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/nodestest"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

var (
	cpRole, workerRole, etcdRole = bundle.ControlPlane, bundle.Worker, bundle.Etcd
	master, worker               = nodestest.Master(), nodestest.Worker()
	etcdOnly                     = config.Node{Name: "e1", IP: worker.IP, Port: 22, Arch: "amd64",
		Roles: []bundle.Role{etcdRole}}
)

func manifest() *bundle.Manifest { return nodestest.Manifest() }

func good(n config.Node) *facts.Facts { return nodestest.Good(n) }

// judged is what preflight finds by checks of these.
func (r *run) judged(t *testing.T, checks []preflight.Check, n config.Node) []string {
	t.Helper()
	return codes(preflight.Run(t.Context(), r.checked([]config.Node{n}), checks))
}

// box is a bundle that is only its manifest.
type box struct{ m *bundle.Manifest }

func (b box) Manifest() *bundle.Manifest                          { return b.m }
func (box) Open(string) (io.ReadSeekCloser, error)                { return nil, io.EOF }
func (box) Images(context.Context, []string) (bundle.File, error) { return bundle.File{}, io.EOF }

func newTestRun() *run {
	r := newRun(Env{Cluster: &config.Cluster{Name: "mine", Nodes: []config.Node{master, worker},
		NetworkPlugin: "flannel", Packages: map[bundle.Role][]config.Package{}}, Now: time.Now})
	r.SetBundle("amd64", box{manifest()})
	return r
}

func codes(all []event.Finding) []string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Severity)+" "+f.Fault.Code)
	}
	return out
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
