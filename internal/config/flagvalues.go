package config

import (
	"slices"
	"strconv"
	"strings"
)

// flagChoices are the values that a flag can have in all versions from OldestMinor on: with another the component ends
// at its start. The empty value leaves the flag's default.
var flagChoices = map[string][]string{
	"kube-proxy --proxy-mode":                       {"iptables", "ipvs", "nftables"},
	"kubelet --cloud-provider":                      {"external"},
	"kube-apiserver --cloud-provider":               {"external"},
	"kubelet --cpu-manager-policy":                  {"none", "static"},
	"kubelet --memory-manager-policy":               {"None", "Static"},
	"kubelet --topology-manager-policy":             {"none", "best-effort", "restricted", "single-numa-node"},
	"kubelet --topology-manager-scope":              {"container", "pod"},
	"kubelet --hairpin-mode":                        {"promiscuous-bridge", "hairpin-veth", "none"},
	"kube-apiserver --audit-log-format":             {"json", "legacy"},
	"kube-apiserver --audit-log-mode":               {"batch", "blocking", "blocking-strict"},
	"kube-apiserver --storage-backend":              {"etcd3"},
	"--logging-format":                              {"text", "json"},
	"--tls-min-version":                             {"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"},
	"kube-controller-manager --cidr-allocator-type": {"RangeAllocator", "CloudAllocator"},
}

// goneWords are words of a flag's list that no version from OldestMinor on knows any more: the component ends at its
// start.
var goneWords = map[string]map[string]int{
	"kube-apiserver --enable-admission-plugins": {"PodSecurityPolicy": 25, "SecurityContextDeny": 30,
		"Initializers": 14},
	"kube-apiserver --disable-admission-plugins": {"PodSecurityPolicy": 25, "SecurityContextDeny": 30,
		"Initializers": 14},
}

// checkFlagValue says what is wrong with the value of a flag that is there: a code with arguments, or "".
func checkFlagValue(component, name, value string) (string, []string) {
	if value == "" {
		return "", nil
	}
	choices := flagChoices[component+" "+name]
	if choices == nil {
		choices = flagChoices[name]
	}
	if choices != nil && !slices.Contains(choices, value) {
		return "config.flag-choice", []string{"given", clip(value), "choices", strings.Join(choices, ", ")}
	}
	for word := range strings.SplitSeq(value, ",") {
		if minor, was := goneWords[component+" "+name][strings.TrimSpace(word)]; was {
			return "config.flag-word-removed", []string{"given", word, "version", minorWord(minor)}
		}
		if name != "--feature-gates" {
			continue
		}
		gate, set, ok := strings.Cut(strings.TrimSpace(word), "=")
		if _, err := strconv.ParseBool(set); !ok || err != nil || gate == "" {
			return "config.flag-gates", []string{"given", clip(word)}
		}
	}
	return "", nil
}
