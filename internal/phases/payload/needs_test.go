package payload

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
	"github.com/google/go-cmp/cmp"
)

// payloadOfTwo is what a control plane and a worker get of a bundle.
func payloadOfTwo() *Payload {
	r := &Payload{Nodes: inventory.New(&input.Env{Cluster: &config.Cluster{Name: "mine", NetworkPlugin: "flannel",
		Nodes: []config.Node{nodestest.Master(), nodestest.Worker()}, Packages: map[bundle.Role][]config.Package{}}},
		facts.Places{})}
	r.Executed = func(config.Node) []string { return []string{"etcd", "kube-apiserver", "kubelet"} }
	r.SetBundle("amd64", nodestest.Box{Is: nodestest.Manifest()})
	return r
}

func files(list []Placed) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.File)
	}
	return out
}

func TestANodeGetsWhatItsRolesNeed(t *testing.T) {
	both := config.Node{Name: "b", Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd}}
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
		"a master": {nodestest.Master(), nil, bin("kube-apiserver", "kubelet", "etcd"), []string{"containerd"}},
		"a worker": {nodestest.Worker(), nil, append(bin("kubelet"), "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"),
			[]string{"containerd", "socat"}},
		"all, each once": {both, nil, append(bin("kube-apiserver", "kubelet"), "/opt/cni/bin/bridge",
			"/opt/cni/bin/loopback", "/usr/local/bin/etcd"), []string{"containerd", "socat"}},
		"an empty list": {nodestest.Worker(), map[bundle.Role][]config.Package{bundle.Worker: {}},
			append(bin("kubelet"), "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"), []string{"containerd", "socat"}},
		"another's list": {nodestest.Worker(), map[bundle.Role][]config.Package{bundle.ControlPlane: {{
			Name: "etcd", Type: "binary", Dst: "/usr/bin"}}},
			append(bin("kubelet"), "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"),
			[]string{"containerd", "socat"}},
		"a list of its own": {nodestest.Worker(), map[bundle.Role][]config.Package{bundle.Worker: {
			{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}, {Name: "cni", Type: "binary", Dst: "/opt/own"},
			{Name: "addons", Type: "binary", Dst: "/etc/kubernetes"}, {Name: "runc", Type: "pkg"},
			{Name: "runc", Type: "pkg"}, {Name: "absent", Type: "binary", Dst: "/x"}}},
			[]string{"/usr/bin/kubelet", "/opt/own/bridge", "/opt/own/loopback",
				"/etc/kubernetes/addons/kube-flannel.yml", "/etc/kubernetes/addons/metrics.yaml"}, []string{"runc"}},
		"a list for one of two roles": {config.Node{Name: "b",
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}},
			map[bundle.Role][]config.Package{bundle.Worker: {{Name: "cni", Type: "binary", Dst: "/opt/own"}}},
			append(bin("kube-apiserver", "kubelet"), "/opt/own/bridge", "/opt/own/loopback"), []string{"containerd"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := payloadOfTwo()
			r.Cluster.Packages = c.packages
			got := r.Members(c.node, nodestest.Manifest())
			if diff := cmp.Diff(c.files, files(got)); diff != "" {
				t.Error(diff)
			}
			for _, p := range got {
				if want := map[bool]uint32{true: 0o644, false: 0o755}[p.Kind == bundle.Addon]; p.Mode != want {
					t.Errorf("%s has mode %o", p.File, p.Mode)
				}
			}
			if diff := cmp.Diff(c.install, r.Packages(c.node, nodestest.Manifest())); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := payloadOfTwo().Images(nodestest.Master(), nodestest.Manifest()); len(got) != 2 {
		t.Error("images of a master:", got)
	}
	if got := payloadOfTwo().Images(nodestest.Worker(), nodestest.Manifest()); len(got) != 3 {
		t.Error("images of a worker:", got)
	}
	if got := payloadOfTwo().Images(config.Node{Roles: []bundle.Role{bundle.Etcd}}, nodestest.Manifest()); got != nil {
		t.Error("images of etcd:", got)
	}
}

func TestWhichPauseAndWhichDNS(t *testing.T) {
	r := payloadOfTwo()
	for _, c := range []struct{ pause, dns, wantPause, wantDNS string }{
		{"", "", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/coredns/coredns:v1.12.1"},
		{"own:5000/pause:1", "v1.12.1", "own:5000/pause:1", "registry.k8s.io/coredns/coredns:v1.12.1"},
		{"", "1.12.1", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/coredns/coredns:v1.12.1"},
		{"", "1.8.4", "registry.k8s.io/pause:3.10.1", "registry.k8s.io/coredns/coredns:1.8.4"},
	} {
		r.Cluster.PauseImage, r.Cluster.DNS.ImageVersion = c.pause, c.dns
		m := nodestest.Manifest()
		if p, d := r.PauseImage(m), r.DNSImage(m); p != c.wantPause || d != c.wantDNS {
			t.Errorf("%+v: %s, %s", c, p, d)
		}
	}
}

func TestTheNetworkPluginComesFirstUnlessListed(t *testing.T) {
	r := payloadOfTwo()
	for _, c := range []struct{ listed, want []string }{
		{nil, []string{"kube-flannel.yml"}},
		{[]string{"metrics.yaml"}, []string{"kube-flannel.yml", "metrics.yaml"}},
		{[]string{"metrics.yaml", "kube-flannel.yml"}, []string{"metrics.yaml", "kube-flannel.yml"}},
	} {
		r.Cluster.Addons = nil
		for _, f := range c.listed {
			r.Cluster.Addons = append(r.Cluster.Addons, config.Addon{Filename: f})
		}
		if got := r.AddonFiles(nodestest.Manifest()); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.listed, got)
		}
	}
}

// What each type of a list means, beside what the manifest says or in its place.
func TestPackagesOfAllTypes(t *testing.T) {
	m := nodestest.Manifest()
	m.Members = append(m.Members,
		bundle.Member{Path: "site.conf", Kind: bundle.ExtraFile, Name: "site.conf", Mode: 0o640},
		bundle.Member{Path: "tools/a/x", Kind: bundle.ExtraDir, Name: "tools", Mode: 0o750},
		bundle.Member{Path: "tools/y", Kind: bundle.ExtraDir, Name: "tools", Mode: 0o644},
		bundle.Member{Path: "post.sh", Kind: bundle.ExtraFile, Name: "post.sh"})
	manifests := []string{"/usr/local/bin/kubelet", "/opt/cni/bin/bridge", "/opt/cni/bin/loopback"}
	for name, c := range map[string]struct {
		list  []config.Package
		files []string
	}{
		"a file": {[]config.Package{{Name: "site.conf", Type: "file", Dst: "/etc/kubernetes"}},
			[]string{"/etc/kubernetes/site.conf"}},
		"a directory": {[]config.Package{{Name: "tools", Type: "dir", Dst: "/opt/cni/bin"}},
			[]string{"/opt/cni/bin/tools/a/x", "/opt/cni/bin/tools/y"}},
		"a directory as binary": {[]config.Package{{Name: "tools", Type: "binary", Dst: "/tmp"}},
			[]string{"/tmp/tools/a/x", "/tmp/tools/y"}},
		"beside what there is": {[]config.Package{{Name: "site.conf", Type: "file", Dst: "/etc/kubernetes",
			Addition: true}}, append(slices.Clone(manifests), "/etc/kubernetes/site.conf")},
		"images and a script": {[]config.Package{{Name: "agnhost", Type: "image"},
			{Name: "post.sh", Type: "shell", Schedule: "postjoin"}}, manifests},
		"from the machine's own": {[]config.Package{{Name: "jq", Type: "repo", Addition: true}}, manifests},
	} {
		r := payloadOfTwo()
		r.Cluster.Packages[bundle.Worker] = c.list
		if diff := cmp.Diff(c.files, files(r.Members(nodestest.Worker(), m))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, p := range c.list {
			if !p.In(m) {
				t.Errorf("%s: %s is not found", name, p.Name)
			}
			p.Name = "absent"
			if p.Type != "repo" && p.In(m) {
				t.Errorf("%s: %s is found", name, p.Name)
			}
		}
	}
	r := payloadOfTwo()
	r.Cluster.Packages[bundle.ControlPlane] = []config.Package{{Name: "agnhost:2.57", Type: "image"},
		{Name: "metrics.yaml", Type: "yaml"}, {Name: "https://x.example/y.yaml", Type: "yaml"}}
	if got := r.Images(nodestest.Master(), m); len(got) != 3 {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"kube-flannel.yml", "metrics.yaml", "https://x.example/y.yaml"},
		r.AddonFiles(m)); diff != "" {
		t.Error(diff)
	}
}

// A service starts the program where the list puts it.
func TestServicesStartWhatWasPlaced(t *testing.T) {
	r := payloadOfTwo()
	r.SetFact(nodestest.Worker().Name, nodestest.Good(nodestest.Worker()))
	r.Cluster.Packages[bundle.Worker] = []config.Package{{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}}
	if got := r.ProgramPath(nodestest.Worker(), "kubelet"); got != "/usr/bin/kubelet" {
		t.Error(got)
	}
	if got := r.ProgramPath(nodestest.Master(), "kubelet"); got != "/usr/local/bin/kubelet" {
		t.Error(got)
	}
}

// Every reason for which a place is refused has its message, in both languages.
func TestEveryReasonHasAMessage(t *testing.T) {
	for use, files := range map[nodepath.Use][]string{
		nodepath.File:   {"/etc/sudoers.d/x", "/usr/bin/a b", "/etc/systemd/system/x.service"},
		nodepath.Listed: {"/etc/kubernetes/pki/ca.crt"},
	} {
		for _, file := range files {
			f := PlaceFault(Placed{Member: bundle.Member{Path: "member"}, File: file, Use: use})
			if f == nil {
				t.Fatal(file)
			}
			for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
				text, next := i18n.NewPrinter(lang).Fault(f.On("n1"))
				if !strings.Contains(text, "n1") || !strings.Contains(text, path.Base(file)) || next == "" ||
					strings.Contains(text+next, "{") {
					t.Errorf("%s: %s %s", file, text, next)
				}
			}
		}
	}
}

// A node that was imported keeps its container runtime, its network and its packages; what deploy.yaml lists it gets.
func TestAnImportedNodeKeepsWhatIsNotOurs(t *testing.T) {
	r := payloadOfTwo()
	f := nodestest.Good(nodestest.Worker())
	f.Cluster, f.RecordKinds, f.TheirKubelet = "mine", []string{"imported"}, true
	r.SetFact("w1", f)
	r.Cluster.Eggo.Imported = true
	m := nodestest.Manifest()
	m.Members = append(m.Members, bundle.Member{Path: "runc", Kind: bundle.Binary, Name: "runc", Dst: "/usr/local/bin",
		Roles: []bundle.Role{bundle.Worker}})
	if got := files(r.Members(nodestest.Worker(), m)); !slices.Equal(got, []string{"/usr/local/bin/kubelet"}) {
		t.Error(got)
	}
	if got := r.Packages(nodestest.Worker(), m); len(got) > 0 {
		t.Error(got)
	}
	if got := r.AddonFiles(m); len(got) > 0 {
		t.Error(got)
	}
	r.Cluster.Addons = []config.Addon{{Filename: "metrics.yaml"}}
	if got := r.AddonFiles(m); !slices.Equal(got, []string{"metrics.yaml"}) {
		t.Error(got)
	}
	f.TheirKubelet = false // a control plane of the original eggo gets all of it
	if got := files(r.Members(nodestest.Worker(), m)); len(got) != 4 || len(r.Packages(nodestest.Worker(), m)) == 0 {
		t.Error(got)
	}
	f.RecordKinds = []string{"unit"} // one that has joined later
	if got := files(r.Members(nodestest.Worker(), m)); len(got) != 4 {
		t.Error(got)
	}
}
