package packages

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
)

// On a full disk a package manager cannot choose either: that is no reason to build another bundle.
func TestAFullDiskIsNoChoiceOfPackages(t *testing.T) {
	for cause, want := range map[string]bool{
		"E: Write error - write (28: No space left on device)\nE: IO Error saving source cache\nE: The package " +
			"lists or status " +
			"file could not be parsed or opened.": true,
		"E: Unable to mkstemp /tmp/fileutl.message.x - GetTempFile (30: Read-only file system)": true,
		"The following packages have unmet dependencies:\n containerd : Depends: runc":          false,
	} {
		if diskSays(cause) != want {
			t.Errorf("%q: %v", cause, !want)
		}
	}
}

// What dnf 4.14 printed with -v --assumeno.
const resolved = `DNF version: 4.14.0
repo: using cache for: eggo
--> Starting dependency resolution
---> Package app.noarch 1.0-1 will be installed
---> Package lib.noarch 1.0-1 will be upgraded
---> Package lib.noarch 2.0-1 will be an upgrade
---> Package libstdc++.i686 2:13.2.1-1.el9_3 will be installed
---> Package conntrack-tools.x86_64 0:1.4.7-1~b2 will be installed
---> Package gone.x86_64 1-1 will be erased
---> Package old-name.x86_64 1-1 will be obsoleted
---> Package new-name.x86_64 1-1 will be obsoleting
---> Package app.noarch 1.0-1 will be installed
---> Package noarch 1.0-1 will be installed
---> Package odd. 1.0-1 will be installed
---> Package app.noarch
--> Finished dependency resolution
Dependencies resolved.
 app             noarch             1.0-1                eggo             5.9 k
Operation aborted.
`

func TestWhatDNFWouldInstall(t *testing.T) {
	chosen, others := parseResolution(resolved)
	want := []chosenPackage{{"app", "1.0-1", "noarch"}, {"libstdc++", "2:13.2.1-1.el9_3", "i686"},
		{"conntrack-tools", "1.4.7-1~b2", "x86_64"}}
	if !slices.Equal(chosen, want) {
		t.Errorf("chosen %+v", chosen)
	}
	if !slices.Equal(others, []string{"lib", "gone", "old-name", "new-name"}) {
		t.Errorf("others %v", others)
	}
	if c, o := parseResolution("Package app-1.0-1.noarch is already installed.\nDependencies resolved.\nNothing to " +
		"do.\nComplete!\n"); c != nil || o != nil {
		t.Error(c, o)
	}
}

func FuzzResolution(f *testing.F) {
	f.Add(resolved)
	f.Add("---> Package a.b 1 will be installed")
	f.Fuzz(func(t *testing.T, s string) {
		chosen, others := parseResolution(s)
		for _, c := range chosen {
			if c.name == "" || c.arch == "" || strings.ContainsAny(c.name+c.version+c.arch, " \n") {
				t.Errorf("%+v", c)
			}
		}
		if slices.Contains(others, "") {
			t.Error("a package without a name")
		}
	})
}

func TestAnRPMIsFoundInTheBundle(t *testing.T) {
	m := &bundle.Manifest{Members: []bundle.Member{
		{Path: "lib-1.0-1.i686.rpm", Kind: bundle.RPM, Name: "lib", Version: "0:1.0-1"},
		{Path: "lib-1.0-1.x86_64.rpm", Kind: bundle.RPM, Name: "lib", Version: "1.0-1"},
		{Path: "e-1.0-1.noarch.rpm", Kind: bundle.RPM, Name: "e", Version: "2:1.0-1"},
	}}
	for c, want := range map[chosenPackage]string{
		{"lib", "1.0-1", "x86_64"}: "lib-1.0-1.x86_64.rpm", {"lib", "0:1.0-1", "i686"}: "lib-1.0-1.i686.rpm",
		{"e", "2:1.0-1", "noarch"}: "e-1.0-1.noarch.rpm",
		{"e", "1.0-1", "noarch"}:   "", {"lib", "1.0-2", "x86_64"}: "", {"lib", "1.0-1", "aarch64"}: "",
	} {
		if got, ok := memberOf(m, bundle.RPM, c); got.Path != want || ok != (want != "") {
			t.Errorf("%+v: %s", c, got.Path)
		}
	}
	if _, ok := memberOf(m, bundle.Deb, chosenPackage{"e", "2:1.0-1", ""}); ok {
		t.Error("an rpm was taken for a deb")
	}
}

func TestThePackageManagerIsThatOfTheFamily(t *testing.T) {
	both := []string{"apt-get", "dnf", "yum"}
	for name, c := range map[string]struct {
		id, like string
		programs []string
		want     packager
	}{
		"Debian with dnf":    {"debian", "", both, apt{}},
		"openEuler with apt": {"openEuler", "", both, dnf{"dnf"}},
		"yum alone":          {"centos", "rhel fedora", []string{"yum"}, dnf{"yum"}},
		"like Debian":        {"raspbian", "debian", both, apt{}},
		"Debian without apt": {"debian", "", []string{"dnf"}, nil},
		"unknown":            {"plan9", "", both, nil},
	} {
		f := &facts.Facts{OS: map[string]string{"ID": c.id, "ID_LIKE": c.like}, PkgManagers: c.programs}
		if got := packagerFor(f); got != c.want {
			t.Errorf("%s: %#v", name, got)
		}
	}
}

// What apt-get -s printed on Debian 12.
const simulated = `Reading package lists...
Building dependency tree...
The following additional packages will be installed:
  runc
Suggested packages:
  containernetworking-plugins
The following NEW packages will be installed:
  conntrack containerd runc
The following packages will be upgraded:
  libssl3
Inst libssl3 [3.0.11-1~deb12u2] (3.0.15-1~deb12u1 localhost [amd64])
Inst libc6:i386 (2.36-9+deb12u8 localhost [i386])
Inst runc (1.1.5+ds1-1+b1 Debian:12.5/stable, Debian-Security:12/stable-security [amd64])
Inst containerd (1.6.20~ds1-1+b1 localhost [amd64]) []
Inst conntrack (1:1.4.7-1+b2 localhost [amd64]) [runc:amd64 ]
Inst
Inst broken ()
Conf runc (1.1.5+ds1-1+b1 localhost [amd64])
Conf containerd (1.6.20~ds1-1+b1 localhost [amd64])
`

func TestWhatAptWouldInstall(t *testing.T) {
	chosen, upgrades := parseSimulation(simulated)
	want := []chosenPackage{{"libc6", "2.36-9+deb12u8", "i386"}, {"runc", "1.1.5+ds1-1+b1", "amd64"},
		{"containerd", "1.6.20~ds1-1+b1", "amd64"}, {"conntrack", "1:1.4.7-1+b2", "amd64"}}
	if !slices.Equal(chosen, want) {
		t.Errorf("chosen %+v", chosen)
	}
	if !slices.Equal(upgrades, []string{"libssl3"}) {
		t.Errorf("upgrades %v", upgrades)
	}
	if c, u := parseSimulation("containerd is already the newest version (1.6.20~ds1-1+b1).\n0 upgraded, 0 newly " +
		"installed\n"); c != nil || u != nil {
		t.Error(c, u)
	}
	in := &bundle.Manifest{Members: []bundle.Member{
		{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet"},
		{Path: "containerd_1_amd64.deb", Kind: bundle.Deb, Name: "containerd", Version: "1.6.20~ds1-1+b1"},
	}}
	m, ok := memberOf(in, bundle.Deb, chosenPackage{name: "containerd", version: "1.6.20~ds1-1+b1"})
	if !ok || m.Path != "containerd_1_amd64.deb" {
		t.Error(m, ok)
	}
	if _, ok := memberOf(in, bundle.Deb, chosenPackage{name: "containerd", version: "1.7"}); ok {
		t.Error("another version was found")
	}
	if _, ok := memberOf(in, bundle.Deb, chosenPackage{name: "kubelet"}); ok {
		t.Error("a program was taken for a package")
	}
}

func FuzzSimulation(f *testing.F) {
	f.Add(simulated)
	f.Add("Inst a [b] (c")
	f.Fuzz(func(t *testing.T, s string) {
		chosen, _ := parseSimulation(s)
		for _, c := range chosen {
			if strings.ContainsAny(c.name+c.version, " \n") {
				t.Errorf("%+v", c)
			}
		}
	})
}

const transaction = `--> Starting dependency resolution
---> Package containerd.x86_64 1.6.22-12.oe2403 will be upgraded
---> Package containerd.x86_64 1.7.14-1.oe2403 will be an upgrade
---> Package libnew.x86_64 0:1.0-1 will be installed
---> Package podman.x86_64 1:4.5-1 will be erased
---> Package runc.x86_64 1.1.3-9 will be updated
---> Package runc.x86_64 1.1.8-1 will be an update
--> Finished dependency resolution
`

// What comes, what it takes the place of, and what would become of others.
func TestWhatAnUpgradeWouldDo(t *testing.T) {
	all, others := parseTransaction(transaction)
	want := []planned{{chosenPackage{"containerd", "1.7.14-1.oe2403", "x86_64"}, "?"},
		{chosenPackage{"libnew", "1.0-1", "x86_64"}, ""}, {chosenPackage{"runc", "1.1.8-1", "x86_64"}, "?"}}
	if !slices.Equal(all, want) || !slices.Equal(others, []string{"podman"}) {
		t.Errorf("%+v, others %v", all, others)
	}
	all = simulation("Inst nsdep (1 localhost [all])\nInst nsdemo [1.0-1] (2.0-1 localhost [all])\n")
	want = []planned{{chosenPackage{"nsdep", "1", "all"}, ""}, {chosenPackage{"nsdemo", "2.0-1", "all"}, "1.0-1"}}
	if !slices.Equal(all, want) {
		t.Errorf("%+v", all)
	}
}

const downgraded = `--> Starting dependency resolution
---> Package containerd.x86_64 1.7.14-1.oe2403 will be downgraded
---> Package containerd.x86_64 1.6.22-12.oe2403 will be a downgrade
---> Package podman.x86_64 1:4.5-1 will be erased
---> Package runc.x86_64 0:1.1.3-9 will be a downgrade
---> Package runc.x86_64 0:1.1.8-1 will be erased
--> Finished dependency resolution
`

// dnf and yum say of the way back what leaves for the old version, each in its words; what leaves besides is told.
func TestWhatTheWayBackWouldDo(t *testing.T) {
	all, others := parseTransaction(downgraded)
	want := []planned{{chosenPackage{"containerd", "1.6.22-12.oe2403", "x86_64"}, "?"},
		{chosenPackage{"runc", "1.1.3-9", "x86_64"}, "?"}}
	if !slices.Equal(all, want) || !slices.Equal(others, []string{"podman"}) {
		t.Errorf("%+v, others %v", all, others)
	}
}

// The way back works from the files that were kept, and asks no repository.
func TestTheWayBackIsFromFilesAlone(t *testing.T) {
	files := []string{keptDir + "/runc-1.1.3-9.x86_64.rpm"}
	chosen := []chosenPackage{{"runc", "1.1.3-9", "x86_64"}}
	for _, c := range []struct{ script, want string }{
		{dnf{"dnf"}.chooseBack(files), "dnfx -v --assumeno '--disablerepo=*' downgrade " + files[0]},
		{dnf{"yum"}.back(files, chosen), "includepkgs=runc '--disablerepo=*' downgrade " + files[0] + "\nnewcomers\n"},
		{apt{}.chooseBack([]string{keptDir + "/runc_1_amd64.deb"}),
			"aptget -s -o APT::Get::Upgrade=true --allow-downgrades install --no-remove " + keptDir + "/runc_1_amd64.deb"},
	} {
		if !strings.Contains(c.script, c.want) {
			t.Errorf("want %s in\n%s", c.want, c.script)
		}
	}
}
