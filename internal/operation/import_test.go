package operation

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// byKubeadm makes the simulated machines a cluster that kubeadm has made: a control plane and a worker.
func byKubeadm(t *testing.T) (*fakes, Deps) {
	t.Helper()
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	state := f.lab.StateDir()
	pki := filepath.Join(state, "pki")
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	place := func(node, path, text string) {
		at := f.lab.Nodes[node].Path(path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt",
		"etcd/ca.key", "sa.key"} {
		place("m1", "/etc/kubernetes/pki/"+name, read(filepath.Join(pki, name)))
	}
	place("w1", "/etc/kubernetes/pki/ca.crt", read(filepath.Join(pki, "ca.crt")))
	const made = "../phases/takeover/testdata/"
	for _, node := range []string{"m1", "w1"} {
		place(node, "/var/lib/kubelet/config.yaml", strings.Replace(read(made+"kubelet-config.yaml"),
			"containerRuntimeEndpoint: \"\"", "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock", 1))
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		place("m1", "/etc/kubernetes/manifests/"+name+".yaml", ofLab(read(made+name+".yaml")))
	}
	secret := func(name string) string {
		return base64.StdEncoding.EncodeToString([]byte(read(filepath.Join(pki, name))))
	}
	place("m1", "/etc/kubernetes/admin.conf", "apiVersion: v1\nkind: Config\nusers:\n- name: kubernetes-admin\n"+
		"  user:\n    client-certificate-data: "+secret("admin.crt")+"\n    client-key-data: "+secret("admin.key")+"\n")
	stands := func(n *phasestest.Node, name, text string) {
		at := n.State(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for node, units := range map[string]string{"m1": "kubelet containerd etcd kube-apiserver kube-controller-manager " +
		"kube-scheduler", "w1": "kubelet containerd"} {
		for _, u := range strings.Fields(units) {
			stands(f.lab.Nodes[node], "runtime", "containerd\n")
			stands(f.lab.Nodes[node], "active/"+u+".service", "")
			stands(f.lab.Nodes[node], "enabled/"+u+".service", "")
		}
	}
	place("m1", "/var/lib/etcd/default.etcd/member/id", "data\n")
	place("m1", "/etc/etcd/initial.conf", "ETCD_INITIAL_CLUSTER=\"m1=https://192.0.2.11:2380\"\n")
	f.lab.API.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/readyz", nil)) // it has this etcd's data
	objects(f.lab, read, made)
	return f, d
}

// ofLab has the networks that the simulated cluster has.
func ofLab(text string) string { return strings.ReplaceAll(text, "10.244.0.0/16", "10.200.0.0/16") }

// objects are those of the cluster that kubeadm has made.
func objects(lab *phasestest.Lab, read func(string) string, made string) {
	const system = "/api/v1/namespaces/kube-system/"
	type m = map[string]any
	put := func(path, api, kind, name string, more m) {
		o := m{"apiVersion": api, "kind": kind, "metadata": m{"name": name, "namespace": "kube-system"}}
		for k, v := range more {
			o[k] = v
		}
		lab.API.Add(path+name, o)
	}
	for name, data := range map[string]m{
		"kubeadm-config": {"ClusterConfiguration": ofLab(read(made + "kubeadm-config.yaml"))},
		"kube-proxy":     {"config.conf": ofLab(read(made + "kube-proxy.yaml"))},
		"kubelet-config": {"kubelet": read(made + "kubelet-config.yaml")},
		"coredns":        {"Corefile": read(made + "Corefile")},
	} {
		put(system+"configmaps/", "v1", "ConfigMap", name, m{"data": data})
	}
	put("/apis/apps/v1/namespaces/kube-system/daemonsets/", "apps/v1", "DaemonSet", "kube-flannel-ds", m{"spec": m{}})
	put(system+"services/", "v1", "Service", "kube-dns", m{"spec": m{"clusterIP": "10.96.0.10"}})
	put("/apis/apps/v1/namespaces/kube-system/deployments/", "apps/v1", "Deployment", "coredns",
		m{"spec": m{"replicas": 2}})
	for name, ip := range map[string]string{"m1": "192.0.2.11", "w1": "192.0.2.21"} {
		labels, spec := m{}, m{}
		if name == "m1" {
			labels["node-role.kubernetes.io/control-plane"] = ""
			spec["taints"] = []any{m{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}}
		}
		lab.API.Add("/api/v1/nodes/"+name, m{"apiVersion": "v1", "kind": "Node",
			"metadata": m{"name": name, "labels": labels}, "spec": spec, "status": m{
				"addresses":  []any{m{"type": "InternalIP", "address": ip}},
				"conditions": []any{m{"type": "Ready", "status": "True"}},
				"nodeInfo": m{"architecture": "amd64", "containerRuntimeVersion": "containerd://1.7.27",
					"kubeletVersion": phasestest.Version},
			}})
	}
}

func importOf() request.ImportRead {
	return request.ImportRead{Cluster: "sim", Address: netip.MustParseAddr("192.0.2.11"), Port: 22,
		Login: request.Login{User: "root", Key: "/root/.ssh/id"}}
}

// elsewhere has another control host, which knows nothing of the cluster.
func elsewhere(t *testing.T, f *fakes) {
	t.Helper()
	f.root = t.TempDir()
	if err := os.Mkdir(filepath.Join(f.root, "sim"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// heard keeps the events of runs.
type heard struct{ *collector }

func (h heard) changes() (out []string) {
	for _, e := range h.all {
		if c, is := e.(event.Change); is {
			out = append(out, c.Host+" "+c.Desc.Key)
		}
	}
	return out
}

func (h heard) notices() (out []string) {
	for _, e := range h.all {
		if n, is := e.(event.Notice); is {
			out = append(out, n.Host+" "+n.Text.Key)
		}
	}
	return out
}

// A cluster that kubeadm has made comes under our care without that a file of it changes: its state, certificates and
// snapshots are there at once, and what Eggo would write over is refused. A second import changes nothing.
func TestImportOfAClusterOfKubeadm(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	was := trees(t, f)
	read := func(want ...string) request.Request {
		var found []string
		next, err := ReadImport(t.Context(), importOf(), d, func(all []event.Finding) {
			for _, f := range all {
				found = append(found, f.Fault.Code)
			}
		})
		if err != nil || !slices.Equal(found, want) {
			t.Fatal(err, found)
		}
		return next
	}
	next := read()
	if got := trees(t, f); got != was || len(f.locked) > 0 {
		t.Fatal("reading has changed a node", f.locked, got, was)
	}
	own := filepath.Join(f.root, "sim")
	if _, err := os.Stat(filepath.Join(own, "deploy.yaml")); err == nil {
		t.Error("it is the cluster's own before preflight has passed")
	}
	h := heard{&collector{}}
	d.Sink = h.collector
	if err := did(t, next, d); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.changes(), ", "); got != "m1 change.imported, w1 change.imported" &&
		got != "w1 change.imported, m1 change.imported" {
		t.Error(got)
	}
	if got := trees(t, f); got != was {
		t.Error("an import has changed files of a node:", got, was)
	}
	for name, want := range map[string]string{"pki/ca.key": "served/ca.key", "pki/sa.key": "served/sa.key"} {
		data, err := os.ReadFile(filepath.Join(own, name))
		is, err2 := os.ReadFile(filepath.Join(f.lab.StateDir(), "pki", filepath.Base(want)))
		i, err3 := os.Stat(filepath.Join(own, name))
		if err := errors.Join(err, err2, err3); err != nil || string(data) != string(is) || i.Mode().Perm() != 0o600 {
			t.Error(name, err, i)
		}
	}
	for _, name := range []string{"deploy.yaml", "admin.conf", "pki/nodes/m1/apiserver.key"} {
		if i, err := os.Stat(filepath.Join(own, name)); err != nil || i.Mode().Perm() != 0o600 {
			t.Error(name, i, err)
		}
	}
	if _, err := os.Stat(filepath.Join(own, importName)); err == nil {
		t.Error("what was read is still there")
	}

	allAt(t, f, "import", 1, "m1", "w1")

	h.all = nil
	if err := did(t, read("import.again"), d); err != nil || len(h.changes()) > 0 {
		t.Error("a second import has changed something", err, h.changes())
	}
	allAt(t, f, "the second import", 2, "m1", "w1")
	afterImport(t, f, d, h)
}

// afterImport is what works with a cluster that was imported, and what does not.
func afterImport(t *testing.T, f *fakes, d Deps, h heard) {
	t.Helper()
	c := request.OfCluster("sim")
	st, err := Status(t.Context(), c, d)
	if err != nil || st.Unknown != nil || !st.Nodes[0].Ready || !st.Nodes[1].Ready || !st.Etcd[0].Healthy {
		t.Errorf("%+v %v", st, err)
	}
	if rows, err := Certificates(t.Context(), c, false, d); err != nil || len(rows) < 10 {
		t.Error(rows, err)
	}
	if err := did(t, request.Snapshot{Common: c}, d); err != nil {
		t.Error(err)
	}
	h.all = nil
	err = did(t, request.Renew{Common: c}, d)
	var codes []string
	for _, x := range h.findings() {
		if x.Severity == event.Error && x.Host == "w1" {
			codes = append(codes, x.Fault.Code)
		}
	}
	if event.AsFault(err) == nil || event.AsFault(err).Code != "preflight.failed" || len(h.changes()) > 0 ||
		!slices.Contains(codes, "preflight.not-taken-over") {
		t.Error(err, codes, h.changes())
	}
	h.all = nil
	if err := did(t, request.Cleanup{Common: c}, d); err != nil {
		t.Fatal(err)
	}
	if got := h.notices(); !slices.Contains(got, "m1 notice.imported") || !slices.Contains(got, "w1 notice.imported") {
		t.Error(got)
	}
	for _, path := range []string{"/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/pki/ca.key",
		"/var/lib/etcd/default.etcd/member/id"} {
		if _, err := os.Stat(f.lab.Nodes["m1"].Path(path)); err != nil {
			t.Error("a cleanup has removed what it did not make:", err)
		}
	}
	if _, err := os.Stat(f.lab.Nodes["w1"].State("active/kubelet.service")); err == nil {
		t.Error("the kubelet still runs")
	}
	if _, err := os.Stat(f.lab.Nodes["w1"].Path("/var/lib/eggo-node")); err == nil {
		t.Error("the record is still there")
	}
}

// trees are the files of the nodes but for our record, each with its content.
func trees(t *testing.T, f *fakes) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"m1", "w1"} {
		root := f.lab.Nodes[name].Path("/")
		if err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			at := strings.TrimPrefix(p, root)
			if err != nil || !e.Type().IsRegular() || strings.Contains(at, "eggo-node/") ||
				strings.HasPrefix(strings.TrimPrefix(at, "/"), "run/") { // flannel's
				return err
			}
			data, err := os.ReadFile(p)
			fmt.Fprintf(&b, "%s %s %x\n", name, at, sha256.Sum256(data))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// What cannot be imported is refused before anything is written, here or on a node.
func TestImportIsRefused(t *testing.T) {
	f, d := byKubeadm(t)
	node := f.lab.Nodes["m1"]
	for name, x := range map[string]struct {
		change func(*request.ImportRead)
		code   string
	}{
		"an address of IPv6": {func(q *request.ImportRead) { q.Address = netip.MustParseAddr("2001:db8::1") },
			"import.address"},
		"a worker": {func(q *request.ImportRead) { q.Address = netip.MustParseAddr("192.0.2.21") },
			"import.not-control-plane"},
		"no key": {func(*request.ImportRead) {
			at := node.Path("/etc/kubernetes/pki/ca.key")
			if err := os.Rename(at, at+".away"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Rename(at+".away", at) })
		}, "import.refused"},
	} {
		elsewhere(t, f)
		q := importOf()
		x.change(&q)
		_, err := ReadImport(t.Context(), q, d, func([]event.Finding) {})
		if got := event.AsFault(err); got == nil || got.Code != x.code {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := os.ReadDir(filepath.Join(f.root, "sim")); err != nil || len(list) > 0 {
			t.Errorf("%s: %v %v", name, list, err)
		}
		_ = os.Rename(node.Path("/etc/kubernetes/pki/ca.key.away"), node.Path("/etc/kubernetes/pki/ca.key"))
	}
	f.lab.API.Remove("/api/v1/nodes/m1")
	f.lab.API.Add("/api/v1/nodes/x1", map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": "x1"}})
	if err := os.Remove(node.State("active/kubelet.service")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {}); event.AsFault(err).Code !=
		"import.other-address" {
		t.Error(err)
	}
}

// A cluster of another kind has the name already.
func TestImportUnderANameThatIsTaken(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	if err := os.MkdirAll(filepath.Join(f.root, "sim", "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.root, "sim", "pki", "ca.crt"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if f := event.AsFault(err); f == nil || f.Code != "import.known" {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(f.root, "sim", "pki", "ca.crt"))
	if err != nil || string(data) != "another\n" {
		t.Errorf("what was there before is another one: %s %v", data, err)
	}
}

// A node that does not run is not imported, and nothing is: all of them are, or none.
func TestImportWithANodeThatDoesNotRun(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	if err := os.Remove(f.lab.Nodes["w1"].State("active/kubelet.service")); err != nil {
		t.Fatal(err)
	}
	next, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if err != nil {
		t.Fatal(err)
	}
	h := heard{&collector{}}
	d.Sink = h.collector
	err = did(t, next, d)
	var codes []string
	for _, x := range h.findings() {
		codes = append(codes, x.Host+" "+x.Fault.Code)
	}
	if len(codes) != 1 || codes[0] != "w1 preflight.import-idle" || len(h.changes()) > 0 || err == nil {
		t.Error(err, codes, h.changes())
	}
	// What it has read is gone, above all the keys of the CAs; the same command continues when the node runs.
	for _, name := range []string{"pki", "import.yaml", "known_hosts", "admin.conf", importMark} {
		if _, err := os.Lstat(filepath.Join(f.root, "sim", name)); err == nil {
			t.Errorf("%s of a refused import is still there", name)
		}
	}
	if err := os.WriteFile(f.lab.Nodes["w1"].State("active/kubelet.service"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err = ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := did(t, next, d); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(f.root, "sim", importMark)); err == nil {
		t.Error("an import that has ended is still under way")
	}
	if err := DropImport(t.Context(), d, next); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(f.root, "sim", "pki", "ca.key")); err != nil {
		t.Error("the keys of a cluster that was imported are gone:", err)
	}
}

// A cluster of the original eggo brings its deploy.yaml and its CAs along.
func TestImportOfAClusterOfTheOriginalEggo(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	dir := t.TempDir()
	text := f.lab.DeployYAML()
	if err := errors.Join(os.CopyFS(filepath.Join(dir, "pki"), os.DirFS(filepath.Join(f.lab.StateDir(), "pki"))),
		os.WriteFile(filepath.Join(dir, "deploy.yaml"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	next, err := ReadEggo(t.Context(), request.ImportEggo{Dir: dir}, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := did(t, next, d); err != nil {
		t.Fatal(err)
	}
	allAt(t, f, "import", 1, "m1", "w1")
	own, err := os.ReadFile(filepath.Join(f.root, "sim", "deploy.yaml"))
	if c, problems := config.Load(own, "deploy.yaml"); err != nil || c == nil || !c.Eggo.Imported {
		t.Errorf("%s %v %v", own, problems, err)
	}
	st, err := Status(t.Context(), request.OfCluster("sim"), d)
	if err != nil || st.Unknown != nil || !st.Etcd[0].Healthy {
		t.Errorf("%+v %v", st, err)
	}
	record, err := os.ReadFile(f.lab.Nodes["m1"].Path("/var/lib/eggo-node/record"))
	if err != nil || !strings.Contains(string(record), "unit\tkube-apiserver.service\timported\n") {
		t.Errorf("%s %v", record, err)
	}
	rows, err := Certificates(t.Context(), request.OfCluster("sim"), false, d)
	wrong := slices.IndexFunc(rows, func(r CertificateRow) bool { return r.State == "other" || r.State == "absent" })
	if err != nil || len(rows) < 10 || wrong >= 0 {
		t.Errorf("the certificates of its maker are called wrong: %+v %v", rows, err)
	}
	elsewhere(t, f)
	key := filepath.Join(dir, "pki", "sa.key")
	if err := errors.Join(os.Rename(key, key+".away"), syscall.Mkfifo(key, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEggo(t.Context(), request.ImportEggo{Dir: dir}, d); event.AsFault(err).Code != "pki.read" {
		t.Error(err)
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "pki", "etcd", "ca.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEggo(t.Context(), request.ImportEggo{Dir: dir}, d); event.AsFault(err).Code != "import.no-key" {
		t.Error(err)
	}
}
