package takeover

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// KubeletConfig is the configuration of the kubelet in what the node printed, and its file; "" when there is none.
func KubeletConfig(out string) (file, text string) {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if at, is := strings.CutPrefix(line, "file "); is {
			file = strings.TrimRight(at, "\r\n")
		}
		if conf, is := strings.CutPrefix(line, "conf "); is {
			b.WriteString(conf)
		}
	}
	return file, b.String()
}

// Differs are the settings in which the configuration of a node's kubelet differs from that of the cluster's kubelets,
// but for those that has knows as flags. What kubeadm sets by node is no difference.
func Differs(node, cluster string, has func(KubeletFlag) bool) []string {
	is, want := settingsOf(node), settingsOf(cluster)
	var out []string
	for _, path := range slices.Concat(sorted(is), sorted(want)) {
		value, set := is[path]
		flag := strings.TrimPrefix(kubeletFlags[path], "--")
		switch {
		case !set:
			out = append(out, "-"+path+": "+want[path])
		case want[path] == value || slices.Contains(out, path+": "+value):
		case flag == "" || !has(KubeletFlag{flag, value}):
			out = append(out, path+": "+value)
		}
	}
	return out
}

// settingsOf are the fields that are set in a kubelet's configuration, by their paths.
func settingsOf(text string) map[string]string {
	var c map[string]any
	if yaml.Unmarshal([]byte(text), &c) != nil {
		return nil
	}
	byNode := []string{"apiVersion", "kind", "containerRuntimeEndpoint", "imageServiceEndpoint", "resolvConf",
		"registerWithTaints", "failCgroupV1"}
	out := map[string]string{}
	for _, f := range kubeletFields(c) {
		if !f.unset(kubeletSet) && !slices.Contains(byNode, f.path) {
			out[f.path] = f.value
			if f.value == "" {
				out[f.path] = `""`
			}
		}
	}
	return out
}
