package binary

import (
	"slices"
	"strings"
	"testing"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
)

// Every default that hardens is there, and deploy.yaml can set each to something else.
func TestDefaultsThatHarden(t *testing.T) {
	r := made(t, "")
	own := made(t, `eggo: {etcd-user: root}
config-extra-args:
- {name: kube-apiserver, extra-args: {--profiling: 'true', --audit-log-path: '', --tls-min-version: VersionTLS13}}
- {name: kube-controller-manager, extra-args: {--profiling: 'true'}}
- {name: kube-scheduler, extra-args: {--profiling: 'true'}}
- {name: etcd, extra-args: {ETCD_TLS_MIN_VERSION: TLS1.3}}
- {name: kubelet, extra-args: {--pod-max-pids: 77, --seccomp-default: 'false'}}
`)
	for _, c := range []struct {
		component    driver.Component
		file         string
		ours, theirs []string
	}{
		{driver.APIServer, ".service", []string{"--profiling=false",
			"--audit-log-path=/var/log/kubernetes/audit/audit.log", "--audit-log-maxage=30",
			"--audit-log-maxbackup=10", "--audit-log-maxsize=100", "--audit-log-compress=true",
			"--audit-policy-file=/etc/kubernetes/audit-policy.yaml", "--service-account-lookup=true",
			"--tls-min-version=VersionTLS12"},
			[]string{"--profiling=true", "--audit-log-path= ", "--tls-min-version=VersionTLS13"}},
		{driver.ControllerManager, ".service", []string{"--profiling=false", "--tls-min-version=VersionTLS12"},
			[]string{"--profiling=true"}},
		{driver.Scheduler, ".service", []string{"--profiling=false", "--tls-min-version=VersionTLS12"},
			[]string{"--profiling=true"}},
		{driver.Etcd, "etcd.conf", []string{`ETCD_CIPHER_SUITES="TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,`,
			`ETCD_KEY_FILE="/run/credentials/etcd.service/server.key"`}, []string{`ETCD_TLS_MIN_VERSION="TLS1.3"`}},
		{driver.Kubelet, ".service", nil, []string{"--pod-max-pids=77", "--seccomp-default=false"}},
	} {
		s, err := r.service(c.component, r.Cluster.Nodes[0])
		text := fileOf(t, s, err, c.file)
		s, err = own.service(c.component, own.Cluster.Nodes[0])
		changed := fileOf(t, s, err, c.file)
		for _, want := range c.ours {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s:\n%s", c.component, want, text)
			}
		}
		for _, want := range c.theirs {
			if !strings.Contains(changed, want) {
				t.Errorf("%s: deploy.yaml does not set %s:\n%s", c.component, want, changed)
			}
		}
		if c.component == driver.Etcd && (strings.Contains(changed, "/run/credentials") || s.Account != nil) {
			t.Errorf("etcd runs as root, and without an account: %s", changed)
		}
		if strings.Contains(changed, "ETCD_CIPHER_SUITES") {
			t.Error("etcd refuses a list of ciphers with TLS 1.3")
		}
	}
	s, err := r.service(driver.Kubelet, r.Cluster.Nodes[0])
	var k kubeletv1beta1.KubeletConfiguration
	if err := yaml.UnmarshalStrict([]byte(fileOf(t, s, err, "kubelet.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	if !*k.SeccompDefault || *k.PodPidsLimit != 4096 || *k.EnableProfilingHandler ||
		k.TLSMinVersion != "VersionTLS12" || len(k.TLSCipherSuites) == 0 {
		t.Errorf("%+v", k)
	}
}

// Nobody but root reads a file of a component: etcd is given copies.
func TestFilesOfComponentsAreRootsAlone(t *testing.T) {
	r := made(t, "service: {dns: {corednstype: binary}}\n")
	for _, c := range r.Components(r.Cluster.Nodes[0]) {
		s, err := r.service(c, r.Cluster.Nodes[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Files {
			if f.Mode != 0o600 {
				t.Errorf("%s has the mode %o", f.Path, f.Mode)
			}
		}
		if c != driver.Etcd {
			continue
		}
		unit := fileOf(t, s, nil, "etcd.service")
		for _, want := range []string{"\nUser=etcd\nGroup=etcd\n",
			"LoadCredential=peer.key:/etc/kubernetes/pki/etcd/peer.key",
			"ExecStartPre=+chown -Rh etcd:etcd /var/lib/etcd/default.etcd"} {
			if !strings.Contains(unit, want) {
				t.Errorf("etcd.service has no %q:\n%s", want, unit)
			}
		}
		if s.Account == nil || s.Account.Name != "etcd" {
			t.Errorf("%+v", s.Account)
		}
	}
}

// policy is the part of audit.k8s.io/v1 Policy that ours uses.
type policy struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	OmitStages []string `json:"omitStages"`
	Rules      []struct {
		Level           string   `json:"level"`
		Users           []string `json:"users"`
		UserGroups      []string `json:"userGroups"`
		Verbs           []string `json:"verbs"`
		NonResourceURLs []string `json:"nonResourceURLs"`
		Resources       []struct {
			Group     string   `json:"group"`
			Resources []string `json:"resources"`
		} `json:"resources"`
	} `json:"rules"`
}

// The audit policy logs no body of a request, and logs whoever touches a secret.
func TestTheAuditPolicy(t *testing.T) {
	var p policy
	if err := yaml.UnmarshalStrict(assets.AuditPolicy(), &p); err != nil {
		t.Fatal(err)
	}
	secrets := -1
	for i, rule := range p.Rules {
		if rule.Level != "None" && rule.Level != "Metadata" {
			t.Errorf("a rule of the level %s", rule.Level)
		}
		for _, g := range rule.Resources {
			if slices.Contains(g.Resources, "secrets") && secrets < 0 {
				secrets = i
			}
		}
		if secrets < 0 && len(rule.Users)+len(rule.UserGroups) > 0 {
			t.Error("a rule of users stands before that of secrets")
		}
	}
	if p.Kind != "Policy" || p.APIVersion != "audit.k8s.io/v1" || secrets < 0 ||
		p.Rules[len(p.Rules)-1].Level != "Metadata" {
		t.Errorf("%+v", p)
	}
}
