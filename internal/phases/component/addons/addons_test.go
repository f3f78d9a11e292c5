package addons

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
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

// cluster is one with more keys in its deploy.yaml, of a control plane and a worker.
func cluster(t *testing.T, more string) *Addons {
	t.Helper()
	c, ps := config.Load([]byte("cluster-id: mine\nmasters: [{name: m1, ip: 192.0.2.11}]\nnodes: [{name: w1, ip: "+
		"192.0.2.21}]\npackage-src: {x86src: /b.tar.gz}\n"+more), "deploy.yaml")
	if c == nil {
		t.Fatal(ps)
	}
	n := inventory.New(&input.Env{Cluster: c}, facts.Places{})
	for _, x := range c.Nodes {
		n.SetFact(x.Name, &facts.Facts{})
	}
	m := &bundle.Manifest{Arch: "amd64"}
	for _, name := range []string{"calico.yaml", "cilium.yaml"} {
		m.Members = append(m.Members, bundle.Member{Path: "addons/" + name, Kind: bundle.Addon, Name: name})
	}
	for _, name := range []string{"portmap", "loopback"} {
		m.Members = append(m.Members, bundle.Member{Path: "cni/" + name, Kind: bundle.Binary, Name: name,
			Dst: "/opt/cni/bin", Mode: 0o755, Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}})
	}
	n.SetBundle("amd64", shelf{m})
	return New(&payload.Payload{Nodes: n, Executed: func(config.Node) []string { return nil }}, nil, nil)
}

// calico's pool is the cluster's pod network though upstream's manifest has it in a comment; the change is told, and
// made once.
func TestCalicoGetsThePodNetwork(t *testing.T) {
	r := cluster(t, "network: {plugin: calico, podcidr: 10.200.0.0/16}\n")
	objs, told, err := r.objects()
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[0].Key != "notice.pod-cidr" || told[0].Args["cidr"] != "10.200.0.0/16" ||
		told[0].Args["addon"] != "calico.yaml" || told[1].Key != "notice.cni-skip" ||
		told[1].Args["plugins"] != "loopback,portmap" {
		t.Errorf("%+v", told)
	}
	node := object(objs, "DaemonSet", "calico-node")
	text, err := node.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `{"name":"CALICO_IPV4POOL_CIDR","value":"10.200.0.0/16"}`) ||
		!strings.Contains(string(text), "CALICO_IPV4POOL_IPIP") ||
		!strings.Contains(string(text), `{"name":"SKIP_CNI_BINARIES","value":"loopback,portmap"}`) {
		t.Errorf("%s", text)
	}
	if again := r.fit(node, "calico.yaml"); again != nil {
		t.Errorf("changed twice: %v", again)
	}
	if len(objs) != 4 {
		t.Errorf("%d objects", len(objs))
	}
	namespaces, err := r.namespaces()
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
	r := cluster(t, "network: {plugin: cilium, podcidr: 10.200.0.0/16}\n")
	objs, told, err := r.objects()
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

func object(objs []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range objs {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

func TestFlannelGetsTheClustersNetwork(t *testing.T) {
	conf := func(kind, name, text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": "v1",
			"metadata": map[string]any{"name": name}}}
		if text != "" {
			o.Object["data"] = map[string]any{"net-conf.json": text, "cni-conf.json": "{}"}
		}
		return o
	}
	for name, c := range map[string]struct {
		o       *unstructured.Unstructured
		changed bool
	}{
		"upstream's": {conf("ConfigMap", "kube-flannel-cfg",
			`{"Network": "10.244.0.0/16", "EnableNFTables": false, "Backend": {"Type": "vxlan"}}`), true},
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
		case c.changed && (!strings.Contains(text, `"Network": "10.200.0.0/16"`) ||
			!strings.Contains(text, `"vxlan"`) || strings.Contains(text, "10.244")):
			t.Errorf("%s: %s", name, text)
		}
		if setFlannelNetwork(c.o, "10.200.0.0/16") {
			t.Errorf("%s: changed twice", name)
		}
	}
}

func TestFlannelUsesTheInterfaceOfTheNode(t *testing.T) {
	daemons := func(kind, name, container string) *unstructured.Unstructured {
		list, err := clients.ParseManifests([]byte("kind: " + kind + "\napiVersion: apps/v1\nmetadata: {name: " + name +
			"}\nspec: {template: {spec: {containers: [" + container + "]}}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	const upstream = "{name: kube-flannel, command: [/opt/bin/flanneld], args: [--ip-masq, --kube-subnet-mgr], env: " +
		"[{name: POD_NAME, value: x}]}"
	for name, c := range map[string]struct {
		o       *unstructured.Unstructured
		changed bool
	}{
		"upstream's":        {daemons("DaemonSet", "kube-flannel-ds", "{name: other}, "+upstream), true},
		"without arguments": {daemons("DaemonSet", "kube-flannel-ds", "{name: kube-flannel}"), true},
		"told an interface": {daemons("DaemonSet", "kube-flannel-ds",
			strings.Replace(upstream, "--ip-masq", "--iface=eth1", 1)), false},
		"told how to find one": {daemons("DaemonSet", "kube-flannel-ds",
			strings.Replace(upstream, "/opt/bin/flanneld", "/opt/bin/flanneld, -iface-can-reach=192.0.2.1", 1)), false},
		"another container": {daemons("DaemonSet", "kube-flannel-ds", "{name: other}"), false},
		"another workload":  {daemons("DaemonSet", "own", upstream), false},
		"not a DaemonSet":   {daemons("Deployment", "kube-flannel-ds", upstream), false},
	} {
		before := c.o.DeepCopy()
		if got := setFlannelInterface(c.o); got != c.changed {
			t.Errorf("%s: changed %v", name, got)
		}
		if !c.changed && !cmp.Equal(before, c.o) {
			t.Errorf("%s: %v", name, c.o)
		}
		once := c.o.DeepCopy()
		if setFlannelInterface(c.o) || !cmp.Equal(once, c.o) {
			t.Errorf("%s: changed twice", name)
		}
		if name != "upstream's" {
			continue
		}
		list, _, _ := unstructured.NestedSlice(c.o.Object, "spec", "template", "spec", "containers")
		want := map[string]any{"name": "kube-flannel", "command": []any{"/opt/bin/flanneld"},
			"args": []any{"--ip-masq", "--kube-subnet-mgr", "--iface=$(HOST_IP)"}, "env": []any{
				map[string]any{"name": "POD_NAME", "value": "x"},
				map[string]any{"name": "HOST_IP",
					"valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "status.hostIP"}}}}}
		if diff := cmp.Diff(want, list[1]); diff != "" {
			t.Error(diff)
		}
	}
}

// The Service of CoreDNS outside of pods follows the control planes.
func TestTheServiceOfCoreDNSOnTheControlPlanes(t *testing.T) {
	r := cluster(t, "service: {dns: {corednstype: binary}, dnsaddr: 10.32.0.53}\n")
	r.Cluster.Nodes = append(r.Cluster.Nodes, config.Node{Name: "m2", IP: netip.MustParseAddr("192.0.2.12"),
		Arch: "amd64", Roles: []bundle.Role{bundle.ControlPlane}})
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
}

func TestAManifestByURLIsReadAsItWasFetched(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/good.yaml" {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write([]byte("kind: A\napiVersion: v1\nmetadata: {name: a}\n"))
	}))
	defer srv.Close()
	r := cluster(t, "")
	if err := r.Fetch(t.Context(), srv.URL+"/good.yaml"); err != nil {
		t.Error(err)
	}
	if data, err := r.read(nil, srv.URL+"/good.yaml"); err != nil || !strings.HasPrefix(string(data), "kind: A") {
		t.Errorf("%s %v", data, err)
	}
	if err := r.Fetch(t.Context(), srv.URL+"/none.yaml"); err == nil {
		t.Error("404 is no manifest")
	}
	if data, _ := r.read(nil, srv.URL+"/none.yaml"); data != nil {
		t.Errorf("%s", data)
	}
}
