package preflight

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

func TestTheBundlesVersionIsChecked(t *testing.T) {
	for version, want := range map[string][]string{
		"v1.29.14": {"error bundle.kubernetes-old"}, "v1.30.0": nil, "v1.36.3": nil,
		"v1.37.0": {"warning bundle.kubernetes-new"}, "1.34": {"error bundle.kubernetes-old"},
	} {
		r := newInput()
		m := nodestest.Manifest()
		m.Kubernetes = version
		if got := nodestest.Codes(onBundle(r, []Check{checkVersion(), checkFlags()},
			Source{Bundle: nodestest.Box{Is: m}, Roles: bundle.AllRoles()})); !slices.Equal(got, want) {
			t.Errorf("%s: %v", version, got)
		}
	}
	r := newInput()
	r.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kubelet",
		Args: map[string]string{"--pod-infra-container-image": "pause"}}}
	m := nodestest.Manifest()
	m.Kubernetes = "v1.35.1"
	if got := nodestest.Codes(onBundle(r, []Check{checkVersion(), checkFlags()},
		Source{Bundle: nodestest.Box{Is: m}, Roles: bundle.AllRoles()})); !slices.Equal(got,
		[]string{"error config.flag-replaced"}) {
		t.Errorf("%v", got)
	}
}

// TestTheDriverIsChecked: that of an installed cluster stays; kubeadm needs a version that reads its configuration.
func TestTheDriverIsChecked(t *testing.T) {
	r := newInput()
	saved := *r.Cluster
	r.Saved = &saved
	r.Cluster.Eggo.Driver = config.DriverKubeadm
	if got := nodestest.Codes(Run(t.Context(), r, []Check{checkDriver()})); !slices.Equal(got,
		[]string{"error preflight.driver-change"}) {
		t.Errorf("%v", got)
	}
	saved.Eggo.Driver = config.DriverKubeadm
	if got := Run(t.Context(), r, []Check{checkDriver()}); len(got) > 0 {
		t.Errorf("%v", got)
	}
	for version, want := range map[string][]string{"v1.30.4": {"error bundle.kubeadm-old"}, "v1.31.0": nil} {
		m := nodestest.Manifest()
		m.Kubernetes = version
		if got := nodestest.Codes(onBundle(r, []Check{checkKubeadm()},
			Source{Bundle: nodestest.Box{Is: m}, Roles: bundle.AllRoles()})); !slices.Equal(got, want) {
			t.Errorf("%s: %v", version, got)
		}
	}
}

// Two machines of one architecture, each served from the bundle of its family; one that neither fits is told with both.
func TestEachMachineGetsTheBundleOfItsSystem(t *testing.T) {
	r := newInput()
	euler := nodestest.Manifest()
	euler.Name, euler.OS = "e", bundle.OS{Family: "rpm", ID: "openEuler", Release: "24.03"}
	bare := nodestest.Manifest()
	bare.Name, bare.Install, bare.Members = "bare", nil, nil
	r.Cluster.Source = config.PackageSource{Bundles: map[string]string{"amd64": "b.tar.gz"}, More: []string{"e.tar.gz"}}
	r.SetBundle("extra-1", nodestest.Box{Is: euler})
	w := nodestest.Good(worker)
	w.OS, w.PkgManagers = map[string]string{"ID": "openEuler", "VERSION_ID": "24.03"}, []string{"apt-get", "dnf"}
	r.SetFact(master.Name, nodestest.Good(master))
	r.SetFact(worker.Name, w)
	if a, b := r.BundleOf(master).Manifest().Name, r.BundleOf(worker).Manifest().Name; a != "b" || b != "e" {
		t.Errorf("served from %s and %s", a, b)
	}
	if got := append(findings(t, r, worker, w), allFindings(t, r, Bundle()...)...); len(got) > 0 {
		t.Errorf("%v", got)
	}
	euler.Kubernetes = "v1.33.1"
	if got := nodestest.Codes(allFindings(t, r, Bundle()...)); !slices.Equal(got, []string{"error bundle.versions"}) {
		t.Error(got)
	}
	w.OS["VERSION_ID"] = "22.03"
	got := findings(t, r, worker, w)
	if !slices.Equal(nodestest.Codes(got), []string{"error preflight.os"}) ||
		got[0].Fault.Args["for"] != "debian 12 (bookworm) (b), openEuler 24.03 (e)" {
		t.Errorf("%+v", got)
	}
	r.Cluster.Source.More = append(r.Cluster.Source.More, "bare.tar.gz")
	r.SetBundle("extra-2", nodestest.Box{Is: bare})
	if b := r.BundleOf(worker); b == nil || b.Manifest().Name != "bare" {
		t.Error("a bundle without packages does not serve what no other fits")
	}
	worker := worker
	worker.Arch = "arm64"
	if got := nodestest.Codes(findingsOf(t, r, checkSystem(), worker, w)); !slices.Equal(got,
		[]string{"error preflight.no-bundle"}) {
		t.Error(got)
	}
}

// A bundle that serves members of etcd and load balancers alone needs neither images nor manifests.
func TestABundleForServersNeedsNoImages(t *testing.T) {
	r := newInput()
	m := *r.Bundle("amd64").Manifest()
	m.Images, m.Members = nil, m.Members[:2]
	if got := nodestest.Codes(bundleFindings(r, nodestest.Box{Is: &m}, etcdRole, bundle.LoadBalancer)); len(got) > 0 {
		t.Error(got)
	}
	if got := nodestest.Codes(bundleFindings(r, nodestest.Box{Is: &m}, workerRole)); !slices.Equal(got,
		[]string{"error bundle.image-absent", "error bundle.image-absent"}) {
		t.Error(got)
	}
}

// The findings come in the same order each time.
func TestFindingsOfABundleAreInOrder(t *testing.T) {
	r := newInput()
	for _, role := range []bundle.Role{workerRole, etcdRole, cpRole, bundle.LoadBalancer} {
		r.Cluster.Packages[role] = []config.Package{{Name: "no-" + string(role), Type: "pkg"},
			{Name: "containerd", Type: "pkg"}}
	}
	for range 20 {
		var got []string
		for _, f := range bundleFindings(r, r.Bundle("amd64"), bundle.AllRoles()...) {
			got = append(got, f.Fault.Args["role"])
		}
		if !slices.IsSorted(got) || len(got) != 4 {
			t.Fatal(got)
		}
	}
}

// TestImagesThatComponentsRunFrom: a driver may need images on nodes that have no pods of others.
func TestImagesThatComponentsRunFrom(t *testing.T) {
	r := newInput()
	r.Needed = func(n config.Node, m *bundle.Manifest) []string {
		if n.Has(etcdRole) {
			return []string{"registry.k8s.io/etcd:" + m.Kubernetes}
		}
		return nil
	}
	for role, want := range map[bundle.Role][]string{etcdRole: {"error bundle.image-absent"}, workerRole: nil} {
		if got := nodestest.Codes(bundleFindings(r, r.Bundle("amd64"), role)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
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
		"CoreDNS as a service": {func(c *config.Cluster, _ *bundle.Manifest) { c.DNS.Type = "binary" },
			[]string{"error bundle.no-coredns"}},
		"CoreDNS as a service, without its image": {func(c *config.Cluster, m *bundle.Manifest) {
			c.DNS.Type, m.Images = "binary", m.Images[:1]
			m.Members = append(m.Members, bundle.Member{Path: "coredns", Kind: bundle.Binary, Name: "coredns",
				Dst: "/usr/local/bin", Roles: []bundle.Role{cpRole}})
		}, nil},
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
			r := newInput()
			m := nodestest.Manifest()
			c.change(r.Cluster, m)
			r.SetBundle("amd64", nodestest.Box{Is: m})
			for _, n := range r.Cluster.Nodes {
				r.SetFact(n.Name, nodestest.Good(n))
			}
			got := allFindings(t, r, Bundle()...)
			if diff := cmp.Diff(c.want, nodestest.Codes(got)); diff != "" {
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

// A node that was imported keeps the runtime that it has, which the bundle need not have.
func TestTheRuntimeOfAnImportedNode(t *testing.T) {
	r := newInput()
	m := nodestest.Manifest()
	m.Install = nil
	r.SetBundle("amd64", nodestest.Box{Is: m})
	for _, n := range r.Cluster.Nodes {
		f := nodestest.Good(n)
		f.Cluster, f.RecordKinds, f.TheirKubelet = r.Cluster.Name, []string{"imported"}, true
		r.SetFact(n.Name, f)
	}
	if got := nodestest.Codes(allFindings(t, r, checkRuntime())); len(got) > 0 {
		t.Error(got)
	}
}
