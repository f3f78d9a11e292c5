package takeover

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// A setting that is turned off is a setting. What stands for "not set" is none.
func TestSettingsThatAreOff(t *testing.T) {
	for setting, want := range map[string]string{
		"serializeImagePulls: false":      "--serialize-image-pulls: \"false\"",
		"cpuCFSQuota: false":              "--cpu-cfs-quota: \"false\"",
		"enableDebuggingHandlers: false":  "--enable-debugging-handlers: \"false\"",
		"failSwapOn: false":               "--fail-swap-on: \"false\"",
		"seccompDefault: false":           "--seccomp-default: \"false\"",
		"registryPullQPS: 0":              "--registry-qps: \"0\"",
		"eventRecordQPS: 0":               "--event-qps: \"0\"",
		"oomScoreAdj: 0":                  "--oom-score-adj: \"0\"",
		"enforceNodeAllocatable: []":      "--enforce-node-allocatable: none",
		"tlsMinVersion: VersionTLS13":     "--tls-min-version: VersionTLS13",
		"reservedSystemCPUs: 0-1":         "--reserved-cpus: 0-1",
		"featureGates: {NodeSwap: false}": "--feature-gates: NodeSwap=false",
		"cgroupsPerQOS: false":            "--cgroups-per-qos: \"false\"",
		"cgroupRoot: /pods":               "--cgroup-root: /pods",
		"reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-1Gi: 2Gi}}, {numaNode: 1, limits: {memory: " +
			"1Gi}}]": "--reserved-memory: 0:hugepages-1Gi=2Gi,memory=1Gi;1:memory=1Gi",
		"featureGates: {X: true}":       "--feature-gates: X=true", // the kubelet runs with it
		"evictionHard: {}":              "--eviction-hard: \"\"",
		"enableProfilingHandler: false": "",
		"enableServer: false":           "warning import.setting enableServer",
		"crashLoopBackOff: {maxContainerRestartPeriod: 10s}": "warning import.setting crashLoopBackOff." +
			"maxContainerRestartPeriod",
		"memorySwap: {swapBehavior: LimitedSwap}": "warning import.setting memorySwap.swapBehavior",
		"enforceNodeAllocatable: null":            "", "maxPods: 0": "", "registryBurst: 0": "",
		"serializeImagePulls: null": "", "syncFrequency: 0s": "", "cgroupRoot: \"\"": "",
		"failCgroupV1: false": "", "resolvConf: /run/systemd/resolve/resolv.conf": "",
		"resolvConf: \"\"":          "warning import.setting resolvConf",
		"resolvConf: /srv/x":        "warning import.setting resolvConf",
		"serverTLSBootstrap: false": "", "readOnlyPort: 0": "",
	} {
		c := cluster(t)
		name, _, _ := strings.Cut(setting, ":")
		var lines []string
		for line := range strings.Lines(c.Kubelet) {
			if !strings.HasPrefix(line, name+":") {
				lines = append(lines, line)
			}
		}
		c.Kubelet = strings.Join(lines, "") + setting + "\n"
		wantSetting(t, c, setting, want)
	}
}

// The same of kube-proxy.
func TestSettingsOfKubeProxyThatAreOff(t *testing.T) {
	for change, want := range map[string]string{
		"localhostNodePorts: null|localhostNodePorts: false":          "--iptables-localhost-nodeports: \"false\"",
		"maxPerCore: null|maxPerCore: 0":                              "--conntrack-max-per-core: \"0\"",
		"min: null|min: 0":                                            "--conntrack-min: \"0\"",
		"tcpEstablishedTimeout: null|tcpEstablishedTimeout: 0s":       "--conntrack-tcp-timeout-established: 0s",
		"oomScoreAdj: null|oomScoreAdj: 0":                            "--oom-score-adj: \"0\"",
		"clusterCIDR: 10.244.0.0/16|clusterCIDR: 10.9.0.0/16":         "warning import.setting clusterCIDR",
		"healthzBindAddress: \"\"|healthzBindAddress: 127.0.0.1:1":    "warning import.setting healthzBindAddress",
		"hostnameOverride: \"\"|hostnameOverride: x":                  "warning import.setting hostnameOverride",
		"kubeconfig: /var/lib/kube-proxy/kubeconfig|kubeconfig: /srv": "warning import.setting clientConnection.kubeconfig",
		"verbosity: 0|verbosity: 4":                                   "--v: \"4\"",
	} {
		c := cluster(t)
		old, fresh, _ := strings.Cut(change, "|")
		c.Proxy = strings.Replace(c.Proxy, old, fresh, 1)
		wantSetting(t, c, change, want)
	}
}

// What kubelets are told otherwise than the cluster says.
func TestKubeletsOfAnotherCluster(t *testing.T) {
	for change, want := range map[string]string{
		"- 10.96.0.10|- 169.254.20.10":                      "warning import.setting clusterDNS",
		"clusterDomain: cluster.local|clusterDomain: other": "error import.cluster-domain",
		"enabled: false|enabled: true": "warning import.setting authentication." +
			"anonymous.enabled",
		"mode: Webhook|mode: AlwaysAllow": "warning import.setting authorization.mode",
		"/etc/kubernetes/pki/ca.crt|/srv/ca.crt": "warning import.setting authentication." +
			"x509.clientCAFile",
		"rotateCertificates: true|rotateCertificates: false":        "warning import.setting rotateCertificates",
		"healthzPort: 10248|healthzPort: 0":                         "warning import.setting healthzPort",
		"healthzBindAddress: 127.0.0.1|healthzBindAddress: 0.0.0.0": "warning import.setting healthzBindAddress",
	} {
		c := cluster(t)
		old, fresh, _ := strings.Cut(change, "|")
		c.Kubelet = strings.Replace(c.Kubelet, old, fresh, 1)
		wantSetting(t, c, change, want)
	}
}

// wantSetting wants a setting in deploy.yaml, or a finding that names it and nothing else; "": neither.
func wantSetting(t *testing.T, c *Cluster, what, want string) {
	t.Helper()
	taken := c.Take(wanted())
	var all []string
	for _, f := range taken.Findings {
		all = append(all, strings.TrimSpace(string(f.Severity)+" "+f.Fault.Code+" "+f.Fault.Args["setting"]))
	}
	finding := strings.HasPrefix(want, "warning") || strings.HasPrefix(want, "error")
	kept := strings.Contains(string(taken.Text), want)
	switch got := strings.Join(all, ", "); {
	case finding && got != want, !finding && got != "", !finding && !kept,
		want == "" && strings.Contains(string(taken.Text), "config-extra-args"):
		t.Errorf("%s: %q, want %q\n%s", what, got, want, taken.Text)
	}
	if _, problems := config.Load(taken.Text, "deploy.yaml"); !taken.Refused() && problems.HasErrors() {
		t.Errorf("%s: %v", what, problems)
	}
}

// Only where the root zone is forwarded to is the cluster's; all else is named.
func TestCorefiles(t *testing.T) {
	const root = ".:53 {\n    errors\n    forward . 192.0.2.53 192.0.2.54:53 {\n       max_concurrent 1000\n    }\n}\n"
	for text, want := range map[string]string{
		root: "192.0.2.53 192.0.2.54 | ",
		"consul.local:53 {\n  errors\n  forward . 10.150.0.1\n}\n" + root: "192.0.2.53 192.0.2.54 | consul.local:53; " +
			"errors; forward . 10.150.0.1; }",
		strings.Replace(root, "192.0.2.53", "tls://192.0.2.53", 1):    " | forward . tls://192.0.2.53 192.0.2.54:53",
		strings.Replace(root, "192.0.2.54:53", "192.0.2.54:99", 1):    " | forward . 192.0.2.53 192.0.2.54:99",
		"# forward . 192.0.2.1\n. {\n  forward . /etc/resolv.conf\n}": " | ",
	} {
		up, others := corefile(text)
		if got := strings.Join(up, " ") + " | " + strings.Join(others, "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
