package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestEveryKey sets as many keys of deploy.yaml at once as two machines can show, none to its default, and looks up the
// effect of each on the machines and in the API.
func TestEveryKey(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	base, err := s.Deploy("base.yaml", "keys", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	ca, roots := ownAuthority(t, filepath.Join(s.Dir, "externalca"))
	file, err := s.Vary(base, "keys.yaml",
		"service:\n  cidr: 10.32.0.0/16\n  dnsaddr: 10.32.0.10\n  gateway: 10.32.0.1\n  dns: {corednstype: pod, "+
			"replicas: 2}\n",
		"service:\n  cidr: 10.96.0.0/20\n  dnsaddr: 10.96.0.53\n  gateway: 10.96.0.1\n  dns: {corednstype: pod, "+
			"replicas: 1, imageversion: 1.12.1}\n",
		"podcidr: 10.244.0.0/16\n  plugin: flannel\n",
		"podcidr: 10.200.0.0/16\n  plugin: flannel\n  plugin-args: {NetworkYamlPath: "+
			"/etc/kubernetes/addons/kube-flannel.yml}\n",
		"runtime: containerd\n", `runtime: containerd
external-ca: true
external-ca-path: `+ca+`
apiserver-cert-sans: {dnsnames: [api.keys.example], ips: [203.0.113.7]}
apiserver-timeout: 77s
etcd-token: keys-token
dns-vip: 10.96.0.53
dns-domain: keys.local
pause-image: registry.k8s.io/pause:3.10.1
cni-bin-dir: /opt/cni/bin
enable-kubelet-serving: true
config-extra-args:
- {name: etcd, extra-args: {ETCD_HEARTBEAT_INTERVAL: "150"}}
- {name: kube-apiserver, extra-args: {--service-node-port-range: 30000-30999, --profiling: "false"}}
- {name: kube-controller-manager, extra-args: {--node-monitor-grace-period: 44s}}
- {name: kube-scheduler, extra-args: [--kube-api-qps=99]}
- {name: kube-proxy, extra-args: {--iptables-min-sync-period: 3s, --v: 1}}
- {name: kubelet, extra-args: {--max-pods: 42, --node-labels: "keys.example/tier=a"}}
`)
	must(t, "keys.yaml", err)
	gone, err := s.Vary(file, "gone.yaml", "--max-pods: 42", "--register-schedulable: 'true'")
	must(t, "gone.yaml", err)

	refused := try(t, s, 5, "deploy", "-f", gone)
	if err := refused.Has("--register-schedulable", "1.34"); err != nil {
		t.Errorf("a flag that the version has no more: %v\n%s", err, tail(refused.Out, 20))
	}
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))

	s.Say("== what runs")
	for unit, flags := range map[string][]string{
		"kube-apiserver": {"--request-timeout=1m17s", "--service-node-port-range=30000-30999",
			"--profiling=false", "--service-cluster-ip-range=10.96.0.0/20"},
		"kube-controller-manager": {"--node-monitor-grace-period=44s", "--cluster-cidr=10.200.0.0/16"},
		"kube-scheduler":          {"--kube-api-qps=99"},
		"kube-proxy":              {"--v=1"},
		"kubelet":                 {"--max-pods=42"},
	} {
		line := onFirst(t, s, "tr '\\0' '\\n' </proc/$(systemctl show -P MainPID "+unit+")/cmdline")
		for _, f := range flags {
			if !strings.Contains("\n"+line, "\n"+f+"\n") {
				t.Errorf("%s runs without %s:\n%s", unit, f, line)
			}
		}
	}
	for what, want := range map[string]string{
		"tr '\\0' '\\n' </proc/$(systemctl show -P MainPID etcd)/environ":  "ETCD_HEARTBEAT_INTERVAL=150\n",
		"cat /etc/etcd/initial.conf":                                       "keys-token",
		"curl -sS http://127.0.0.1:10249/configz":                          `"MinSyncPeriod":"3s"`,
		"cat /var/lib/kubelet/pki/kubelet-server-current.pem | head -c 27": "BEGIN CERTIFICATE",
		"cat /run/flannel/subnet.env":                                      "FLANNEL_NETWORK=10.200.0.0/16",
		"grep sandbox_image /etc/eggo/containerd.toml":                     "registry.k8s.io/pause:3.10.1",
		"sha256sum </etc/kubernetes/pki/ca.crt; ls /etc/kubernetes/pki/":   "ca-signing.crt",
		"grep -c serverTLSBootstrap /etc/kubernetes/kubelet.yaml":          "1",
		"cat /etc/kubernetes/kubelet.yaml":                                 "clusterDomain: keys.local",
	} {
		if out := onFirst(t, s, what); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", what, want, out)
		}
	}

	s.Say("== what the API says")
	for what, want := range map[string]string{
		"get service kubernetes -o jsonpath={.spec.clusterIP}":               "10.96.0.1",
		"get service kube-dns -n kube-system -o jsonpath={.spec.clusterIP}":  "10.96.0.53",
		"get deployment coredns -n kube-system -o jsonpath={.spec.replicas}": "1",
		"get node n1 -o jsonpath={.status.capacity.pods}":                    "42",
		"get nodes -o jsonpath={.items[*].spec.podCIDR}":                     "10.200.",
		"get configmap -n kube-flannel kube-flannel-cfg -o jsonpath={.data}": "10.200.0.0/16",
		"get csr -o " +
			"jsonpath={.items[?(@.spec.signerName==\"kubernetes.io/kubelet-serving\")].status.conditions[*].type}": "Approved",
	} {
		out, err := s.Kubectl(ctx, strings.Fields(what)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("kubectl %s: %q %v, want %q", what, out, err, want)
		}
	}

	s.Say("== whom the certificates are for, and who signed them")
	n1, err := s.Lab.Address("n1")
	must(t, "address", err)
	n2, err := s.Lab.Address("n2")
	must(t, "address", err)
	for _, c := range []struct{ addr, name string }{
		{n1 + ":6443", "api.keys.example"}, {n1 + ":6443", "203.0.113.7"}, {n1 + ":6443", "10.96.0.1"},
		{n1 + ":6443", "kubernetes.default.svc.keys.local"},
		{n2 + ":10250", "n2"}, {n2 + ":10250", n2}, {n1 + ":10250", "n1"},
	} {
		if err := handshake(ctx, c.addr, c.name, roots); err != nil {
			t.Errorf("%s as %s: %v", c.addr, c.name, err)
		}
	}

	s.Say("== names and Services under the cluster's own domain")
	must(t, "names", stand.Until(ctx, 2*time.Minute, "the Service answers by its name",
		func(ctx context.Context) error {
			pods, err := s.Kubectl(ctx, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")
			if err != nil {
				return err
			}
			for _, p := range strings.Fields(pods) {
				for _, to := range []string{"web:80", "web.default.svc.keys.local:80"} {
					if _, err := s.Kubectl(ctx, "exec", p, "--", "/agnhost", "connect", "--timeout=5s",
						to); err != nil {
						return err
					}
				}
				if _, err := s.Kubectl(ctx, "logs", p); err != nil {
					return err
				}
			}
			if n := len(strings.Fields(pods)); n != 2 {
				return fmt.Errorf("%d pods", n)
			}
			return nil
		}))

	s.Say("== the same again")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "keys")
}

func onFirst(t *testing.T, s *stand.Stand, line string) string {
	t.Helper()
	out, err := s.Lab.Run(t.Context(), "n1", line)
	must(t, line, err)
	return out
}

// ownAuthority makes a directory for external-ca-path: an RSA authority for the cluster.
func ownAuthority(t *testing.T, dir string) (string, *x509.CertPool) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, "key", err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example Company CA"},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(2000 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	must(t, "certificate", err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	must(t, "directory", os.RemoveAll(dir))
	must(t, "directory", os.MkdirAll(dir, 0o700))
	must(t, "ca.crt", os.WriteFile(filepath.Join(dir, "ca.crt"), cert, 0o600))
	must(t, "ca.key", os.WriteFile(filepath.Join(dir, "ca.key"),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return dir, pool
}

// handshake wants a server to have a certificate for the name, of the authority in roots.
func handshake(ctx context.Context, addr, name string, roots *x509.CertPool) error {
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second},
		Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
}
