package takeover

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// proxyUsual are the fields of kube-proxy's configuration whose zero is not what they are by default; ours are values
// that Eggo sets, too.
func proxyUsual(pods string) (explicit []string, ours map[string]string) {
	return []string{"conntrack.maxPerCore", "conntrack.min", "conntrack.tcpCloseWaitTimeout",
			"conntrack.tcpEstablishedTimeout", "iptables.localhostNodePorts", "iptables.masqueradeBit",
			"nftables.masqueradeBit", "oomScoreAdj"},
		map[string]string{"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
			"clientConnection.kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf", "clusterCIDR": pods,
			"bindAddress": "0.0.0.0", "healthzBindAddress": "0.0.0.0:10256", "metricsBindAddress": "127.0.0.1:10249",
			"mode": "iptables", "logging.format": "text", "logging.flushFrequency": "5000000000"}
}

// proxy keeps what differs from kube-proxy's defaults, where a flag stands for it; the rest is named.
func (t *taking) proxy() {
	var c map[string]any
	if yaml.Unmarshal([]byte(t.Proxy), &c) != nil || c["kind"] != "KubeProxyConfiguration" {
		t.warn("", "import.no-proxy")
		return
	}
	explicit, ours := proxyUsual(t.networks().Pods)
	for _, f := range leaves("", c) {
		if f.unset(explicit) || ours[f.path] == f.value || f.path == "clusterCIDR" && t.networks().Pods == "" {
			continue
		}
		flag := config.ProxyFlag(f.path)
		if f.path == "logging.verbosity" {
			flag = "--v"
		}
		t.setting(proxy, flag, f, true)
	}
}

// setting keeps a value of a configuration as the flag that stands for it, or names it.
func (t *taking) setting(component, flag string, f field, plain bool) {
	if flag != "" && plain && !config.RefusesFlag(component, flag, f.value) {
		t.keep(component, flag, f.value)
		return
	}
	if f.value == "" {
		f.value = `""`
	}
	t.warn("", "import.setting", "component", component, "setting", event.Clean(f.path), "value", event.Clean(f.value))
}

// kubeletFlags stand for fields of a kubelet's configuration.
var kubeletFlags = map[string]string{
	"maxPods": "--max-pods", "podPidsLimit": "--pod-max-pids", "kubeReserved": "--kube-reserved",
	"systemReserved": "--system-reserved", "evictionHard": "--eviction-hard", "evictionSoft": "--eviction-soft",
	"evictionSoftGracePeriod":          "--eviction-soft-grace-period",
	"evictionMaxPodGracePeriod":        "--eviction-max-pod-grace-period",
	"evictionMinimumReclaim":           "--eviction-minimum-reclaim",
	"evictionPressureTransitionPeriod": "--eviction-pressure-transition-period",
	"imageGCHighThresholdPercent":      "--image-gc-high-threshold",
	"imageGCLowThresholdPercent":       "--image-gc-low-threshold",
	"imageMinimumGCAge":                "--minimum-image-ttl-duration",
	"containerLogMaxSize":              "--container-log-max-size",
	"containerLogMaxFiles":             "--container-log-max-files",
	"serializeImagePulls":              "--serialize-image-pulls",
	"registryPullQPS":                  "--registry-qps",
	"registryBurst":                    "--registry-burst",
	"cpuCFSQuota":                      "--cpu-cfs-quota",
	"cpuCFSQuotaPeriod":                "--cpu-cfs-quota-period",
	"cpuManagerPolicy":                 "--cpu-manager-policy",
	"cpuManagerPolicyOptions":          "--cpu-manager-policy-options",
	"cpuManagerReconcilePeriod":        "--cpu-manager-reconcile-period",
	"memoryManagerPolicy":              "--memory-manager-policy",
	"topologyManagerPolicy":            "--topology-manager-policy",
	"topologyManagerPolicyOptions":     "--topology-manager-policy-options",
	"topologyManagerScope":             "--topology-manager-scope",
	"reservedSystemCPUs":               "--reserved-cpus",
	"protectKernelDefaults":            "--protect-kernel-defaults",
	"eventRecordQPS":                   "--event-qps",
	"eventBurst":                       "--event-burst",
	"allowedUnsafeSysctls":             "--allowed-unsafe-sysctls",
	"runtimeRequestTimeout":            "--runtime-request-timeout",
	"streamingConnectionIdleTimeout":   "--streaming-connection-idle-timeout",
	"enableDebuggingHandlers":          "--enable-debugging-handlers",
	"enableControllerAttachDetach":     "--enable-controller-attach-detach",
	"enforceNodeAllocatable":           "--enforce-node-allocatable",
	"systemReservedCgroup":             "--system-reserved-cgroup",
	"kubeReservedCgroup":               "--kube-reserved-cgroup",
	"failSwapOn":                       "--fail-swap-on",
	"seccompDefault":                   "--seccomp-default",
	"hairpinMode":                      "--hairpin-mode",
	"kubeAPIQPS":                       "--kube-api-qps",
	"kubeAPIBurst":                     "--kube-api-burst",
	"localStorageCapacityIsolation":    "--local-storage-capacity-isolation",
	"makeIPTablesUtilChains":           "--make-iptables-util-chains",
	"maxOpenFiles":                     "--max-open-files",
	"nodeStatusMaxImages":              "--node-status-max-images",
	"nodeStatusUpdateFrequency":        "--node-status-update-frequency",
	"oomScoreAdj":                      "--oom-score-adj",
	"podsPerCore":                      "--pods-per-core",
	"readOnlyPort":                     "--read-only-port",
	"syncFrequency":                    "--sync-frequency",
	"tlsCipherSuites":                  "--tls-cipher-suites",
	"tlsMinVersion":                    "--tls-min-version",
	"volumePluginDir":                  "--volume-plugin-dir",
	"volumeStatsAggPeriod":             "--volume-stats-agg-period",
	"featureGates":                     "--feature-gates",
	"logging.verbosity":                "--v",
	"reservedMemory":                   "--reserved-memory",
	"cgroupRoot":                       "--cgroup-root",
	"cgroupsPerQOS":                    "--cgroups-per-qos",
}

// kubeletSet are the fields of a kubelet's configuration that the API has as pointers, and those where an empty list or
// map is not what they are by default: their zero is a setting.
var kubeletSet = []string{"cgroupsPerQOS", "containerLogMaxFiles", "containerLogMaxWorkers",
	"containerLogMonitorInterval", "cpuCFSQuota", "cpuCFSQuotaPeriod", "crashLoopBackOff.maxContainerRestartPeriod",
	"enableControllerAttachDetach", "enableDebugFlagsHandler", "enableDebuggingHandlers", "enableServer",
	"enableSystemLogHandler", "enforceNodeAllocatable", "eventRecordQPS", "evictionHard", "failSwapOn", "healthzPort",
	"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "iptablesDropBit", "iptablesMasqueradeBit",
	"kubeAPIQPS", "localStorageCapacityIsolation", "makeIPTablesUtilChains", "maxParallelImagePulls",
	"memoryThrottlingFactor", "nodeStatusMaxImages", "oomScoreAdj", "podPidsLimit", "registerNode", "registryPullQPS",
	"resolvConf", "seccompDefault", "serializeImagePulls", "singleProcessOOMKill",
	// not pointers, but kubeadm sets them
	"authentication.anonymous.enabled", "authentication.webhook.enabled", "rotateCertificates"}

// kubeletGroups are the fields that hold others, but for those that a flag has as a whole.
var kubeletGroups = []string{"authentication", "authorization", "crashLoopBackOff", "logging", "memorySwap"}

// kubeletOurs are the values that kubeadm gives a kubelet, or Eggo sets, too. Without values: Eggo sets what the node
// needs.
func (t *taking) kubeletOurs() map[string][]string {
	return map[string][]string{"apiVersion": nil, "kind": nil, "cgroupDriver": nil, "clusterDomain": nil,
		"staticPodPath": nil, "containerRuntimeEndpoint": nil, "failCgroupV1": nil,
		"registerWithTaints":               nil, // their Nodes have them
		"authentication.anonymous.enabled": {"false"}, "authentication.webhook.enabled": {"true"},
		"authentication.x509.clientCAFile": {PKIDir + "/ca.crt"}, "authorization.mode": {"Webhook"},
		"clusterDNS": {t.DNS.Address}, "rotateCertificates": {"true"}, "healthzBindAddress": {"127.0.0.1"},
		"healthzPort": {"10248"}, "enableProfilingHandler": {"false"},
		"resolvConf":     {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"},
		"logging.format": {"text"}, "logging.flushFrequency": {"5s", "5000000000"}}
}

// kubelet keeps what differs from what kubeadm gives a kubelet, where a flag stands for it; the rest is named.
func (t *taking) kubelet() {
	var c map[string]any
	if yaml.Unmarshal([]byte(t.Kubelet), &c) != nil || c["kind"] != "KubeletConfiguration" {
		t.warn("", "import.no-kubelet-config")
		return
	}
	if driver := c["cgroupDriver"]; driver != "systemd" {
		t.refuse("", "import.cgroup-driver", "driver", event.Clean(fmt.Sprint(driver)))
	}
	if at := c["staticPodPath"]; at != "/etc/kubernetes/manifests" {
		t.refuse("", "import.static-pod-path", "path", event.Clean(fmt.Sprint(at)))
	}
	if domain, is := c["clusterDomain"]; is && t.Config != "" && domain != t.networks().Domain {
		t.refuse("", "import.cluster-domain", "is", event.Clean(fmt.Sprint(domain)), "want", t.networks().Domain)
	}
	ours := t.kubeletOurs()
	if t.DNS.Address == "" {
		ours["clusterDNS"] = nil
	}
	for _, f := range kubeletFields(c) {
		usual, known := ours[f.path]
		if f.unset(kubeletSet) || known && (usual == nil || slices.Contains(usual, f.value)) {
			continue
		}
		if f.path == "enforceNodeAllocatable" && f.value == "" {
			f.value = "none"
		}
		t.setting(kubelet, kubeletFlags[f.path], f, !f.deep)
	}
}

// kubeletFields are the values of a kubelet's configuration, sorted by their paths.
func kubeletFields(c map[string]any) []field {
	var out []field
	for _, name := range sorted(c) {
		if sub, is := c[name].(map[string]any); is && slices.Contains(kubeletGroups, name) {
			out = append(out, leaves(name, sub)...)
			continue
		}
		value, plain := text(c[name])
		if name == "reservedMemory" && c[name] != nil {
			value, plain = reservedMemory(c[name])
		}
		out = append(out, field{path: name, value: value, null: c[name] == nil, deep: !plain})
	}
	return out
}

// reservedMemory is that of NUMA nodes as the flag has it: 0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi.
func reservedMemory(v any) (value string, plain bool) {
	var all []string
	list, _ := v.([]any)
	for _, x := range list {
		m, _ := x.(map[string]any)
		node, plain := text(m["numaNode"])
		limits, too := text(m["limits"])
		if m["limits"] == nil || !plain || !too {
			return fmt.Sprint(v), false
		}
		if node == "" {
			node = "0"
		}
		all = append(all, node+":"+limits)
	}
	return strings.Join(all, ";"), true
}

// field is a value of a configuration that holds no others.
type field struct {
	path, value string
	null        bool // as kubeadm writes down what nobody has set
	deep        bool // no flag has such a value
}

// unset says whether the field is as without a value. The zero of a field counts where it is explicit.
func (f field) unset(explicit []string) bool {
	zero := f.value == "" || f.value == "0" || f.value == "0s" || f.value == "false"
	return f.null || zero && !slices.Contains(explicit, f.path)
}

// leaves are the values of a configuration, sorted by their paths.
func leaves(at string, m map[string]any) []field {
	var out []field
	for _, k := range sorted(m) {
		path := strings.TrimPrefix(at+"."+k, ".")
		if sub, is := m[k].(map[string]any); is && path != "featureGates" {
			out = append(out, leaves(path, sub)...)
			continue
		}
		value, plain := text(m[k])
		out = append(out, field{path: path, value: value, null: m[k] == nil, deep: !plain})
	}
	return out
}

// text is a value as a flag has it: a list with commas, a map as name=value, of thresholds as kubelet's flags have
// them. One that is deeper is not plain.
func text(v any) (value string, plain bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case []any:
		var out []string
		for _, x := range v {
			if _, deeper := x.(map[string]any); deeper {
				return fmt.Sprint(v), false
			}
			out = append(out, fmt.Sprint(x))
		}
		return strings.Join(out, ","), true
	case map[string]any:
		var out []string
		for _, k := range sorted(v) {
			if _, deeper := v[k].(map[string]any); deeper {
				return fmt.Sprint(v), false
			}
			sign := "="
			if strings.Contains(k, ".available") || strings.Contains(k, ".inodesFree") {
				sign = "<"
			}
			out = append(out, k+sign+fmt.Sprint(v[k]))
		}
		return strings.Join(out, ","), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return fmt.Sprint(v), true
}
