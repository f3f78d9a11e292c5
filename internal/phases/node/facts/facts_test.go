package facts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
)

func TestOSReleaseIsReadAsAShellWould(t *testing.T) {
	got := ParseOSRelease("# comment\nNAME=\"openEuler\"\nID='openEuler'\nVERSION_ID=24.03\nPRETTY_NAME=\"a " +
		"\\\"b\\\" \\$c \\d 'e'\"\nA='x'\"y\"z\\ w\nB=two words\nC=\"open\nD=\nE=v # c\n\nbad line\n=x\nF=\\\n")
	want := map[string]string{"NAME": "openEuler", "ID": "openEuler", "VERSION_ID": "24.03",
		"PRETTY_NAME": `a "b" $c \d 'e'`, "A": "xyz w", "D": "", "E": "v"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzOSRelease(f *testing.F) {
	f.Add("ID=\"a\\\"")
	f.Fuzz(func(t *testing.T, s string) {
		for k := range ParseOSRelease(s) {
			if k == "" {
				t.Error("a value without a name")
			}
		}
	})
}

func TestFactsOfResolversAndOfOurs(t *testing.T) {
	f := Parse("cluster=mine\nnodename=w1\nrecorded=yes\nca=aa\netcdca=bb\nkubelet=Kubernetes v1.34.2\n" +
		"runtime=containerd\nresolv=/run/x\nnoroute=yes\nnftables=nft inet filter in input\nnftables=iptables " +
		"FORWARD\n")
	want := Parse("")
	want.Cluster, want.NodeName, want.Recorded, want.CA, want.EtcdCA, want.Kubelet = "mine", "w1", true, "aa", "bb",
		"v1.34.2"
	want.Runtimes, want.Resolv, want.NoRoute, want.Firewalls = []string{"containerd"}, "/run/x", true,
		[]Firewall{{Name: "nftables", Chains: []chainRef{{"nft inet filter in", false}, {"iptables FORWARD", true}}}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

// A firewall may list hundreds of ports in one line: the last of them are open too.
func TestALongListOfPortsIsReadWhole(t *testing.T) {
	var ports strings.Builder
	for p := range 2000 {
		fmt.Fprintf(&ports, " %d/tcp", 20000+2*p)
	}
	f := Parse("firewalld=zone: public\nfirewalld=  ports:" + ports.String() + " 6443/tcp\n")
	if len(f.Firewalls) != 1 || len(f.Firewalls[0].Open) != 2001 {
		t.Fatalf("%d ports are open, want 2001", len(f.Firewalls[0].Open))
	}
}

func TestFactsAreRead(t *testing.T) {
	f := Parse(strings.Join([]string{
		"arch=x86_64", "hostname=a=b", "machineid=0123", "os=ID=debian", "os=VERSION_CODENAME='bookworm'",
		"os=PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"", "os=", "systemd=yes", "cgroup2=yes",
		"swap=yes", "caps=000001ffffffffff", "conntrack=yes", "apparmor=yes", "missing=program tar",
		"missing=cgroup controller pids", "pkg=apt-get", "pkg=dnf", "address=127.0.0.1", "address=192.0.2.11",
		"listen=22 sshd", "listen=6443 ?", "listen=x y", "cluster=mine", "joined=yes", "active=etcd",
		"present=/var/lib/etcd", "present=/etc/kubernetes", "free=/usr /dev/vda1 1000",
		"free=/bad", "took=31", "noipvs=yes", "noipsetprogram=yes", "nameserver=yes",
		"noexectmp=yes", "unknown=1", "no equals sign", "",
	}, "\n"))
	want := &Facts{Arch: "amd64", Hostname: "a=b", MachineID: "0123",
		OS: map[string]string{"ID": "debian", "VERSION_CODENAME": "bookworm",
			"PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)"},
		Systemd: true, Cgroup2: true, Swap: true, Caps: 0x1ffffffffff, Conntrack: true, AppArmor: true,
		Missing: []string{"program tar", "cgroup controller pids"}, PkgManagers: []string{"apt-get", "dnf"},
		Addresses: []string{"127.0.0.1", "192.0.2.11"}, Listening: map[int]string{22: "sshd", 6443: "?"},
		Cluster: "mine", Joined: true, Active: []string{"etcd"},
		Present: []string{"/etc/kubernetes", "/var/lib/etcd"}, Free: map[string]FreeSpace{"/usr": {"/dev/vda1", 1000}},
		Nameserver: true, NoExecTmp: true, Took: 310 * time.Millisecond, NoIPVS: true, NoIPSetProgram: true}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	if !f.HasSysResource() || Parse("caps=0").HasSysResource() {
		t.Error("CAP_SYS_RESOURCE")
	}
	if a := Parse("arch=riscv64").Arch; a != "riscv64" {
		t.Error("an architecture that nobody knows:", a)
	}
	if a := Parse("arch=aarch64").Arch; a != "arm64" {
		t.Error(a)
	}
	if !f.HasAddress(config.Node{IP: netip.MustParseAddr("192.0.2.11")}) ||
		f.HasAddress(config.Node{IP: netip.MustParseAddr("192.0.2.21")}) {
		t.Error("addresses")
	}
}

func TestHowSlowAMachineIs(t *testing.T) {
	for text, want := range map[string]float64{
		"": 1, "took=0": 1, "took=20": 1, "took=50": 2.5, "took=100": 5, "took=100000": 12, "took=-3": 1, "took=x": 1,
	} {
		if got := Parse(text + "\n").Slowness(); got != want {
			t.Errorf("%q: %v times", text, got)
		}
	}
}

func FuzzFacts(f *testing.F) {
	f.Add("arch=x86_64\nfree=/usr a b\nlisten=99999999999999999999 x\n")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Parse(s); got.Free == nil || got.Listening == nil || got.OS == nil {
			t.Error(got)
		}
	})
}

func TestFactsOfAnImportedNode(t *testing.T) {
	f := Parse("recordkind=unit\nrecordkind=imported\nkubeletdropin=20-more.conf\nkubeletdropin=10-kubeadm.conf\n" +
		"nomanifest=etcd\nkubeletdropin=10-kubeadm.conf\ncgroupfs=yes\ntheirunit=etcd.service\n")
	if !f.Imported() || !f.CgroupFS || !slices.Equal(f.TheirUnits, []string{"etcd.service"}) ||
		!slices.Equal(f.NoManifest, []string{"etcd"}) ||
		!slices.Equal(f.KubeletDropIns, []string{"10-kubeadm.conf", "20-more.conf"}) {
		t.Errorf("%+v", f)
	}
	if Parse("recordkind=unit\n").Imported() {
		t.Error("a node that we have installed")
	}
}
