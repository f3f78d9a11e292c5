package phases

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
)

// pluginRun is a run of a cluster with a network plugin whose manifest the bundle has.
func pluginRun(t *testing.T, network string, members ...bundle.Member) *run {
	t.Helper()
	r := componentRun(t, "network: "+network+"\n")
	m := manifest()
	for _, name := range []string{"calico.yaml", "cilium.yaml"} {
		m.Members = append(m.Members, bundle.Member{Path: "addons/" + name, Kind: bundle.Addon, Name: name})
	}
	m.Members = append(m.Members, members...)
	r.SetBundle("amd64", box{m})
	return r
}

func TestTheManifestThatNetworkYamlPathNames(t *testing.T) {
	placed := bundle.Member{Path: "own/calico-own.yaml", Kind: bundle.ExtraFile, Name: "calico-own.yaml",
		Dst: "/etc/kubernetes/network", Roles: []bundle.Role{cpRole}}
	for at, want := range map[string]string{
		"/etc/kubernetes/addons/calico.yaml":      "addons/calico.yaml",
		"/etc/kubernetes/addons/kube-flannel.yml": "addons/kube-flannel.yml",
		"/etc/kubernetes/addons/absent.yaml":      "",
	} {
		r := pluginRun(t, "{plugin: calico, plugin-args: {NetworkYamlPath: "+at+"}}", placed)
		m := r.Bundle("amd64").Manifest()
		got, ok := r.AddonMember(m, r.AddonFiles(m)[0])
		if want == "" {
			if ok {
				t.Errorf("%s: %s", at, got)
			}
			if c := codes(r.judgeBundle(r.Bundle("amd64"), bundle.AllRoles())); !slices.Contains(c,
				"error bundle.no-addon") {
				t.Errorf("%s: %v", at, c)
			}
			continue
		}
		if got != want || !ok {
			t.Errorf("%s: %s", at, got)
		}
		if c := codes(r.judgeBundle(r.Bundle("amd64"), bundle.AllRoles())); len(c) > 0 {
			t.Errorf("%s: %v", at, c)
		}
	}
}

// A file that the packages place on the control plane can be the network's manifest.
func TestTheManifestThatPackagesBring(t *testing.T) {
	r := pluginRun(t, "{plugin: calico, plugin-args: {NetworkYamlPath: /etc/kubernetes/calico-own.yaml}}",
		bundle.Member{Path: "calico-own.yaml", Kind: bundle.ExtraFile, Name: "calico-own", Dst: "/etc/kubernetes",
			Roles: []bundle.Role{cpRole}})
	m := r.Bundle("amd64").Manifest()
	if got, ok := r.AddonMember(m, r.AddonFiles(m)[0]); !ok || got != "calico-own.yaml" {
		t.Errorf("%q", got)
	}
}

func TestKernelOfPlugins(t *testing.T) {
	for _, c := range []struct {
		plugin, kernel string
		noIPSet        bool
		want           []string
	}{
		{"cilium", "5.10.0-32-amd64", true, nil},
		{"cilium", "6.1.0", true, nil},
		{"cilium", "4.19.90-2109.1.0", true, []string{"error preflight.plugin-kernel"}},
		{"cilium", "5.4.0-100-generic", true, []string{"error preflight.plugin-kernel"}},
		{"cilium", "odd", true, nil},
		{"calico", "4.19.90", false, nil},
		{"calico", "4.19.90", true, []string{"warning preflight.plugin-module"}},
		{"flannel", "3.10.0", true, nil},
	} {
		r := componentRun(t, "network: {plugin: "+c.plugin+"}\n")
		f := good(worker)
		f.Kernel, f.NoIPSet = c.kernel, c.noIPSet
		if got := codes(r.judgePlugin(worker, f)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// CoreDNS as a service of the control planes: its file and its unit.
func TestCoreDNSAsAService(t *testing.T) {
	r := componentRun(t, "service: {dns: {corednstype: binary}, dnsaddr: 10.32.0.53}\ndns-domain: air.gap\n")
	n := r.Cluster.Nodes[0]
	if got := codes(r.judgeBundle(r.Bundle("amd64"), bundle.AllRoles())); !slices.Contains(got,
		"error bundle.no-coredns") {
		t.Errorf("a bundle without the program: %v", got)
	}
	m := manifest()
	m.Images = m.Images[:1] // nobody needs CoreDNS's image
	m.Members = append(m.Members, bundle.Member{Path: "coredns", Kind: bundle.Binary, Name: "coredns",
		Dst: "/usr/local/bin", Roles: []bundle.Role{cpRole}})
	r.SetBundle("amd64", box{m})
	if got := codes(r.judgeBundle(r.Bundle("amd64"), bundle.AllRoles())); len(got) > 0 {
		t.Errorf("%v", got)
	}
	r.Fact("m1").Nameserver, r.Fact("m1").Resolv = true, "/run/systemd/resolve/resolv.conf"
	s, err := serviceOf(r, driver.CoreDNS, n)
	conf := fileOf(t, s, err, "Corefile")
	for _, want := range []string{".:53 {", "bind 192.0.2.11\n", "kubernetes air.gap in-addr.arpa",
		"kubeconfig /etc/eggo/coredns/kubeconfig", "prometheus 192.0.2.11:9153",
		"forward . /run/systemd/resolve/resolv.conf"} {
		if !strings.Contains(conf, want) {
			t.Errorf("no %q in\n%s", want, conf)
		}
	}
	if unit := fileOf(t, s, err, "coredns.service"); !strings.Contains(unit,
		"ExecStart=/usr/local/bin/coredns \\\n  --conf=/etc/eggo/coredns/Corefile") {
		t.Error(unit)
	}
	if script := r.driver.StatusScript(n); !strings.Contains(script, "coredns.service") {
		t.Errorf("status asks of %s", script)
	}
	r.Fact("m1").Nameserver = false
	if s, err = serviceOf(r, driver.CoreDNS, n); strings.Contains(fileOf(t, s, err, "Corefile"), "forward") {
		t.Error("it would ask itself")
	}
	for who, want := range map[string]int{"": 0, "dnsmasq": 1, "coredns": 1} {
		f := good(n)
		f.DNSTaken = who
		if got := r.judgeDNSPort(n, f); len(got) != want {
			t.Errorf("%q on port 53: %v", who, codes(got))
		}
		f.Cluster = r.Cluster.Name
		if got := r.judgeDNSPort(n, f); who == "coredns" && len(got) != 0 {
			t.Error("our own is no obstacle")
		}
	}
}
