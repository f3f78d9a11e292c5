package kubeadm

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
)

// mounts are the volumes of a component of m1 with flags of deploy.yaml: path, kind and name.
func mounts(t *testing.T, c driver.Component, flags string) []volume {
	t.Helper()
	r := made(t, "config-extra-args: [{name: "+string(c)+", extra-args: {"+flags+"}}]\n")
	is, err := r.volumes(c, r.named("m1"), r.flags(c, r.named("m1")))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range is {
		if slices.ContainsFunc(is[:i], func(o volume) bool { return o.Name == v.Name || o.MountPath == v.MountPath }) ||
			!label.MatchString(v.Name) || v.HostPath != v.MountPath || v.ReadOnly != (v.PathType == "File") {
			t.Errorf("%+v", v)
		}
	}
	return is
}

// TestOnlyFilesAreMounted: a value that begins with / is no file for that, and what kubeadm mounts by itself is not
// mounted twice.
func TestOnlyFilesAreMounted(t *testing.T) {
	for _, tc := range []struct {
		c           driver.Component
		flags, want string
	}{
		{driver.APIServer, "--etcd-prefix: /x", ""},
		{driver.APIServer, "--tls-sni-cert-key: '/a.crt,/a.key:*.example.com'", "/a.crt /a.key"},
		{driver.APIServer, "--tls-sni-cert-key: '/etc/kubernetes/pki/a.crt,/etc/ssl/certs/a.key'", ""},
		{driver.APIServer, "--tracing-config-file: /etc/t.yaml", "/etc/t.yaml"},
		{driver.APIServer, "--audit-log-path: /var/log/a/b.log", "/var/log/a:"},
		{driver.ControllerManager, "--authorization-always-allow-paths: '/healthz,/metrics'", ""},
		{driver.ControllerManager, "--flex-volume-plugin-dir: /opt/flex", ""},
		{driver.ControllerManager, "--leader-migration-config: /etc/m.yaml", "/etc/m.yaml"},
		{driver.Scheduler, "--authorization-always-allow-paths: /healthz", ""},
		{driver.Scheduler, "--tls-sni-cert-key: '/etc/kubernetes/pki/a.crt,/etc/ssl/certs/a.key'",
			"/etc/kubernetes/pki/a.crt /etc/ssl/certs/a.key"},
		{driver.Etcd, "ETCD_CLIENT_CRL_FILE: /etc/crl.pem, ETCD_LOG_OUTPUTS: 'stderr,/var/log/etcd/e.log'",
			"/etc/crl.pem /var/log/etcd:"},
		{driver.Etcd, "ETCD_CLIENT_CRL_FILE: /etc/kubernetes/pki/etcd/crl.pem", ""},
	} {
		usual := []string{"/etc/kubernetes/audit-policy.yaml", "/etc/kubernetes/encryption-config.yaml",
			"/var/log/kubernetes/audit:"}
		var is []string
		for _, v := range mounts(t, tc.c, tc.flags) {
			if v.PathType != "File" {
				v.HostPath += ":"
			}
			if !slices.Contains(usual, v.HostPath) {
				is = append(is, v.HostPath)
			}
		}
		if got := strings.Join(is, " "); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.c, tc.flags, got, tc.want)
		}
	}
}

// TestNamesOfVolumes: pods that run keep those that were right, so that nothing restarts them.
func TestNamesOfVolumes(t *testing.T) {
	long := "/etc/" + strings.Repeat("long", 20) + ".yaml"
	is := map[string]string{}
	for _, v := range mounts(t, driver.APIServer, "--audit-webhook-config-file: /etc/a/config.yaml, "+
		"--tracing-config-file: /etc/b/config.yaml, --egress-selector-config-file: '/etc/我 of_A~.conf', "+
		"--token-auth-file: "+long) {
		is[v.HostPath] = v.Name
	}
	for at, want := range map[string]string{
		"/etc/kubernetes/audit-policy.yaml":      "eggo-audit-policy-yaml",
		"/etc/kubernetes/encryption-config.yaml": "eggo-encryption-config-yaml",
		"/var/log/kubernetes/audit":              "eggo-audit",
	} {
		if is[at] != want {
			t.Errorf("%s is %q, want %q", at, is[at], want)
		}
	}
	for at, prefix := range map[string]string{"/etc/a/config.yaml": "eggo-config-yaml-",
		"/etc/b/config.yaml": "eggo-config-yaml-", "/etc/我 of_A~.conf": "eggo-of-a-conf-", long: "eggo-longlong"} {
		if !strings.HasPrefix(is[at], prefix) || is[at] == plainName(at) {
			t.Errorf("%s is %q", at, is[at])
		}
	}
}

// TestAMemberSeesWhatItsFlagsName: kubeadm's configuration has volumes for all components but etcd.
func TestAMemberSeesWhatItsFlagsName(t *testing.T) {
	const usual = `{"spec":{"containers":[{"name":"etcd","resources":{"requests":{"cpu":"250m"}}}]}}` + "\n"
	for flags, want := range map[string]string{
		"": usual,
		"config-extra-args: [{name: etcd, extra-args: {ETCD_CLIENT_CRL_FILE: /etc/crl.pem}}]\n": strings.NewReplacer(
			`"}}}]`, `"}},"volumeMounts":[{"mountPath":"/etc/crl.pem","name":"eggo-crl-pem","readOnly":true}]}],`+
				`"volumes":[{"hostPath":{"path":"/etc/crl.pem","type":"File"},"name":"eggo-crl-pem"}]`).Replace(usual),
	} {
		r := made(t, flags)
		if is, err := r.etcdPatch(r.named("m1")); err != nil || string(is) != want {
			t.Errorf("%v\n%s\n%s", err, is, want)
		}
	}
}
