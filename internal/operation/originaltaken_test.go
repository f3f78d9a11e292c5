package operation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// ofOriginal makes the simulated machines a cluster in the layout of the original eggo, which was imported. The control
// planes that are named have no kubelet, as the original makes them.
func ofOriginal(t *testing.T, bare ...string) (*fakes, Deps, heard) {
	t.Helper()
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	dir := t.TempDir()
	file := filepath.Join(dir, "deploy.yaml")
	if err := os.WriteFile(file, f.lab.DeployYAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := did(t, request.Deploy{Common: request.Common{Source: request.Source{File: file}}}, d); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m1", "w1"} {
		n := f.lab.Nodes[name]
		move := func(from, to string) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(n.Path(to)), 0o755),
				os.Rename(n.Path(from), n.Path(to))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		for _, u := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
			"kube-proxy"} {
			move("/etc/systemd/system/"+u+".service", "/usr/lib/systemd/system/"+u+".service")
		}
		move("/etc/kubernetes/kubelet.conf", "/etc/kubernetes/kubelet.kubeconfig")
		move("/etc/kubernetes/kubelet.yaml", "/etc/kubernetes/kubelet_config.yaml")
		move("/etc/kubernetes/kube-proxy.yaml", "/etc/kubernetes/kube-proxy-config.yaml")
		if slices.Contains(bare, name) {
			unequip(t, f, n)
			continue
		}
		for path, text := range map[string]string{"/etc/kubernetes/kubelet.kubeconfig": "theirs of " + name + "\n",
			"/etc/kubernetes/kube-proxy.conf": "theirs\n"} {
			if err := os.WriteFile(n.Path(path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"/var/lib/eggo-node", "/etc/eggo", "/opt/eggo", "/usr/local/bin"} {
			if err := os.RemoveAll(n.Path(path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "pki"), os.DirFS(filepath.Join(f.lab.StateDir(), "pki"))); err != nil {
		t.Fatal(err)
	}
	elsewhere(t, f)
	next, err := ReadEggo(t.Context(), request.ImportEggo{Dir: dir}, d)
	if err != nil {
		t.Fatal(err)
	}
	h := heard{&collector{}}
	d.Sink = h.collector
	if err := did(t, next, d); err != nil {
		t.Fatal(err)
	}
	h.all = nil
	return f, d, h
}

// unequip takes from a control plane what only nodes with a kubelet have.
func unequip(t *testing.T, f *fakes, n *phasestest.Node) {
	t.Helper()
	for _, unit := range []string{"kubelet.service", "kube-proxy.service", "containerd.service"} {
		if err := f.lab.End(n.Name(), unit); err != nil {
			t.Fatal(err)
		}
	}
	f.lab.API.Remove("/api/v1/nodes/" + n.Name())
	for _, path := range []string{"/usr/lib/systemd/system/kubelet.service",
		"/usr/lib/systemd/system/kube-proxy.service", "/etc/kubernetes/kubelet_config.yaml",
		"/etc/kubernetes/kubelet.kubeconfig",
		"/etc/kubernetes/kube-proxy-config.yaml", "/etc/kubernetes/kube-proxy.conf", "/var/lib/kubelet", "/opt/cni",
		"/etc/cni", "/var/lib/eggo-node", "/etc/eggo", "/opt/eggo", "/usr/local/bin"} {
		if err := os.RemoveAll(n.Path(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// A control plane of the original eggo without a kubelet is imported as it is; the first deploy gives it its runtime, a
// kubelet and kube-proxy, and the cluster a Node.
func TestAControlPlaneOfTheOriginalEggoGetsAKubelet(t *testing.T) {
	f, d, h := ofOriginal(t, "m1")
	c := request.OfCluster("sim")
	st, err := Status(t.Context(), c, d)
	if err != nil || !st.Healthy {
		t.Errorf("the cluster runs: %+v %v", st, err)
	}
	if err := did(t, request.Deploy{Common: c}, d); err != nil {
		for _, x := range h.findings() {
			t.Log(x.Host, x.Severity, x.Fault.Code, x.Fault.Args)
		}
		t.Fatal(err)
	}
	for _, unit := range []string{"kubelet.service", "kube-proxy.service", "containerd.service"} {
		if f.lab.Nodes["m1"].Runs(unit) == "" {
			t.Errorf("m1 has no %s", unit)
		}
	}
	if st, err = Status(t.Context(), c, d); err != nil || !st.Healthy {
		t.Errorf("taken over: %+v %v", st, err)
	}
	h.all = nil
	if err := did(t, request.Deploy{Common: c}, d); err != nil || len(h.changes()) > 0 {
		t.Error("a second deploy has changed something:", err, h.changes())
	}
	if err := did(t, request.Cleanup{Common: c}, d); err != nil {
		t.Fatal(err)
	}
	if now := trees(t, f); strings.Contains(now, "/etc/kubernetes/kubelet.conf") ||
		strings.Contains(now, "/etc/systemd/system/kubelet.service") {
		t.Error("files of ours have stayed")
	}
}

// A cluster of the original eggo is taken over by a deploy: its files are kept first, its kubelets keep their
// certificates, a second deploy changes nothing, and a cleanup gives its files back.
func TestAClusterOfTheOriginalEggoIsTakenOver(t *testing.T) {
	long(t)
	f, d, h := ofOriginal(t)
	c := request.OfCluster("sim")
	if err := did(t, request.Renew{Common: c}, d); err == nil || len(h.changes()) > 0 {
		t.Error("certificates were renewed before:", err, h.changes())
	}
	h.all = nil
	was := trees(t, f)
	if err := did(t, request.Deploy{Common: c}, d); err != nil {
		for _, x := range h.findings() {
			t.Log(x.Host, x.Severity, x.Fault.Code, x.Fault.Args)
		}
		for _, e := range h.all {
			if x, is := e.(event.StepEnded); is && x.Fault != nil {
				t.Log(x.Step, x.Fault.Code, x.Fault.Args, x.Fault.Cause)
			}
		}
		t.Fatal(err)
	}
	for _, want := range []string{"m1 change.take-over", "w1 change.take-over"} {
		if got := h.changes(); !slices.Contains(got, want) {
			t.Error(want, got)
		}
	}
	read := func(node, path string) string {
		data, err := os.ReadFile(f.lab.Nodes[node].Path(path))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	for _, n := range []string{"m1", "w1"} {
		if got := read(n, "/etc/kubernetes/kubelet.conf"); got != "theirs of "+n+"\n" {
			t.Errorf("%s: the kubelet has lost its certificate: %q", n, got)
		}
		kept := false // a simulated node has a root of its own below the directory
		if err := filepath.WalkDir(f.lab.Nodes[n].Path("/var/lib/eggo-node/former"), func(p string, _ fs.DirEntry,
			err error) error {
			kept = kept || strings.HasSuffix(p, "/etc/kubernetes/kube-proxy.conf")
			return err
		}); err != nil || !kept {
			t.Errorf("%s: what was there is not kept: %v", n, err)
		}
		if got := read(n, "/etc/kubernetes/kube-proxy.conf"); !strings.Contains(got, "system:kube-proxy") {
			t.Errorf("%s: %q", n, got)
		}
	}
	h.all = nil
	if err := did(t, request.Deploy{Common: c}, d); err != nil || len(h.changes()) > 0 {
		t.Error("a second deploy has changed something:", err, h.changes())
	}
	if err := did(t, request.Renew{Common: c}, d); err != nil {
		t.Error(err)
	}
	if err := did(t, request.Cleanup{Common: c}, d); err != nil {
		t.Fatal(err)
	}
	now := trees(t, f)
	for line := range strings.Lines(was) {
		if strings.Contains(line, "/etc/kubernetes/") && !strings.Contains(now, line) {
			t.Error("it has not got back", strings.TrimSpace(line))
		}
	}
	if strings.Contains(now, "/etc/systemd/system/kubelet.service") ||
		strings.Contains(now, "/etc/kubernetes/kubelet.conf") {
		t.Error("files of ours have stayed")
	}
}

// What the control host cannot take over is refused, whatever was imported.
func TestAClusterOfTheOriginalEggoWithServicesOfNames(t *testing.T) {
	f, d, h := ofOriginal(t)
	own := filepath.Join(f.root, "sim", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	fresh := strings.Replace(string(text), "corednstype: pod", "corednstype: binary", 1)
	if fresh == string(text) {
		fresh += "service: {dns: {corednstype: binary}}\n"
	}
	if err := os.WriteFile(own, []byte(fresh), 0o600); err != nil {
		t.Fatal(err)
	}
	err = did(t, request.Deploy{Common: request.OfCluster("sim")}, d)
	var codes []string
	for _, x := range h.findings() {
		codes = append(codes, x.Host+" "+x.Fault.Code)
	}
	if event.AsFault(err) == nil || event.AsFault(err).Code != "preflight.failed" || len(h.changes()) > 0 ||
		!slices.Contains(codes, "m1 preflight.imported-dns") {
		t.Error(err, codes, h.changes())
	}
}
