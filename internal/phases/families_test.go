package phases

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
)

func system(kv ...string) *facts.Facts {
	f := &facts.Facts{OS: map[string]string{}, PkgManagers: []string{"apt-get", "dnf", "yum"}}
	for i := 0; i < len(kv); i += 2 {
		f.OS[kv[i]] = kv[i+1]
	}
	return f
}

func TestWhichBundleFitsASystem(t *testing.T) {
	debian := bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"}
	centos := bundle.OS{Family: "rpm", ID: "centos", Release: "9"}
	euler := bundle.OS{Family: "rpm", ID: "openEuler", Release: "24.03"}
	for name, c := range map[string]struct {
		f    *facts.Facts
		want []bundle.OS
	}{
		"Debian": {system("ID", "debian", "VERSION_ID", "12", "VERSION_CODENAME", "bookworm"),
			[]bundle.OS{debian}},
		"Debian 13": {system("ID", "debian", "VERSION_ID", "13", "VERSION_CODENAME", "trixie"), nil},
		"Ubuntu": {system("ID", "ubuntu", "ID_LIKE", "debian", "VERSION_ID", "22.04", "VERSION_CODENAME",
			"jammy"), nil},
		"openEuler":       {system("ID", "openEuler", "VERSION_ID", "24.03"), []bundle.OS{euler}},
		"openEuler 22.03": {system("ID", "openEuler", "VERSION_ID", "22.03"), nil},
		"CentOS Stream":   {system("ID", "centos", "ID_LIKE", "rhel fedora", "VERSION_ID", "9"), []bundle.OS{centos}},
		"Rocky": {system("ID", "rocky", "ID_LIKE", "rhel centos fedora", "VERSION_ID", "9.4"),
			[]bundle.OS{centos}},
		"RHEL":   {system("ID", "rhel", "ID_LIKE", "fedora", "VERSION_ID", "9.5"), []bundle.OS{centos}},
		"RHEL 8": {system("ID", "rhel", "ID_LIKE", "fedora", "VERSION_ID", "8.9"), nil},
		"Fedora": {system("ID", "fedora", "VERSION_ID", "9"), nil},
		"nobody": {system(), nil},
	} {
		var got []bundle.OS
		for _, os := range []bundle.OS{debian, centos, euler} {
			if c.f.Fits(&bundle.Manifest{OS: os, Install: []bundle.Package{{Name: "runc"}}}) {
				got = append(got, os)
			}
			if !c.f.Fits(&bundle.Manifest{OS: os}) {
				t.Errorf("%s: a bundle without packages does not fit", name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Two machines of one architecture, each served from the bundle of its family; one that neither fits is told with both.
func TestEachMachineGetsTheBundleOfItsSystem(t *testing.T) {
	r := newTestRun()
	euler := manifest()
	euler.Name, euler.OS = "e", bundle.OS{Family: "rpm", ID: "openEuler", Release: "24.03"}
	bare := manifest()
	bare.Name, bare.Install, bare.Members = "bare", nil, nil
	r.Cluster.Source = config.PackageSource{Bundles: map[string]string{"amd64": "b.tar.gz"}, More: []string{"e.tar.gz"}}
	r.SetBundle("extra-1", box{euler})
	w := good(worker)
	w.OS, w.PkgManagers = map[string]string{"ID": "openEuler", "VERSION_ID": "24.03"}, []string{"apt-get", "dnf"}
	r.SetFact(master.Name, good(master))
	r.SetFact(worker.Name, w)
	if a, b := r.BundleOf(master).Manifest().Name, r.BundleOf(worker).Manifest().Name; a != "b" || b != "e" {
		t.Errorf("served from %s and %s", a, b)
	}
	if got := append(r.judgeNode(worker, w), r.judgeBundles()...); len(got) > 0 {
		t.Errorf("%v", got)
	}
	euler.Kubernetes = "v1.33.1"
	if got := codes(r.judgeBundles()); !slices.Equal(got, []string{"error bundle.versions"}) {
		t.Error(got)
	}
	w.OS["VERSION_ID"] = "22.03"
	got := r.judgeNode(worker, w)
	if !slices.Equal(codes(got), []string{"error preflight.os"}) ||
		got[0].Fault.Args["for"] != "debian 12 (bookworm) (b), openEuler 24.03 (e)" {
		t.Errorf("%+v", got)
	}
	r.Cluster.Source.More = append(r.Cluster.Source.More, "bare.tar.gz")
	r.SetBundle("extra-2", box{bare})
	if b := r.BundleOf(worker); b == nil || b.Manifest().Name != "bare" {
		t.Error("a bundle without packages does not serve what no other fits")
	}
	worker := worker
	worker.Arch = "arm64"
	if got := codes(r.judgeSystem(worker, w)); !slices.Equal(got, []string{"error preflight.no-bundle"}) {
		t.Error(got)
	}
}
