package phases

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

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
	want := []chosenPackage{{"libc6", "2.36-9+deb12u8", "i386"}, {"runc", "1.1.5+ds1-1+b1", "amd64"}, {"containerd", "1.6.20~ds1-1+b1", "amd64"}, {"conntrack", "1:1.4.7-1+b2", "amd64"}}
	if !slices.Equal(chosen, want) {
		t.Errorf("chosen %+v", chosen)
	}
	if !slices.Equal(upgrades, []string{"libssl3"}) {
		t.Errorf("upgrades %v", upgrades)
	}
	if c, u := parseSimulation("containerd is already the newest version (1.6.20~ds1-1+b1).\n0 upgraded, 0 newly installed\n"); c != nil || u != nil {
		t.Error(c, u)
	}
	m, ok := memberOf(manifest(), bundle.Deb, chosenPackage{name: "containerd", version: "1.6.20~ds1-1+b1"})
	if !ok || m.Path != "containerd_1_amd64.deb" {
		t.Error(m, ok)
	}
	if _, ok := memberOf(manifest(), bundle.Deb, chosenPackage{name: "containerd", version: "1.7"}); ok {
		t.Error("another version was found")
	}
	if _, ok := memberOf(manifest(), bundle.Deb, chosenPackage{name: "kubelet"}); ok {
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

func TestFlannelGetsTheClustersNetwork(t *testing.T) {
	conf := func(kind, name, text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": "v1", "metadata": map[string]any{"name": name}}}
		if text != "" {
			o.Object["data"] = map[string]any{"net-conf.json": text, "cni-conf.json": "{}"}
		}
		return o
	}
	for name, c := range map[string]struct {
		o       *unstructured.Unstructured
		changed bool
	}{
		"upstream's":         {conf("ConfigMap", "kube-flannel-cfg", `{"Network": "10.244.0.0/16", "EnableNFTables": false, "Backend": {"Type": "vxlan"}}`), true},
		"the right one":      {conf("ConfigMap", "kube-flannel-cfg", `{"Network": "10.200.0.0/16"}`), false},
		"somebody else's":    {conf("ConfigMap", "other", `{"Network": "10.244.0.0/16"}`), false},
		"not a ConfigMap":    {conf("Secret", "kube-flannel-cfg", `{"Network": "10.244.0.0/16"}`), false},
		"without data":       {conf("ConfigMap", "kube-flannel-cfg", ""), false},
		"with other than it": {conf("ConfigMap", "kube-flannel-cfg", `[`), false},
	} {
		before := c.o.DeepCopy()
		if got := setFlannelNetwork(c.o, "10.200.0.0/16"); got != c.changed {
			t.Errorf("%s: changed %v", name, got)
		}
		text, _, _ := unstructured.NestedString(c.o.Object, "data", "net-conf.json")
		switch {
		case !c.changed && !cmp.Equal(before, c.o):
			t.Errorf("%s: %v", name, c.o)
		case c.changed && (!strings.Contains(text, `"Network": "10.200.0.0/16"`) || !strings.Contains(text, `"vxlan"`) || strings.Contains(text, "10.244")):
			t.Errorf("%s: %s", name, text)
		}
		if setFlannelNetwork(c.o, "10.200.0.0/16") {
			t.Errorf("%s: changed twice", name)
		}
	}
}
