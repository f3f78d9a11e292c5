package phases

import (
	"bytes"
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
)

// shelf is a bundle whose members are files of testdata, by their base names.
type shelf struct{ m *bundle.Manifest }

func (s shelf) Manifest() *bundle.Manifest                          { return s.m }
func (shelf) Images(context.Context, []string) (bundle.File, error) { return bundle.File{}, io.EOF }
func (shelf) Open(member string) (io.ReadSeekCloser, error) {
	data, err := os.ReadFile(filepath.Join("testdata", filepath.Base(member)))
	return closer{bytes.NewReader(data)}, err
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

// pluginRun is a run of a cluster with a network plugin from testdata.
func pluginRun(t *testing.T, network string, members ...bundle.Member) *run {
	t.Helper()
	r := componentRun(t, "network: "+network+"\n")
	m := manifest()
	for _, name := range []string{"calico.yaml", "cilium.yaml"} {
		m.Members = append(m.Members, bundle.Member{Path: "addons/" + name, Kind: bundle.Addon, Name: name})
	}
	m.Members = append(m.Members, members...)
	r.SetBundle("amd64", shelf{m})
	return r
}

func object(objs []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range objs {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// calico's pool is the cluster's pod network though upstream's manifest has it in a comment; the change is told, and
// made once.
func TestCalicoGetsThePodNetwork(t *testing.T) {
	r := pluginRun(t, "{plugin: calico, podcidr: 10.200.0.0/16}")
	objs, told, err := r.addonObjects()
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0].Key != "notice.pod-cidr" || told[0].Args["cidr"] != "10.200.0.0/16" ||
		told[0].Args["addon"] != "calico.yaml" {
		t.Errorf("%+v", told)
	}
	node := object(objs, "DaemonSet", "calico-node")
	text, err := node.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `{"name":"CALICO_IPV4POOL_CIDR","value":"10.200.0.0/16"}`) ||
		!strings.Contains(string(text), "CALICO_IPV4POOL_IPIP") {
		t.Errorf("%s", text)
	}
	if again := r.fit(node, "calico.yaml"); again != nil {
		t.Errorf("changed twice: %v", again)
	}
	if len(objs) != 4 {
		t.Errorf("%d objects", len(objs))
	}
	namespaces, err := r.addonNamespaces()
	if err != nil || !namespaces["kube-system"] || len(namespaces) != 1 {
		t.Error(namespaces, err)
	}
}

func TestCalicosOperatorGetsThePodNetwork(t *testing.T) {
	install := func(pools ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "operator.tigera.io/v1",
			"kind": "Installation", "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{"calicoNetwork": map[string]any{"ipPools": pools}}}}
	}
	one := install(map[string]any{"cidr": "192.168.0.0/16", "encapsulation": "VXLANCrossSubnet"})
	if !setCalicoPool(one, "10.200.0.0/16") || setCalicoPool(one, "10.200.0.0/16") {
		t.Error("set once")
	}
	pools, _, _ := unstructured.NestedSlice(one.Object, "spec", "calicoNetwork", "ipPools")
	if p := pools[0].(map[string]any); p["cidr"] != "10.200.0.0/16" || p["encapsulation"] != "VXLANCrossSubnet" {
		t.Error(p)
	}
	if setCalicoPool(install(map[string]any{"cidr": "10.1.0.0/16"}, map[string]any{"cidr": "10.2.0.0/16"}),
		"10.200.0.0/16") {
		t.Error("several pools are left alone")
	}
}

func TestCiliumGetsThePodNetwork(t *testing.T) {
	r := pluginRun(t, "{plugin: cilium, podcidr: 10.200.0.0/16}")
	objs, told, err := r.addonObjects()
	if err != nil || len(told) != 1 {
		t.Fatal(told, err)
	}
	conf := object(objs, "ConfigMap", "cilium-config")
	if cidr, _, _ := unstructured.NestedString(conf.Object, "data", "cluster-pool-ipv4-cidr"); cidr != "10.200.0.0/16" {
		t.Error(cidr)
	}
	if again := r.fit(conf, "cilium.yaml"); again != nil {
		t.Errorf("changed twice: %v", again)
	}
	// With ipam: kubernetes the controller manager gives each node its network.
	_ = unstructured.SetNestedField(conf.Object, "kubernetes", "data", "ipam")
	_ = unstructured.SetNestedField(conf.Object, "10.0.0.0/8", "data", "cluster-pool-ipv4-cidr")
	if got := r.fit(conf, "cilium.yaml"); got != nil {
		t.Error(got)
	}
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

// CoreDNS as a service of the control planes: its file, its unit, and the Service that follows the control planes.
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
	s, err := r.corednsService(n)
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
	if units := statusUnits(r.Cluster, n); !slices.Contains(units, "coredns.service") {
		t.Errorf("status asks of %v", units)
	}
	r.Fact("m1").Nameserver = false
	if s, err = r.corednsService(n); strings.Contains(fileOf(t, s, err, "Corefile"), "forward") {
		t.Error("it would ask itself")
	}
	r.Cluster.Nodes = append(r.Cluster.Nodes, config.Node{Name: "m2", IP: netip.MustParseAddr("192.0.2.12"),
		Arch: "amd64", Roles: []bundle.Role{cpRole}})
	text, err := r.dnsServiceManifest()
	if err != nil {
		t.Fatal(err)
	}
	objs, err := clients.ParseManifests(text)
	if err != nil {
		t.Fatal(err)
	}
	slice := object(objs, "EndpointSlice", "kube-dns-eggo")
	ends, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	if len(ends) != 2 || slice.Object["addressType"] != "IPv4" {
		t.Errorf("%v", slice.Object)
	}
	svc := object(objs, "Service", "kube-dns")
	if _, has, _ := unstructured.NestedMap(svc.Object, "spec", "selector"); has {
		t.Error("a selector would take the endpoints away")
	}
	if ip, _, _ := unstructured.NestedString(svc.Object, "spec", "clusterIP"); ip != "10.32.0.53" {
		t.Error(ip)
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
