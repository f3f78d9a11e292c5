package config

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/spelling"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

//go:embed flags.txt
var flagsText string

//go:embed etcd.txt
var etcdText string

// checkEtcd says what is wrong with the name of a variable of etcd's environment. etcd warns of one that it does not
// know and continues without it, so that a slip would never show. Others than its own, as GOMAXPROCS, are those of the
// language.
func checkEtcd(name string) (code string, args []string) {
	if !strings.HasPrefix(name, "ETCD_") || name == "ETCD_UNSUPPORTED_ARCH" {
		return "", nil
	}
	var known []string
	for _, flag := range etcdFlags() {
		known = append(known, "ETCD_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
	}
	if slices.Contains(known, name) {
		return "", nil
	}
	if like := spelling.Nearest(name, known); like != "" {
		return "config.flag-misspelt", []string{"like", like}
	}
	return "config.etcd-unknown", nil
}

// etcdFlags are the flags of etcd.
func etcdFlags() []string {
	var out []string
	for line := range strings.Lines(etcdText) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// EtcdFlag is the flag of etcd that a variable of its environment stands for; "" for a variable that is no flag, as
// ETCD_UNSUPPORTED_ARCH.
func EtcdFlag(variable string) string {
	name, ok := strings.CutPrefix(variable, "ETCD_")
	if name = strings.ReplaceAll(strings.ToLower(name), "_", "-"); !ok || !slices.Contains(etcdFlags(), name) {
		return ""
	}
	return name
}

// flagInfo is a flag of a component: the kind of its value (b bool, i integer, d duration, s other) and the minors that
// have it.
type flagInfo struct {
	kind     string
	from, to int
}

// flagsOf reads the flags of a component out of the table; nil for one that is not in it.
func flagsOf(component string) map[string]flagInfo {
	_, text, ok := strings.Cut(flagsText, "\n\n"+component+"\n")
	if !ok {
		return nil
	}
	text, _, _ = strings.Cut(text, "\n\n")
	out := map[string]flagInfo{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		f := flagInfo{kind: w[1], from: bundle.OldestMinor, to: bundle.NewestMinor}
		if len(w) == 3 {
			from, to, _ := strings.Cut(w[2], "-")
			f.from, _ = strconv.Atoi(from)
			f.to, _ = strconv.Atoi(to)
		}
		out["--"+w[0]] = f
	}
	return out
}

// gone are flags that older manuals name: the minor that no longer has them, and the key or flag that is instead, if
// there is one.
var gone = map[string]map[string]struct {
	minor   int
	instead string
}{
	"kubelet": {
		"--network-plugin": {24, ""}, "--network-plugin-mtu": {24, ""}, "--cni-bin-dir": {24, "cni-bin-dir"},
		"--cni-conf-dir": {24, ""}, "--docker-endpoint": {24, "runtime-endpoint"},
		"--image-pull-progress-deadline": {24, ""}, "--container-runtime": {27, "runtime"},
		"--pod-infra-container-image": {35, "pause-image"},
	},
	"kube-apiserver": {"--insecure-port": {24, ""}, "--insecure-bind-address": {24, ""}},
	"kube-controller-manager": {"--port": {24, "--secure-port"}, "--address": {24, "--bind-address"},
		"--enable-taint-manager": {27, ""}, "--pod-eviction-timeout": {27, ""}},
	"kube-scheduler": {"--port": {23, "--secure-port"}, "--address": {23, "--bind-address"}},
}

// goneLogs are flags of the log that all components had until 1.26.
var goneLogs = []string{
	"--logtostderr", "--alsologtostderr", "--log-dir", "--log-file", "--log-file-max-size", "--log-backtrace-at",
	"--add-dir-header", "--skip-headers", "--skip-log-headers",
	"--one-output", "--stderrthreshold",
}

// fixed are flags that must hold what this program relies on, whatever else they hold: words of a list with commas.
var fixed = map[string]map[string][]string{
	"kube-apiserver": {"--authorization-mode": {"Node", "RBAC"}, "--enable-admission-plugins": {"NodeRestriction"}},
	"kubelet":        {"--cgroup-driver": {"systemd"}},
}

// checkFlag says what is wrong with a flag whatever the version: a code with arguments, or "". The value comes back as
// the component takes it.
func checkFlag(component, name, value string) (code string, args []string, as string) {
	if component == "etcd" {
		code, args = checkEtcd(name)
		return code, args, value
	}
	flags := flagsOf(component)
	if flags == nil {
		return "", nil, value // the settings of a runtime
	}
	f, ok := flags[name]
	if !ok {
		code, args = unknownFlag(component, name, flags)
		return code, args, value
	}
	if component == "kube-proxy" && ProxyField(name) == nil && !isLogFlag(name) {
		return "config.flag-no-field", nil, value
	}
	for _, word := range fixed[component][name] {
		if !slices.Contains(strings.Split(value, ","), word) {
			return "config.flag-must", []string{"instead", strings.Join(fixed[component][name], ",")}, value
		}
	}
	var err error
	switch f.kind {
	case "b":
		if value == "" {
			value = "true"
		}
		_, err = strconv.ParseBool(value)
	case "i":
		_, err = strconv.ParseInt(value, 10, 64)
	case "d":
		_, err = time.ParseDuration(value)
	}
	if err != nil {
		return map[string]string{"b": "config.flag-bool", "i": "config.flag-integer",
			"d": "config.flag-duration"}[f.kind], []string{"given", clip(value)}, value
	}
	code, args = checkFlagValue(component, name, value)
	return code, args, value
}

func unknownFlag(component, name string, flags map[string]flagInfo) (string, []string) {
	g, was := gone[component][name]
	if !was && slices.Contains(goneLogs, name) {
		g.minor, was = 26, true
	}
	switch like := spelling.Nearest(name, slices.Sorted(maps.Keys(flags))); {
	case was && g.instead != "":
		return "config.flag-replaced", []string{"version", minorWord(g.minor), "instead", g.instead}
	case was:
		return "config.flag-removed", []string{"version", minorWord(g.minor)}
	case like != "":
		return "config.flag-misspelt", []string{"like", like}
	}
	return "config.flag-unknown", nil
}

func minorWord(minor int) string { return fmt.Sprintf("1.%d", minor) }

// CheckFlags says which of config-extra-args, and which feature gates in it, the version of Kubernetes in the bundle
// does not have: what makes a component end at its start is an error before anything is touched. Of a minor newer than
// those known the newest known one counts.
func CheckFlags(c *Cluster, version string) Problems {
	minor := min(bundle.Minor(version), bundle.NewestMinor)
	if minor < bundle.OldestMinor {
		return nil // refused as a whole
	}
	var out Problems
	for i, e := range c.ExtraArgs {
		flags := flagsOf(e.Component)
		for _, name := range slices.Sorted(maps.Keys(e.Args)) {
			key := fmt.Sprintf("config-extra-args[%d].extra-args.%s", i, name)
			at := nearest(c.given, key)
			add := func(code, value string, kv ...string) {
				kv = append(kv, "key", key, "value", value, "name", e.Component)
				out = append(out, Problem{File: c.file, Line: at.line, Col: at.col, Key: key, Code: code,
					Severity: event.Error, Args: event.M("", kv...).Args})
			}
			f, known := flags[name]
			if known && name == "--feature-gates" {
				for _, g := range checkGates(e.Args[name], bundle.Minor(version)) {
					add(g.code, g.gate, g.args...)
				}
			}
			if !known || f.from <= minor && minor <= f.to {
				continue
			}
			code, kv := "config.flag-newer", []string{"version", minorWord(f.from)}
			if minor > f.to {
				code, kv = "config.flag-removed", []string{"version", minorWord(f.to + 1)}
				if g := gone[e.Component][name]; g.instead != "" {
					code, kv = "config.flag-replaced", append(kv, "instead", g.instead)
				}
			}
			add(code, name, kv...)
		}
	}
	return out.Sorted()
}

// proxyFields are the flags of kube-proxy that have a field of the same meaning in its configuration. Beside the file
// kube-proxy reads no flags but those of its log.
var proxyFields = map[string]string{
	"--bind-address": "bindAddress", "--bind-address-hard-fail": "bindAddressHardFail",
	"--config-sync-period":     "configSyncPeriod",
	"--conntrack-max-per-core": "conntrack.maxPerCore", "--conntrack-min": "conntrack.min",
	"--conntrack-tcp-be-liberal":          "conntrack.tcpBeLiberal",
	"--conntrack-tcp-timeout-close-wait":  "conntrack.tcpCloseWaitTimeout",
	"--conntrack-tcp-timeout-established": "conntrack.tcpEstablishedTimeout",
	"--conntrack-udp-timeout":             "conntrack.udpTimeout",
	"--conntrack-udp-timeout-stream":      "conntrack.udpStreamTimeout", "--detect-local-mode": "detectLocalMode",
	"--feature-gates": "featureGates", "--iptables-localhost-nodeports": "iptables.localhostNodePorts",
	"--iptables-masquerade-bit":  "iptables.masqueradeBit",
	"--iptables-min-sync-period": "iptables.minSyncPeriod", "--iptables-sync-period": "iptables.syncPeriod",
	"--ipvs-exclude-cidrs":   "ipvs.excludeCIDRs",
	"--ipvs-min-sync-period": "ipvs.minSyncPeriod", "--ipvs-scheduler": "ipvs.scheduler",
	"--ipvs-strict-arp": "ipvs.strictARP", "--ipvs-sync-period": "ipvs.syncPeriod",
	"--ipvs-tcp-timeout": "ipvs.tcpTimeout", "--ipvs-tcpfin-timeout": "ipvs.tcpFinTimeout",
	"--ipvs-udp-timeout": "ipvs.udpTimeout",
	"--kube-api-burst":   "clientConnection.burst", "--kube-api-content-type": "clientConnection.contentType",
	"--kube-api-qps":   "clientConnection.qps",
	"--masquerade-all": "iptables.masqueradeAll", "--metrics-bind-address": "metricsBindAddress",
	"--nodeport-addresses": "nodePortAddresses",
	"--oom-score-adj":      "oomScoreAdj", "--pod-bridge-interface": "detectLocal.bridgeInterface",
	"--pod-interface-name-prefix": "detectLocal.interfaceNamePrefix",
	"--profiling":                 "enableProfiling", "--proxy-mode": "mode",
	"--show-hidden-metrics-for-version": "showHiddenMetricsForVersion",
}

// ProxyField is the path of the field of kube-proxy's configuration that the flag stands for; nil when there is none.
func ProxyField(flag string) []string {
	path, ok := proxyFields[flag]
	if !ok {
		return nil
	}
	return strings.Split(path, ".")
}

// isLogFlag reports whether kube-proxy reads the flag beside its configuration.
func isLogFlag(name string) bool {
	return name == "--v" || name == "--vmodule" || name == "--logging-format" || name == "--log-flush-frequency" ||
		strings.HasPrefix(name, "--log-json-") || strings.HasPrefix(name, "--log-text-")
}

// ProxyValue is the value of a flag of kube-proxy as its configuration has it.
func ProxyValue(flag, value string) any {
	switch f := flagsOf("kube-proxy")[flag]; {
	case flag == "--nodeport-addresses" || flag == "--ipvs-exclude-cidrs":
		return strings.Split(value, ",")
	case flag == "--feature-gates":
		gates := map[string]any{}
		for pair := range strings.SplitSeq(value, ",") {
			name, on, _ := strings.Cut(pair, "=")
			gates[strings.TrimSpace(name)] = strings.EqualFold(strings.TrimSpace(on), "true")
		}
		return gates
	case f.kind == "b":
		return value == "true" || value == "1" || strings.EqualFold(value, "t")
	case f.kind == "i" || flag == "--kube-api-qps":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	return value
}

// RefusesFlag reports whether config-extra-args may not have the flag with this value, as one of etcd's variables or of
// a component's flags.
func RefusesFlag(component, name, value string) bool {
	r := ruleFlag
	if component == "etcd" {
		r = ruleEnvName
	}
	if !r.ok(name) {
		return true
	}
	if _, is := owned(component, name); is {
		return true
	}
	code, _, _ := checkFlag(component, name, value)
	return code != ""
}

// ProxyFlag is the flag that stands for a field of kube-proxy's configuration; "" when there is none.
func ProxyFlag(path string) string {
	for flag, field := range proxyFields {
		if field == path {
			return flag
		}
	}
	return ""
}
