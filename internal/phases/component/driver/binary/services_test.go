package binary

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	proxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// made is the driver of a run that knows its nodes and certificates, for a deploy.yaml with more keys.
func made(t *testing.T, more string) *Binary {
	t.Helper()
	c, ps := config.Load([]byte("cluster-id: mine\nmasters: [{name: m1, ip: 192.0.2.11}]\nnodes: [{name: w1, ip: "+
		"192.0.2.21}]\npackage-src: {x86src: /b.tar.gz}\n"+more), "deploy.yaml")
	if c == nil {
		t.Fatal(ps)
	}
	e := &input.Env{Cluster: c, Now: time.Now, StateDir: t.TempDir()}
	p := &payload.Payload{Nodes: inventory.New(e, facts.Places{}),
		Executed: func(n config.Node) []string { return Executes(c, n) }}
	r := &Binary{Env: e, Payload: p, Certs: certs.New(e), Rolling: rolling.New(),
		RuntimeUnit: "containerd.service"}
	r.SetBundle("amd64", nodestest.Box{Is: nodestest.Manifest()})
	for _, n := range c.Nodes {
		r.SetFact(n.Name, nodestest.Good(n))
	}
	r.Certs.Use(&pki.PKI{Nodes: map[string]pki.Node{}})
	return r
}

// fileOf is the content of one of a service's files.
func fileOf(t *testing.T, s node.Service, err error, suffix string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Files {
		if strings.HasSuffix(f.Path, suffix) {
			return string(f.Data)
		}
	}
	t.Fatalf("%s has no %s", s.Unit, suffix)
	return ""
}

// Arguments of deploy.yaml take the place of ours, one by one, sorted among them, and mean to systemd what they say.
func TestArgumentsOfComponentsAreLaidOverOurs(t *testing.T) {
	r := made(t, `apiserver-timeout: 77s
config-extra-args:
- {name: kube-apiserver, extra-args: {--service-node-port-range: 31000-31999, --audit-webhook-version: 'a%b $c "d"'}}
- {name: kube-controller-manager, extra-args: {--controllers: '*', --node-monitor-grace-period: 20s}}
- {name: kube-scheduler, extra-args: [--kube-api-qps=99]}
- {name: kubelet, extra-args: {--max-pods: 42, --node-labels: 'a=b,c=d'}}
- {name: kube-proxy, extra-args: {--v: 4, --proxy-mode: nftables, --nodeport-addresses: '10.0.0.0/8,192.0.2.0/24', --conntrack-min: 5, --feature-gates: 'A=true,B=false', --masquerade-all: ''}}
`)
	m := r.Cluster.Nodes[0]
	s, err := r.service(driver.APIServer, m)
	api := fileOf(t, s, err, "kube-apiserver.service")
	for _, want := range []string{"\n  --service-node-port-range=31000-31999 ", "\n  --request-timeout=1m17s ",
		"\n  \"--audit-webhook-version=a%%b $$c \\\"d\\\"\" \\\n"} {
		if !strings.Contains(api, want) {
			t.Errorf("kube-apiserver has no %q:\n%s", want, api)
		}
	}
	if strings.Contains(api, "30000-32767") {
		t.Error("ours is there too")
	}
	var flags []string
	for line := range strings.Lines(api) {
		if f := strings.Trim(line, " \\\n\""); strings.HasPrefix(f, "--") {
			flags = append(flags, f)
		}
	}
	if !slices.IsSorted(flags) || len(flags) < 30 {
		t.Errorf("not sorted: %v", flags)
	}
	s, err = r.service(driver.ControllerManager, m)
	if text := fileOf(t, s, err, ".service"); !strings.Contains(text, "--node-monitor-grace-period=20s") ||
		!strings.Contains(text, "--controllers=* ") {
		t.Error(text)
	}
	s, err = r.service(driver.Scheduler, m)
	if text := fileOf(t, s, err, ".service"); !strings.Contains(text, "--kube-api-qps=99") {
		t.Error(text)
	}
	s, err = r.service(driver.Kubelet, m)
	if text := fileOf(t, s, err, ".service"); !strings.Contains(text, "--max-pods=42 ") ||
		!strings.Contains(text, "--node-labels=a=b,c=d") {
		t.Error(text)
	}
	s, err = r.service(driver.Proxy, m)
	if text := fileOf(t, s, err, ".service"); !strings.Contains(text, "--v=4\n") || strings.Contains(text, "nftables") {
		t.Error(text)
	}
	var p proxyv1alpha1.KubeProxyConfiguration
	if err := yaml.UnmarshalStrict([]byte(fileOf(t, s, err, "kube-proxy.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	if p.Mode != "nftables" || len(p.NodePortAddresses) != 2 || *p.Conntrack.Min != 5 || !p.FeatureGates["A"] ||
		p.FeatureGates["B"] || !p.IPTables.MasqueradeAll {
		t.Errorf("%+v", p)
	}
}

// Every flag of kube-proxy that is taken has a field that the real type knows.
func TestEveryFieldOfTheProxyIsReal(t *testing.T) {
	values := map[string]string{"--proxy-mode": "ipvs", "--feature-gates": "A=true",
		"--nodeport-addresses": "10.0.0.0/8", "--oom-score-adj": "-5", "--kube-api-qps": "7",
		"--kube-api-burst": "9", "--conntrack-max-per-core": "1", "--conntrack-min": "1",
		"--iptables-masquerade-bit": "3"}
	r := made(t, "")
	for _, name := range []string{"bind-address", "config-sync-period", "conntrack-tcp-be-liberal",
		"conntrack-tcp-timeout-close-wait", "conntrack-tcp-timeout-established", "conntrack-udp-timeout",
		"conntrack-udp-timeout-stream", "detect-local-mode", "iptables-localhost-nodeports", "iptables-min-sync-period",
		"iptables-sync-period", "ipvs-exclude-cidrs", "ipvs-min-sync-period",
		"ipvs-scheduler", "ipvs-strict-arp", "ipvs-sync-period", "ipvs-tcp-timeout", "ipvs-tcpfin-timeout",
		"ipvs-udp-timeout", "kube-api-content-type", "masquerade-all", "metrics-bind-address",
		"pod-bridge-interface", "pod-interface-name-prefix", "profiling", "show-hidden-metrics-for-version",
		"bind-address-hard-fail"} {
		switch v := "--" + name; {
		case strings.Contains(name, "period"), strings.Contains(name, "timeout"):
			values[v] = "5s"
		case slices.Contains([]string{"conntrack-tcp-be-liberal", "iptables-localhost-nodeports", "ipvs-strict-arp",
			"masquerade-all", "profiling", "bind-address-hard-fail"}, name):
			values[v] = "true"
		default:
			values[v] = "10.0.0.1"
		}
	}
	r.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kube-proxy", Args: values}}
	s, err := r.service(driver.Proxy, r.Cluster.Nodes[0])
	text := fileOf(t, s, err, "kube-proxy.yaml")
	var p proxyv1alpha1.KubeProxyConfiguration
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p.IPVS.TCPFinTimeout.Duration != 5*time.Second || p.ClientConnection.QPS != 7 ||
		p.DetectLocal.InterfaceNamePrefix != "10.0.0.1" || !p.EnableProfiling || *p.OOMScoreAdj != -5 {
		t.Errorf("%+v", p)
	}
	if n := strings.Count(fileOf(t, s, err, ".service"), "\n  --"); n != 1 {
		t.Errorf("%d flags beside the configuration", n)
	}
}

// The kubelet's configuration is one that its real type decodes, and has no field that the version does not know.
func TestTheKubeletOfEveryVersion(t *testing.T) {
	for minor := bundle.OldestMinor; minor <= bundle.NewestMinor+1; minor++ {
		for _, cgroup2 := range []bool{false, true} {
			r := made(t, "")
			m := nodestest.Manifest()
			m.Kubernetes = fmt.Sprintf("v1.%d.1", minor)
			r.SetBundle("amd64", nodestest.Box{Is: m})
			n := r.Cluster.Nodes[0]
			r.Fact(n.Name).Cgroup2 = cgroup2
			s, err := r.service(driver.Kubelet, n)
			text := fileOf(t, s, err, "kubelet.yaml")
			var k kubeletv1beta1.KubeletConfiguration
			if err := yaml.UnmarshalStrict([]byte(text), &k); err != nil {
				t.Fatalf("%s: %v", m.Kubernetes, err)
			}
			if told := k.FailCgroupV1 != nil && !*k.FailCgroupV1; told != (!cgroup2 && minor >= 31) {
				t.Errorf("%s, cgroup2 %v: failCgroupV1 %v", m.Kubernetes, cgroup2, k.FailCgroupV1)
			}
			if bytes.Contains([]byte(fileOf(t, s, err, ".service")), []byte("pod-infra")) {
				t.Error("a flag that is gone")
			}
		}
	}
}

// knownFlag reports whether any known version of the component has the flag, by the table of package config.
func knownFlag(t *testing.T, component, flag string) bool {
	t.Helper()
	table, err := os.ReadFile("../../../../config/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(table), "\n\n"+component+"\n")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.Contains("\n"+text, "\n"+strings.TrimPrefix(flag, "--")+" ")
}

// Our own flags are flags of every version that can be installed.
func TestOurFlagsExistInEveryVersion(t *testing.T) {
	r := made(t, "")
	m := r.Cluster.Nodes[0]
	for _, c := range []driver.Component{driver.APIServer, driver.ControllerManager, driver.Scheduler,
		driver.Proxy, driver.Kubelet} {
		component := string(c)
		s, err := r.service(c, m)
		args := map[string]string{}
		for line := range strings.Lines(fileOf(t, s, err, ".service")) {
			if f := strings.Trim(line, " \\\n\""); strings.HasPrefix(f, "--") {
				name, value, _ := strings.Cut(f, "=")
				args[name] = value
			}
		}
		if len(args) == 0 {
			t.Errorf("%s has no flags", component)
		}
		for minor := bundle.OldestMinor; minor <= bundle.NewestMinor; minor++ {
			c := &config.Cluster{ExtraArgs: []config.ExtraArgs{{Component: component, Args: args}}}
			for _, p := range config.CheckFlags(c, fmt.Sprintf("v1.%d.0", minor)) {
				t.Errorf("%s of 1.%d: %s %v", component, minor, p.Code, p.Args)
			}
			for name := range args {
				if !knownFlag(t, component, name) {
					t.Errorf("%s has no %s", component, name)
				}
			}
		}
	}
}

// systemd waits for an API server longer than it can take to stop, whatever deploy.yaml sets for it; a flag of
// deploy.yaml takes the place of ours.
func TestSystemdDoesNotKillAnAPIServerThatStops(t *testing.T) {
	for name, c := range map[string]struct {
		yaml  string
		flags []string
		most  time.Duration // what stopping can take
	}{
		"ours": {"", []string{"shutdown-delay-duration=2s", "shutdown-watch-termination-grace-period=5s"},
			2*time.Second + 5*time.Second + 120*time.Second},
		"the user's": {"apiserver-timeout: 10m\nconfig-extra-args:\n- {name: kube-apiserver, extra-args: " +
			"{--shutdown-delay-duration: 70s, --shutdown-watch-termination-grace-period: 1m}}\n",
			[]string{"shutdown-delay-duration=70s", "shutdown-watch-termination-grace-period=1m"},
			70*time.Second + time.Minute + 10*time.Minute},
		"off": {"config-extra-args:\n- {name: kube-apiserver, extra-args: {--shutdown-delay-duration: 0s}}\n",
			[]string{"shutdown-delay-duration=0s", "shutdown-watch-termination-grace-period=5s"},
			5*time.Second + 120*time.Second},
	} {
		r := made(t, c.yaml)
		s, err := r.service(driver.APIServer, r.Cluster.Nodes[0])
		text := fileOf(t, s, err, "kube-apiserver.service")
		for _, flag := range c.flags {
			key, _, _ := strings.Cut(flag, "=")
			if !strings.Contains(text, "\n  --"+flag+" ") || strings.Count(text, "--"+key+"=") != 1 {
				t.Errorf("%s: not --%s alone:\n%s", name, flag, text)
			}
		}
		var wait int
		for line := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(line, "TimeoutStopSec="); ok {
				if _, err := fmt.Sscan(v, &wait); err != nil {
					t.Error(err)
				}
			}
		}
		if got := time.Duration(wait) * time.Second; got <= c.most || got > c.most+time.Minute {
			t.Errorf("%s: systemd waits %s, stopping takes up to %s", name, got, c.most)
		}
	}
}

// Every version that is installed knows every flag that this program sets: an unknown one ends a component at its
// start. A bundle of an older version is refused (bundle.kubernetes-old).
func TestOurFlagsAreOfEveryVersion(t *testing.T) {
	r := made(t, "")
	n := r.Cluster.Nodes[0]
	for _, c := range []driver.Component{driver.APIServer, driver.ControllerManager, driver.Scheduler,
		driver.Proxy, driver.Kubelet} {
		component := string(c)
		s, err := r.service(c, n)
		args := map[string]string{}
		for _, word := range nodestest.ExecStart(t, fileOf(t, s, err, "/"+s.Unit))[1:] {
			flag, value, _ := strings.Cut(word, "=")
			if args[flag] = value; flag != "--config" && !knownFlag(t, component, flag) {
				t.Errorf("%s: no version knows %s", component, flag)
			}
		}
		c := &config.Cluster{ExtraArgs: []config.ExtraArgs{{Component: component, Args: args}}}
		for minor := bundle.OldestMinor; minor <= bundle.NewestMinor; minor++ {
			if ps := config.CheckFlags(c, fmt.Sprintf("v1.%d.0", minor)); len(ps) > 0 || len(args) == 0 {
				t.Errorf("%s of 1.%d: %v", component, minor, ps)
			}
		}
	}
}

func TestTheKubeletAsksForItsServingCertificate(t *testing.T) {
	r := made(t, "enable-kubelet-serving: true\n")
	s, err := r.service(driver.Kubelet, r.Cluster.Nodes[0])
	var k kubeletv1beta1.KubeletConfiguration
	if err := yaml.UnmarshalStrict([]byte(fileOf(t, s, err, "kubelet.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	if !k.ServerTLSBootstrap || k.TLSCertFile != "" || k.TLSPrivateKeyFile != "" {
		t.Errorf("%+v", k)
	}
	for _, f := range s.Files {
		if strings.HasSuffix(f.Path, "kubelet.key") {
			t.Error("the node gets a key that it does not use")
		}
	}
}

// Logins of private registries are for root alone, and one restart of the kubelet away.
func TestTheKubeletHasTheLoginsOfRegistries(t *testing.T) {
	r := made(t, "eggo: {registries: {'r.local:5000': {username: e, password: correct-horse}}}\n")
	s, err := r.service(driver.Kubelet, r.Cluster.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Files, func(f node.File) bool { return f.Path == "/var/lib/kubelet/config.json" })
	if i < 0 || s.Files[i].Mode != 0o600 || !s.Files[i].Secret || !strings.Contains(string(s.Files[i].Data),
		"r.local:5000") || !slices.Contains(s.Places, s.Files[i].Path) {
		t.Fatalf("%d %v", i, s.Places)
	}
	for k, f := range s.Files {
		if k != i && strings.Contains(string(f.Data), "correct-horse") {
			t.Errorf("the password is in %s", f.Path)
		}
	}
}

// Nothing that this program writes below a directory of the list may come from a bundle or a list of deploy.yaml.
func TestOurFilesAreKeptFree(t *testing.T) {
	listed := func(file string) bool {
		return slices.ContainsFunc(nodepath.Dirs(nodepath.Listed),
			func(d string) bool { return strings.HasPrefix(file, d+"/") })
	}
	seen := 0
	r := made(t, "")
	n := r.Cluster.Nodes[0]
	for _, c := range []driver.Component{driver.APIServer, driver.ControllerManager, driver.Scheduler, driver.Proxy,
		driver.Kubelet, driver.Etcd} {
		s, err := r.service(c, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Files {
			if !listed(f.Path) {
				continue
			}
			seen++
			if nodepath.Check(nodepath.Listed, f.Path) == nil {
				t.Errorf("%s may come from outside", f.Path)
			}
		}
		if file := layout.UnitDir + s.Unit; nodepath.Check(nodepath.Listed, file) == nil {
			t.Errorf("%s may come from outside", file)
		}
	}
	at := r.Paths()
	for _, file := range []string{at.AdminConf, at.Kubeconfig, at.Bootstrap,
		layout.UnitDir + layout.DockerdUnit, layout.UnitDir + layout.CRIDockerUnit,
		layout.UnitDir + layout.IsuladUnit} {
		if nodepath.Check(nodepath.Listed, file) == nil {
			t.Errorf("%s may come from outside", file)
		}
	}
	if seen < 20 {
		t.Errorf("only %d files were inspected", seen)
	}
}

// TestVerifyAndPreflightWantTheSameBinaries: `eggo-bundle verify` has no driver to ask. CoreDNS may come with a
// package.
func TestVerifyAndPreflightWantTheSameBinaries(t *testing.T) {
	for _, dns := range []string{"", "service: {dns: {corednstype: binary}}\n"} {
		r := made(t, dns)
		for _, role := range bundle.AllRoles() {
			is := slices.DeleteFunc(r.Executes(config.Node{Roles: []bundle.Role{role}}),
				func(name string) bool { return name == string(driver.CoreDNS) })
			if want := r.Cluster.StartedPrograms(role); !slices.Equal(is, want) {
				t.Errorf("%s: %v, want %v", role, is, want)
			}
		}
	}
}
