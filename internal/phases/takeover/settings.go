package takeover

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// proxy keeps what differs from kube-proxy's defaults, where a flag stands for it; the rest is named.
func (t *taking) proxy() {
	var c map[string]any
	if yaml.Unmarshal([]byte(t.Proxy), &c) != nil || c["kind"] != "KubeProxyConfiguration" {
		t.warn("", "import.no-proxy")
		return
	}
	ours := map[string]string{"clientConnection.kubeconfig": "", "clusterCIDR": "", "bindAddress": "0.0.0.0",
		"healthzBindAddress": "", "metricsBindAddress": "127.0.0.1:10249", "mode": "iptables", "hostnameOverride": ""}
	for _, f := range leaves("", c) {
		usual, known := ours[f.path]
		switch {
		case empty(f.value), known && (usual == "" || f.value == usual):
		case f.path == "apiVersion", f.path == "kind", strings.HasPrefix(f.path, "logging."):
		default:
			flag := config.ProxyFlag(f.path)
			if flag == "" || config.RefusesFlag(proxy, flag, f.value) {
				t.warn("", "import.setting", "component", proxy, "setting", event.Clean(f.path), "value",
					event.Clean(f.value))
				continue
			}
			t.keep(proxy, flag, f.value)
		}
	}
}

// kubeletFlags stand for fields of a kubelet's configuration.
var kubeletFlags = map[string]string{
	"maxPods": "--max-pods", "podPidsLimit": "--pod-max-pids", "kubeReserved": "--kube-reserved",
	"systemReserved": "--system-reserved", "evictionHard": "--eviction-hard", "evictionSoft": "--eviction-soft",
	"evictionSoftGracePeriod":        "--eviction-soft-grace-period",
	"imageGCHighThresholdPercent":    "--image-gc-high-threshold",
	"imageGCLowThresholdPercent":     "--image-gc-low-threshold",
	"containerLogMaxSize":            "--container-log-max-size",
	"containerLogMaxFiles":           "--container-log-max-files",
	"serializeImagePulls":            "--serialize-image-pulls",
	"registryPullQPS":                "--registry-qps",
	"registryBurst":                  "--registry-burst",
	"cpuManagerPolicy":               "--cpu-manager-policy",
	"memoryManagerPolicy":            "--memory-manager-policy",
	"topologyManagerPolicy":          "--topology-manager-policy",
	"protectKernelDefaults":          "--protect-kernel-defaults",
	"eventRecordQPS":                 "--event-qps",
	"allowedUnsafeSysctls":           "--allowed-unsafe-sysctls",
	"runtimeRequestTimeout":          "--runtime-request-timeout",
	"streamingConnectionIdleTimeout": "--streaming-connection-idle-timeout",
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
	made := map[string]bool{"apiVersion": true, "kind": true, "authentication": true, "authorization": true,
		"cgroupDriver": true, "clusterDNS": true, "clusterDomain": true, "staticPodPath": true,
		"rotateCertificates": true, "healthzBindAddress": true, "healthzPort": true, "containerRuntimeEndpoint": true,
		"resolvConf": true, "logging": true, "failCgroupV1": true, "imagePullCredentialsVerificationPolicy": false}
	for _, name := range sorted(c) {
		value, plain := text(c[name])
		if made[name] || empty(value) {
			continue
		}
		if flag := kubeletFlags[name]; flag != "" && plain && !config.RefusesFlag(kubelet, flag, value) {
			t.keep(kubelet, flag, value)
			continue
		}
		t.warn("", "import.setting", "component", kubelet, "setting", event.Clean(name), "value", event.Clean(value))
	}
}

// field is a value of a configuration that holds no others.
type field struct{ path, value string }

// leaves are the values of a configuration, sorted by their paths.
func leaves(at string, m map[string]any) []field {
	var out []field
	for _, k := range sorted(m) {
		path := strings.TrimPrefix(at+"."+k, ".")
		if sub, is := m[k].(map[string]any); is && path != "featureGates" {
			out = append(out, leaves(path, sub)...)
			continue
		}
		value, _ := text(m[k])
		out = append(out, field{path, value})
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

// empty says whether a value is none, as kubeadm writes down what nobody has set.
func empty(value string) bool {
	return value == "" || value == "0" || value == "0s" || value == "false"
}
