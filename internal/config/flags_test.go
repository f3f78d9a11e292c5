package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// withFlag is the minimal file with one argument of a component.
func withFlag(component, arg string) string {
	return minimal + "config-extra-args: [{name: " + component + ", extra-args: {" + arg + "}}]\n"
}

// A flag that no version has, or a value that the component would not take, is refused where it stands.
func TestFlagsThatWouldEndTheComponent(t *testing.T) {
	for _, tc := range []struct{ component, arg, code, args string }{
		{"kubelet", "--max-pods: 200", "", ""},
		{"kubelet", "--max-podz: 200", "config.flag-misspelt", "--max-pods"},
		{"kubelet", "--completely-else: 200", "config.flag-unknown", ""},
		{"kubelet", "--max-pods: many", "config.flag-integer", "many"},
		{"kubelet", "--max-pods: 10k", "config.flag-integer", "10k"},
		{"kubelet", "--sync-frequency: 60", "config.flag-duration", "60"},
		{"kubelet", "--sync-frequency: 60s", "", ""},
		{"kubelet", "--network-plugin: cni", "config.flag-removed", "1.24"},
		{"kubelet", "--cni-bin-dir: /opt/cni/bin", "config.flag-replaced", "cni-bin-dir"},
		{"kubelet", "--container-runtime: remote", "config.flag-replaced", "runtime"},
		{"kubelet", "--logtostderr: 'true'", "config.flag-removed", "1.26"},
		{"kubelet", "--cgroup-driver: systemd", "", ""},
		{"kubelet", "--cgroup-driver: cgroupfs", "config.flag-must", "systemd"},
		{"kubelet", "--cluster-dns: 10.0.0.1", "config.owned-key", "service.dnsaddr"},
		{"kubelet", "--node-ip: 10.0.0.1", "config.owned-flag", ""},
		{"kubelet", "--root-dir: /srv", "config.owned-flag", ""},
		{"kube-apiserver", "--profiling: maybe", "config.flag-bool", "maybe"},
		{"kube-apiserver", "--profiling: 'false'", "", ""},
		{"kube-apiserver", "--profiling: ''", "", ""},
		{"kube-apiserver", "--authorization-mode: 'Node,RBAC,Webhook'", "", ""},
		{"kube-apiserver", "--authorization-mode: AlwaysAllow", "config.flag-must", "Node,RBAC"},
		{"kube-apiserver", "--etcd-servers: 'http://127.0.0.1:2379'", "config.owned-key", "etcds"},
		{"kube-apiserver", "--service-cluster-ip-range: 10.0.0.0/16", "config.owned-key", "service.cidr"},
		{"kube-apiserver", "--advertise-address: 10.0.0.1", "config.owned-flag", ""},
		{"kube-apiserver", "--request-timeout: 60s", "config.owned-key", "apiserver-timeout"},
		{"kube-apiserver", "--insecure-port: 8080", "config.flag-removed", "1.24"},
		{"kube-controller-manager", "--node-monitor-grace-period: 20s", "", ""},
		{"kube-controller-manager", "--pod-eviction-timeout: 20s", "config.flag-removed", "1.27"},
		{"kube-controller-manager", "--port: 0", "config.flag-replaced", "--secure-port"},
		{"kube-scheduler", "--kube-api-qps: 100", "", ""},
		{"kube-scheduler", "--leader-elect: 'false'", "", ""},
		{"kube-proxy", "--proxy-mode: nftables", "", ""},
		{"kube-proxy", "--proxy-mode: userspace", "config.flag-choice", "nftables"},
		{"kubelet", "--cloud-provider: aws", "config.flag-choice", "external"},
		{"kubelet", "--cloud-provider: external", "", ""},
		{"kube-apiserver", "--tls-min-version: '1.2'", "config.flag-choice", "VersionTLS12"},
		{"kube-scheduler", "--logging-format: xml", "config.flag-choice", "json"},
		{"kube-apiserver", "--enable-admission-plugins: 'PodSecurityPolicy,NodeRestriction'",
			"config.flag-word-removed", "1.25"},
		{"kubelet", "--feature-gates: NodeSwap", "config.flag-gates", "NodeSwap"},
		{"kubelet", "--feature-gates: 'NodeSwap=yes'", "config.flag-gates", "NodeSwap"},
		{"kubelet", "--feature-gates: 'NodeSwap=true,InPlacePodVerticalScaling=false'", "", ""},
		{"kube-proxy", "--v: 4", "", ""},
		{"kube-proxy", "--cleanup: 'true'", "config.flag-no-field", ""},
		{"kube-proxy", "--cluster-cidr: 10.0.0.0/8", "config.owned-key", "network.podcidr"},
		{"etcd", "ETCD_HEARTBEAT_INTERVAL: 1000", "", ""},
		{"etcd", "ETCD_SNAPSHOT_COUNT: 1000", "", ""},
		{"etcd", "ETCD_EXPERIMENTAL_MEMORY_MLOCK: 'true'", "", ""},
		{"etcd", "ETCD_FEATURE_GATES: InitialCorruptCheck=true", "", ""},
		{"etcd", "GOMAXPROCS: 2", "", ""},
		{"etcd", "ETCD_HEARTBEAT_INTERVALL: 1000", "config.flag-misspelt", "ETCD_HEARTBEAT_INTERVAL"},
		{"etcd", "ETCD_WORDS_OF_NOBODY: 1", "config.etcd-unknown", ""},
		{"etcd", "ETCD_NAME: x", "config.owned-flag", ""},
		{"etcd", "ETCD_WAL_DIR: /wal", "config.owned-flag", ""}, // a member is known by its log
		{"etcd", "ETCD_INITIAL_CLUSTER_TOKEN: x", "config.owned-key", "etcd-token"},
	} {
		t.Run(tc.component+" "+tc.arg, func(t *testing.T) {
			_, ps := Load([]byte(withFlag(tc.component, tc.arg)), "f")
			if tc.code == "" {
				if len(ps) > 0 {
					t.Errorf("refused: %s", dump(ps))
				}
				return
			}
			if len(ps) != 1 || ps[0].Code != tc.code || ps[0].Line != 10 ||
				!strings.Contains(fmt.Sprint(ps[0].Args), tc.args) {
				t.Errorf("want %s with %s, got:\n%s", tc.code, tc.args, dump(ps))
			}
			rendered(t, ps)
		})
	}
}

// The line is that of the flag, wherever it stands.
func TestAFlagIsToldAtItsOwnLine(t *testing.T) {
	for _, args := range []string{
		"    --v: '2'\n    --register-schedulable: 'true'\n",
		"  - --v=2\n  - --register-schedulable=true\n",
	} {
		c, ps := Load([]byte(minimal+"config-extra-args:\n- name: kubelet\n  extra-args:\n"+args), "f")
		if c == nil {
			t.Fatal(dump(ps))
		}
		line := strings.Count(minimal, "\n") + 5
		if ps := CheckFlags(c, "v1.34.0"); len(ps) != 1 || ps[0].Line != line {
			t.Errorf("want line %d, got:\n%s", line, dump(ps))
		}
	}
}

// What a version does not have is known before anything is touched.
func TestFlagsOfAVersion(t *testing.T) {
	for _, tc := range []struct{ component, arg, version, code, want string }{
		{"kubelet", "--pod-infra-container-image: pause", "v1.34.2", "", ""},
		{"kubelet", "--pod-infra-container-image: pause", "v1.35.0", "config.flag-replaced", "pause-image"},
		{"kubelet", "--register-schedulable: 'true'", "v1.33.1", "", ""},
		{"kubelet", "--register-schedulable: 'true'", "v1.34.0", "config.flag-removed", "1.34"},
		{"kubelet", "--keep-terminated-pod-volumes: 'true'", "v1.31.0", "config.flag-removed", "1.31"},
		{"kube-apiserver", "--cloud-provider: external", "v1.33.0", "config.flag-removed", "1.33"},
		{"kube-apiserver", "--disable-http2-serving: 'true'", "v1.30.9", "config.flag-newer", "1.31"},
		{"kube-apiserver", "--disable-http2-serving: 'true'", "v1.31.0", "", ""},
		{"kube-apiserver", "--tls-curve-preferences: X25519", "v1.99.0", "", ""},
		{"kube-controller-manager", "--controller-shutdown-timeout: 10s", "v1.34.9", "config.flag-newer", "1.35"},
		{"kubelet", "--feature-gates: 'NodeSwap=false'", "v1.33.13", "", ""},
		{"kubelet", "--feature-gates: 'AllAlpha=true,NodeSwap=false'", "v1.34.2", "config.gate-locked", "1.34"},
		{"kubelet", "--feature-gates: 'NodeSwap=false'", "v1.37.0", "config.gate-locked", "1.34"},
		{"kubelet", "--feature-gates: 'NodeSwap=true'", "v1.34.2", "", ""},
		{"kube-apiserver", "--feature-gates: 'AllowServiceLBStatusOnNonLB=true'", "v1.32.1", "config.gate-locked",
			"1.32"},
		{"kube-apiserver", "--feature-gates: 'APIListChunking=true'", "v1.32.13", "", ""},
		{"kube-apiserver", "--feature-gates: 'APIListChunking=true'", "v1.33.0", "config.gate-removed", "1.33"},
		{"kube-apiserver", "--feature-gates: 'APIListChunking=true'", "v1.99.0", "config.gate-removed", "1.33"},
		{"kube-scheduler", "--feature-gates: 'AppArmorFields=true'", "v1.33.0", "config.gate-removed", "1.33"},
		{"kube-proxy", "--feature-gates: 'AllowServiceExternalIPs=true'", "v1.35.4", "config.gate-newer", "1.36"},
		{"kubelet", "--feature-gates: 'NodeSwapp=true'", "v1.34.2", "config.gate-misspelt", "NodeSwap"},
		{"kubelet", "--feature-gates: 'NobodyKnowsThisOne=true'", "v1.34.2", "config.gate-unknown", "1.34"},
		{"kubelet", "--feature-gates: 'NobodyKnowsThisOne=true'", "v1.37.0", "", ""},
	} {
		t.Run(tc.component+" "+tc.arg+" "+tc.version, func(t *testing.T) {
			c, ps := Load([]byte(withFlag(tc.component, tc.arg)), "f")
			if c == nil {
				t.Fatal(dump(ps))
			}
			ps = CheckFlags(c, tc.version)
			if tc.code == "" && len(ps) == 0 {
				return
			}
			if len(ps) != 1 || ps[0].Code != tc.code || ps[0].Line != 10 ||
				!strings.Contains(fmt.Sprint(ps[0].Args), tc.want) {
				t.Errorf("want %s with %s, got:\n%s", tc.code, tc.want, dump(ps))
			}
			rendered(t, ps)
		})
	}
}

// The table is whole: every line is read, every component has what each version has had for years, every owned or
// mapped flag is one.
func TestTheTableOfFlags(t *testing.T) {
	for component, least := range map[string]int{"kube-apiserver": 150, "kube-controller-manager": 150,
		"kube-scheduler": 50, "kube-proxy": 45, "kubelet": 100} {
		flags := flagsOf(component)
		if len(flags) < least {
			t.Errorf("%s has %d flags", component, len(flags))
		}
		for name, f := range flags {
			if !ruleFlag.ok(name) || !strings.Contains("bids", f.kind) || f.from < bundle.OldestMinor ||
				f.to > bundle.NewestMinor ||
				f.from > f.to {
				t.Errorf("%s %s: %+v", component, name, f)
			}
		}
		if f := flags["--v"]; f.kind != "i" || f.from != bundle.OldestMinor || f.to != bundle.NewestMinor {
			t.Errorf("%s --v: %+v", component, f)
		}
		for name := range fixed[component] {
			if _, ok := flags[name]; !ok {
				t.Errorf("%s has no %s", component, name)
			}
		}
	}
	proxy := flagsOf("kube-proxy")
	for name := range proxyFields {
		if _, ok := proxy[name]; !ok {
			t.Errorf("kube-proxy has no %s", name)
		}
	}
	if flagsOf("etcd") != nil || flagsOf("kube") != nil {
		t.Error("flags of a component that is not in the table")
	}
}

// Every gate of the table is one in the minors that have it, with some value.
func TestTheTableOfGates(t *testing.T) {
	all := gates()
	for name, g := range all {
		for minor := bundle.OldestMinor; minor <= bundle.NewestMinor; minor++ {
			free := len(checkGates(name+"=true", minor)) == 0 || len(checkGates(name+"=false", minor)) == 0
			if has := g.from <= minor && minor <= g.to; has != free {
				t.Errorf("%s in 1.%d: in the table %t, can be set %t", name, minor, has, free)
			}
		}
	}
	if len(all) < 250 {
		t.Errorf("%d gates only", len(all))
	}
}
