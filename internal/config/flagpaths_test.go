package config

import (
	"regexp"
	"strings"
	"testing"
)

// TestWhichFlagsNameFiles: a value that begins like a path is no path for that.
func TestWhichFlagsNameFiles(t *testing.T) {
	for _, tc := range []struct{ component, flag, value, want string }{
		{"kube-apiserver", "audit-policy-file", "/etc/a.yaml", "/etc/a.yaml"},
		{"kube-apiserver", "audit-log-path", "/var/log/k/a.log", "/var/log/k/"},
		{"kube-apiserver", "audit-log-path", "-", ""},
		{"kube-apiserver", "audit-log-path", "/a.log", ""}, // / cannot be mounted at /
		{"kube-apiserver", "debug-socket-path", "/run/k/debug.sock", "/run/k/"},
		{"kube-apiserver", "authentication-config", "/etc//x/../auth.yaml", "/etc/auth.yaml"},
		{"kube-apiserver", "etcd-prefix", "/registry", ""},
		{"kube-apiserver", "service-account-issuer", "/x", ""},
		{"kube-apiserver", "oidc-username-prefix", "/x", ""},
		{"kube-apiserver", "tls-sni-cert-key", "/a.crt,/a.key", "/a.crt /a.key"},
		{"kube-apiserver", "tls-sni-cert-key", "/a.crt, /a.key:*.x,y;/b.crt,/b.key", "/a.crt /a.key /b.crt /b.key"},
		{"kube-controller-manager", "authorization-always-allow-paths", "/healthz,/metrics", ""},
		{"kube-controller-manager", "flex-volume-plugin-dir", "/opt/flex", "/opt/flex/"},
		{"kube-controller-manager", "flex-volume-plugin-dir", "opt/flex", ""},
		{"kube-scheduler", "config", "/etc/s.yaml", "/etc/s.yaml"},
		{"kube-scheduler", "write-config-to", "/etc/s.yaml", ""}, // it ends when it has written it
		{"etcd", "client-crl-file", "/etc/crl.pem", "/etc/crl.pem"},
		{"etcd", "log-outputs", "stderr,/var/log/etcd/e.log", "/var/log/etcd/"},
		{"etcd", "name", "/x", ""},
		{"kubelet", "config", "/x", ""},
	} {
		var is []string
		for _, p := range FlagPaths(tc.component, tc.flag, tc.value) {
			if p.Dir {
				p.Path += "/"
			}
			is = append(is, p.Path)
		}
		if got := strings.Join(is, " "); got != tc.want {
			t.Errorf("%s --%s=%s: %q, want %q", tc.component, tc.flag, tc.value, got, tc.want)
		}
	}
}

// TestEveryFlagOfAPathIsKnown: a flag of a newer version whose name speaks of a file is inspected by a person.
func TestEveryFlagOfAPathIsKnown(t *testing.T) {
	speaks := regexp.MustCompile(`(file|path|dir|config|kubeconfig|outputs)$|` +
		`(cert|key|cafile|cacert|certificate|authority|filepath-(hostpath|nfs))$`)
	none := []string{"authorization-always-allow-paths", "runtime-config", "configure-cloud-routes"}
	seen := 0
	each := func(component, name string) {
		is := len(FlagPaths(component, name, "/d/a,/d/b")) > 0
		switch {
		case is:
			seen++
		case speaks.MatchString(name) && !strings.Contains(" "+strings.Join(none, " ")+" ", " "+name+" "):
			t.Errorf("%s --%s: does it name a file?", component, name)
		}
	}
	for _, component := range podComponents()[:3] {
		for name, f := range flagsOf(component) {
			if f.kind == "s" {
				each(component, strings.TrimPrefix(name, "--"))
			}
		}
	}
	for _, name := range etcdFlags() {
		if name != "discovery-proxy" {
			each("etcd", name)
		}
	}
	if seen < 80 {
		t.Errorf("only %d", seen)
	}
}
