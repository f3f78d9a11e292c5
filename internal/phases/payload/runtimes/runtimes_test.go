package runtimes

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

var worker = config.Node{Name: "w1", Arch: "amd64", Roles: []bundle.Role{bundle.Worker}}

// ofAWorker is what a worker gets of a bundle that has a pause image.
func ofAWorker() *payload.Payload {
	n := inventory.New(&input.Env{Cluster: &config.Cluster{Nodes: []config.Node{worker}}}, facts.Places{})
	n.SetFact(worker.Name, &facts.Facts{})
	n.SetBundle(worker.Arch, nodestest.Box{Is: &bundle.Manifest{Arch: worker.Arch,
		Images: []bundle.Image{{Name: "registry.k8s.io/pause:3.10.1"}}}})
	return &payload.Payload{Nodes: n, Executed: func(config.Node) []string { return nil }}
}

func TestVersionOfContainerd(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]containerdVersion{
		"containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1\n": {1, 6},
		"containerd github.com/containerd/containerd/v2 v2.2.3 77c84241c7cb\n":          {2, 2},
		"containerd containerd.io 1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da\n":    {1, 7},
		"containerd github.com/containerd/containerd v2.0.0-rc.1 207ad711eabd375a01713": {2, 0},
	} {
		if got, ok := parseContainerd(said); !ok || got != want {
			t.Errorf("%q is %v, %v", said, got, ok)
		}
	}
	for _, said := range []string{"", "containerd", "sh: containerd: not found", "containerd x unknown",
		"containerd x 0.2.5", "containerd x 1"} {
		if v, ok := parseContainerd(said); ok {
			t.Errorf("%q is %v", said, v)
		}
	}
}

// engineArgs are settings of config-extra-args for the runtime.
func engineArgs(kv ...string) []config.ExtraArgs {
	args := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		args[kv[i]] = kv[i+1]
	}
	return []config.ExtraArgs{{Component: "container-engine", Args: args}}
}

func TestConfigurationOfContainerd(t *testing.T) {
	t.Parallel()
	r := ofAWorker()
	r.Cluster.CNIBinDirs = []string{"/usr/libexec/cni", "/opt/cni/bin"}
	got := containerd{r}.config(worker, containerdVersion{1, 6})
	want := `# Written by Eggo; removed by eggo-tui cleanup.
version = 2

[plugins."io.containerd.grpc.v1.cri"]
disable_apparmor = true
restrict_oom_score_adj = true
sandbox_image = "registry.k8s.io/pause:3.10.1"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/opt/cni/bin"
conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("1.6:", diff)
	}
	r.Fact("w1").Caps, r.Fact("w1").AppArmor = ^uint64(0), true
	r.Cluster.RuntimeEndpoint = "unix:///run/own/cri.sock"
	r.Cluster.ExtraArgs = engineArgs("oom_score", "-500", "debug.level", "info", "cri.max_container_log_line_size",
		"32768", "images.max_concurrent_downloads", "5", "cri.enable_cdi", "false")
	got = containerd{r}.config(worker, containerdVersion{2, 2})
	want = `# Written by Eggo; removed by eggo-tui cleanup.
oom_score = -500
version = 3

[debug]
level = "info"

[grpc]
address = "/run/own/cri.sock"

[plugins."io.containerd.cri.v1.images"]
max_concurrent_downloads = 5

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "registry.k8s.io/pause:3.10.1"

[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = false
max_container_log_line_size = 32768

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/usr/libexec/cni", "/opt/cni/bin"]
conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("2.2:", diff)
	}
	if got := (containerd{r}).Load("/x.tar"); !strings.HasPrefix(got,
		"ctr -a /run/own/cri.sock -n k8s.io images import") {
		t.Error(got)
	}
	if got := (containerd{r}).config(worker, containerdVersion{2, 0}); !strings.Contains(got,
		"bin_dir = \"/opt/cni/bin\"\n") {
		t.Error("2.0 knows one directory:", got)
	}
}

func TestRegistriesOfContainerd(t *testing.T) {
	t.Parallel()
	r := ofAWorker()
	r.Cluster.Runtime = "containerd"
	r.Cluster.RegistryMirrors = []string{"https://m.example.com", "http://10.0.0.5:5000/",
		"ghcr.io=http://10.0.0.5:5000/v2/ghcr.io", "*=https://all.local"}
	r.Cluster.InsecureRegistries = []string{"m.example.com", "registry.local:5000"}
	got := map[string]string{}
	for _, f := range (containerd{r}).registries() {
		got[f.Path] = strings.TrimPrefix(string(f.Data), layout.WrittenByEggo)
	}
	want := map[string]string{
		"/etc/containerd/certs.d/docker.io/hosts.toml": `server = "https://registry-1.docker.io"

[host."https://m.example.com"]
  capabilities = ["pull", "resolve"]
  skip_verify = true

[host."http://10.0.0.5:5000"]
  capabilities = ["pull", "resolve"]
`,
		"/etc/containerd/certs.d/ghcr.io/hosts.toml": `server = "https://ghcr.io"

[host."http://10.0.0.5:5000/v2/ghcr.io"]
  capabilities = ["pull", "resolve"]
  override_path = true
`,
		"/etc/containerd/certs.d/_default/hosts.toml": `
[host."https://all.local"]
  capabilities = ["pull", "resolve"]
`,
		"/etc/containerd/certs.d/m.example.com/hosts.toml": `server = "http://m.example.com"

[host."https://m.example.com"]
  capabilities = ["pull", "resolve", "push"]
  skip_verify = true

[host."http://m.example.com"]
  capabilities = ["pull", "resolve", "push"]
`,
		"/etc/containerd/certs.d/registry.local:5000/hosts.toml": `server = "http://registry.local:5000"

[host."https://registry.local:5000"]
  capabilities = ["pull", "resolve", "push"]
  skip_verify = true

[host."http://registry.local:5000"]
  capabilities = ["pull", "resolve", "push"]
`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Private registries: the CA of each, and the logins of mirrors, which the kubelet does not know. A file with a login
// is for root alone.
func TestPrivateRegistriesOfContainerd(t *testing.T) {
	t.Parallel()
	r := ofAWorker()
	r.Cluster.Runtime = "containerd"
	r.Cluster.RegistryMirrors = []string{"https://m.local:5000", "ghcr.io=https://m.local:5000/v2/ghcr.io"}
	r.Cluster.Eggo.Registries = map[string]config.Registry{
		"m.local:5000": {Username: "e", Password: "pw", CA: []byte("the CA\n")},
		"own.local":    {CA: []byte("another\n")},
		"login.local":  {Username: "e", Password: "pw"},
	}
	got, modes := map[string]string{}, map[string]uint32{}
	for _, f := range (containerd{r}).registries() {
		got[f.Path], modes[f.Path] = strings.TrimPrefix(string(f.Data), layout.WrittenByEggo), f.Mode
		if secret := strings.Contains(string(f.Data), "Basic"); secret != f.Secret || secret != (f.Mode == 0o600) {
			t.Errorf("%s is secret: %v, mode %o", f.Path, f.Secret, f.Mode)
		}
	}
	const header = "\n[host.\"https://m.local:5000%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n%s" +
		"  ca = \"/etc/containerd/certs.d/m.local:5000/ca.crt\"\n" +
		"  [host.\"https://m.local:5000%[1]s\".header]\n    authorization = \"Basic ZTpwdw==\"\n"
	want := map[string]string{
		"/etc/containerd/certs.d/m.local:5000/ca.crt": "the CA\n",
		"/etc/containerd/certs.d/own.local/ca.crt":    "another\n",
		"/etc/containerd/certs.d/docker.io/hosts.toml": "server = \"https://registry-1.docker.io\"\n" +
			fmt.Sprintf(header, "", ""),
		"/etc/containerd/certs.d/ghcr.io/hosts.toml": "server = \"https://ghcr.io\"\n" +
			fmt.Sprintf(header, "/v2/ghcr.io", "  override_path = true\n"),
		"/etc/containerd/certs.d/m.local:5000/hosts.toml": "server = \"https://m.local:5000\"\n" +
			"ca = \"/etc/containerd/certs.d/m.local:5000/ca.crt\"\n",
		"/etc/containerd/certs.d/own.local/hosts.toml": "server = \"https://own.local\"\n" +
			"ca = \"/etc/containerd/certs.d/own.local/ca.crt\"\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The other runtimes have the CAs in directories of their own; logins come from the kubelet.
func TestPrivateRegistriesOfOtherRuntimes(t *testing.T) {
	t.Parallel()
	r := ofAWorker()
	r.Cluster.Eggo.Registries = map[string]config.Registry{
		"own.local:5000": {Username: "e", Password: "pw", CA: []byte("the CA\n")}}
	r.Cluster.Runtime = "isulad"
	list, err := isulad{r}.Services(t.Context(), worker, nil)
	if err != nil || len(list) != 1 || len(list[0].Files) != 3 ||
		list[0].Files[2].Path != "/etc/isulad/certs.d/own.local:5000/ca.crt" {
		t.Errorf("%+v %v", list, err)
	}
	for _, dir := range []string{dockerCerts, isuladCerts} {
		files := authorities(r.Cluster, dir)
		if len(files) != 1 || files[0].Path != dir+"/own.local:5000/ca.crt" || string(files[0].Data) != "the CA\n" {
			t.Errorf("%+v", files)
		}
	}
}

func decoded(t *testing.T, data []byte, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err, string(data))
	}
	return doc
}

func TestConfigurationOfDocker(t *testing.T) {
	t.Parallel()
	r := ofAWorker()
	r.Cluster.Runtime = "docker"
	r.Cluster.RegistryMirrors, r.Cluster.InsecureRegistries = []string{"https://m.example.com"}, []string{"10.0.0.0/8"}
	r.Cluster.ExtraArgs = engineArgs("log-level", "debug", "iptables", "true", "default-ulimits",
		`{"nofile":{"Name":"nofile","Hard":64000,"Soft":64000}}`)
	data, err := docker{r}.config()
	want := map[string]any{
		"exec-opts": []any{"native.cgroupdriver=systemd"}, "bridge": "none", "iptables": true, "ip-masq": false,
		"live-restore": true, "log-level": "debug",
		"log-driver": "json-file", "log-opts": map[string]any{"max-size": "100m", "max-file": "3"},
		"registry-mirrors": []any{"https://m.example.com"}, "insecure-registries": []any{"10.0.0.0/8"},
		"default-ulimits": map[string]any{"nofile": map[string]any{"Name": "nofile", "Hard": 64000.0, "Soft": 64000.0}},
	}
	if diff := cmp.Diff(want, decoded(t, data, err)); diff != "" {
		t.Error(diff)
	}
}

// The keys are those of iSulad's own daemon.json and of its manual on Kubernetes, CRI v1 and systemd's cgroups.
func TestConfigurationOfISulad(t *testing.T) {
	t.Parallel()
	known := strings.Fields(
		`authorization-plugin cgroup-parent cni-bin-dir cni-conf-dir default-runtime default-ulimits enable-cri-v1 enable-pod-events engine graph group hook-spec
		hosts image-layer-check image-opt-timeout image-server-sock-addr insecure-registries insecure-skip-verify-enforce log-driver log-level log-opts native.umask
		network-plugin pidfile pod-sandbox-image registry-mirrors runtimes selinux-enabled start-timeout state storage-driver storage-opts systemd-cgroup tls tls-config
		tls-verify use-decrypted-key websocket-server-listening-port`)
	r := ofAWorker()
	r.Cluster.Runtime, r.Cluster.CNIBinDirs = "isulad", []string{"/usr/libexec/cni", "/opt/cni/bin"}
	r.Cluster.RegistryMirrors, r.Cluster.InsecureRegistries = []string{"https://m.example.com", "http://10.0.0.5:5000"},
		[]string{"r.local:5000"}
	r.Cluster.ExtraArgs = engineArgs("log-level", "INFO")
	files, err := isulad{r}.Early(worker)
	if err != nil || len(files) != 2 || files[0].Path != "/etc/isulad/daemon.json" {
		t.Fatal(files, err)
	}
	doc := decoded(t, files[0].Data, err)
	for k := range doc {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+k+" ") {
			t.Errorf("iSulad does not know %s", k)
		}
	}
	for k, want := range map[string]any{
		"hosts": []any{"unix:///var/run/isulad.sock"}, "pod-sandbox-image": "registry.k8s.io/pause:3.10.1",
		"network-plugin": "cni", "enable-cri-v1": true, "systemd-cgroup": true,
		"default-runtime": "runc", "cni-bin-dir": "/usr/libexec/cni;/opt/cni/bin",
		"registry-mirrors":    []any{"m.example.com", "10.0.0.5:5000"},
		"insecure-registries": []any{"r.local:5000", "10.0.0.5:5000"}, "log-level": "INFO",
	} {
		if diff := cmp.Diff(want, doc[k]); diff != "" {
			t.Errorf("%s: %s", k, diff)
		}
	}
}

func TestSettingsAreOfTheirKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"true": "true", "5": "5", "-1.5": "-1.5", "text": `"text"`, "1 2": `"1 2"`, "": `""`, "null": `"null"`,
		`["a",1]`: `["a", 1]`, `"5"`: `"5"`,
		`a"b\c`: `"a\"b\\c"`, "<&>": `"<&>"`, "tab\tend": `"tab\tend"`,
	} {
		if got := tomlValue(setting(text)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Packages start docker at once: it must not run before it has our configuration.
func TestDockerWaitsForItsConfiguration(t *testing.T) {
	t.Parallel()
	d := docker{ofAWorker()}
	files, err := d.Early(worker)
	if err != nil || !d.Seeds() || len(files) != 1 ||
		!strings.HasPrefix(files[0].Path, "/etc/systemd/system/docker.service.d/") ||
		!strings.Contains(string(files[0].Data), "\nConditionPathExists="+layout.DockerConf+"\n") {
		t.Errorf("%v %v", files, err)
	}
}

// Each runtime is asked for its own images, and only those whose store goes; what does not answer has none.
func TestImagesOfEveryRuntimeAreCounted(t *testing.T) {
	bin := t.TempDir()
	for name, prints := range map[string]string{"ctr": "a b c", "docker": "sha256:a sha256:a sha256:b", "isula": "x"} {
		script := "#!/bin/sh\nfor i in " + prints + "; do echo $i; done\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for want, trees := range map[string][]string{
		"images 3\n": {"/var/lib/containerd", "/var/lib/kubelet"}, "images 2\n": {"/var/lib/docker"},
		"images 1\n": {"/var/lib/isulad"}, "images 5\n": {"/var/lib/containerd", "/var/lib/docker"},
		"images 0\n": {"/var/lib/kubelet"},
	} {
		if out, err := exec.Command("sh", "-euc", CountImages(trees)).CombinedOutput(); err != nil ||
			string(out) != want {
			t.Errorf("%v: %s %v", trees, out, err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\necho no daemon >&2; exit 1\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-euc", CountImages([]string{"/var/lib/docker"})).CombinedOutput(); err != nil ||
		string(out) != "images 0\n" {
		t.Errorf("%s %v", out, err)
	}
}
