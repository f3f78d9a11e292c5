package kubeadm

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// TestConfigurationIsThatOfDeployYAML: the flags are those of the services, arguments of deploy.yaml among them; files
// that they name are seen by the pod.
func TestConfigurationIsThatOfDeployYAML(t *testing.T) {
	r := made(t, "dns-domain: c.example\nconfig-extra-args:\n"+
		"- {name: kube-apiserver, extra-args: {--audit-policy-file: /etc/audit.yaml, --audit-log-path: /var/log/k/a.log}}\n"+
		"- {name: etcd, extra-args: {ETCD_SNAPSHOT_COUNT: 7, GOGC: 50, ETCD_UNSUPPORTED_ARCH: arm64}}\n")
	n := r.named("m1")
	for c, want := range map[driver.Component][]string{
		driver.APIServer: {"name: audit-policy-file", "value: /etc/audit.yaml", "hostPath: /etc/audit.yaml",
			"hostPath: /var/log/k\n", "pathType: DirectoryOrCreate", "name: audit-log-maxage",
			"hostPath: /etc/kubernetes/audit-policy.yaml", "hostPath: /etc/kubernetes/encryption-config.yaml",
			"value: https://192.0.2.11:2379,https://192.0.2.31:2379", "dnsDomain: c.example",
			"imageRepository: registry.example.com/k8s", "kubernetesVersion: v1.34.2", "value: abc"},
		driver.Etcd: {"- name: snapshot-count\n      value: \"7\"", "name: GOGC", "imageTag: 3.6.5-0",
			"    extraEnvs:\n    - name: ETCD_UNSUPPORTED_ARCH\n      value: arm64\n    - name: GOGC\n",
			"dataDir: /var/lib/etcd/default.etcd"},
		driver.ControllerManager: {"controllerManager:", "name: cluster-signing-cert-file"},
		driver.Scheduler:         {"scheduler:", "name: leader-elect"},
	} {
		text, err := r.configuration(c, n, "abc")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s has no %q:\n%s", c, w, text)
			}
		}
		if c == driver.ControllerManager && strings.Contains(string(text), "extraVolumes") {
			t.Errorf("kubeadm mounts all of it by itself:\n%s", text)
		}
	}
}

// TestWhichComponentRunsHow: on a control plane all are pods but the kubelet; a member of etcd elsewhere is a service.
func TestWhichComponentRunsHow(t *testing.T) {
	r := made(t, "")
	for name, want := range map[string]string{
		"m1": "etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy | kubelet kubeadm | " +
			"/etc/kubernetes/manifests/etcd.yaml /etc/kubernetes/manifests/kube-apiserver.yaml " +
			"/etc/kubernetes/manifests/kube-controller-manager.yaml /etc/kubernetes/manifests/kube-scheduler.yaml " +
			"/etc/systemd/system/kubelet.service",
		"w1": "kubelet kube-proxy | kubelet | /etc/systemd/system/kubelet.service",
		"e1": "etcd | etcd | /etc/systemd/system/etcd.service",
	} {
		n := r.named(name)
		var is []string
		for _, c := range r.Components(n) {
			is = append(is, string(c))
		}
		if got := strings.Join(is, " ") + " | " + strings.Join(r.Executes(n), " ") + " | " +
			strings.Join(r.Owns(n), " "); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	if is := r.Images(r.named("m1"), r.BundleOf(r.named("m1")).Manifest()); !slices.Equal(is, []string{
		"registry.example.com/k8s/etcd:3.6.5-0", "registry.example.com/k8s/kube-apiserver:v1.34.2",
		"registry.example.com/k8s/kube-controller-manager:v1.34.2",
		"registry.example.com/k8s/kube-scheduler:v1.34.2", "registry.example.com/k8s/kube-proxy:v1.34.2"}) {
		t.Error(is)
	}
	for _, c := range r.Certificates(r.named("m1")) {
		if c.Name == "kube-proxy" {
			t.Error("kube-proxy has a service account")
		}
	}
}

// TestVerifyWantsWhatTheDriverStarts: `eggo-bundle verify` has no driver to ask.
func TestVerifyWantsWhatTheDriverStarts(t *testing.T) {
	r := made(t, "")
	for _, role := range bundle.AllRoles() {
		is := r.Executes(config.Node{Roles: []bundle.Role{role}})
		if want := r.Cluster.StartedPrograms(role); !slices.Equal(is, want) {
			t.Errorf("%s: %v, want %v", role, is, want)
		}
	}
}

// TestAMemberBeginsByAPatch: etcd takes the last of several flags of a name. It asks for as much of the processor as
// the API server does.
func TestAMemberBeginsByAPatch(t *testing.T) {
	r := made(t, "etcd-token: tok\n")
	n := r.named("m1")
	m := newMachine(t, r.Binaries(n, Program)[0].File)
	nd := node.New(m, r.Emit)
	f := driver.Formation{State: "existing", Members: map[string]string{"m2": "https://192.0.2.12:2380",
		"m1": "https://192.0.2.11:2380"}}
	for range 2 {
		if err := r.Form(t.Context(), n, nd, f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(m.at(patches + "/etcd+json.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ops []struct{ Op, Path, Value string }
	if err := json.Unmarshal(text, &ops); err != nil || len(ops) != 3 || ops[0].Path !=
		"/spec/containers/0/command/-" || ops[0].Value !=
		"--initial-cluster=m1=https://192.0.2.11:2380,m2=https://192.0.2.12:2380" {
		t.Errorf("%s %v", text, err)
	}
	if err := r.StartLocked(t.Context(), driver.Etcd, n, nd); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(m.at(manifest(driver.Etcd)))
	if err != nil || !strings.Contains(string(made), "initial-cluster-state=existing") ||
		!strings.Contains(string(made), `"requests":{"cpu":"250m"}`) {
		t.Errorf("%s %v", made, err)
	}
	if i, err := os.Stat(m.at(r.Paths().EtcdData)); err != nil || i.Mode().Perm() != 0o700 {
		t.Error(i, err)
	}
}

// TestKubeletThatRunsAlone: it knows no API server and serves nobody; when the node joins it does both. A worker has no
// static pods.
func TestKubeletThatRunsAlone(t *testing.T) {
	r := made(t, "enable-kubelet-serving: true\n")
	svc, err := r.services.AloneKubelet(r.named("m1"))
	if err != nil {
		t.Fatal(err)
	}
	var conf doc
	for _, f := range svc.Files {
		if strings.HasSuffix(f.Path, "kubelet.yaml") {
			if err := yaml.Unmarshal(f.Data, &conf); err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasSuffix(f.Path, ".service") && strings.Contains(string(f.Data), "kubeconfig") {
			t.Errorf("%s", f.Data)
		}
	}
	if conf["enableServer"] != false || conf["serverTLSBootstrap"] != nil || conf["staticPodPath"] != manifests {
		t.Error(conf)
	}
}

// TestTheProxyOfADaemonSet has the revision by which a node knows that it is the one that was published.
func TestTheProxyOfADaemonSet(t *testing.T) {
	r := made(t, "config-extra-args: [{name: kube-proxy, extra-args: {--v: 4, --proxy-mode: nftables}}]\n")
	s, err := r.proxySettings(t.Context())
	if err != nil || !strings.Contains(string(s.text), "mode: nftables") || s.flags["v"] != "4" {
		t.Fatalf("%s %v %v", s.text, s.flags, err)
	}
	out, err := r.withRevision("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: kube-proxy}\n---\n"+
		"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: kube-proxy}\nspec: {template: {spec: {containers: [{"+
		"command: [kube-proxy], env: [{name: A, value: b}]}]}}}\n", s)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := r.proxyRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: ServiceAccount", "- --v=4", "value: " + revision, "name: kubeadm-config",
		"name: A"} {
		if !strings.Contains(strings.ReplaceAll(string(out), `"`, ""), want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
	if other, err := made(t, "").proxyRevision(t.Context()); err != nil || other == revision {
		t.Error("another configuration has the same revision", err)
	}
}
