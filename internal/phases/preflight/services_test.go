package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// keySum is that of a key as a node prints it.
func keySum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A node of the original eggo is taken over with what its components run with, or not at all.
func TestServicesThatAreToBeTakenOver(t *testing.T) {
	const runs = "state=active enabled=enabled applied=\n" // of every unit that is asked for
	own := runs + "unit etcd\narg /usr/bin/etcd\nenv ETCD_DATA_DIR=/var/lib/etcd/default.etcd\nversion 3.6.5\n" +
		"unit kube-apiserver\narg /usr/bin/kube-apiserver\narg --secure-port=6443\n" +
		"sum service-account-signing-key-file " + keySum("key") + "\nsum encryption-provider-config " +
		keySum("a:b") + "\nversion v1.34.2\nunit kube-scheduler\n" +
		"unit kubelet\narg /usr/bin/kubelet\nfile /etc/kubernetes/kubelet_config.yaml\nconf maxPods: 9\n" +
		"version v1.34.2\n"
	for name, c := range map[string]struct {
		old, fresh string
		spoil      func(in *Input)
		want       []string
		told       string
	}{
		"as the original writes them": {},
		"taken over":                  {own, "", nil, nil, ""},
		"in a join": {"--secure-port=6443", "--event-ttl=2h", func(in *Input) { in.Verb = "join" }, nil,
			""},
		"pods of kubeadm": {"--secure-port=6443", "--event-ttl=2h", func(in *Input) { in.Started = nil }, nil, ""},
		"a flag": {"--secure-port=6443", "--event-ttl=2h\x1b[2J", nil, []string{"error preflight.service-flags"},
			"--event-ttl=2h[2J"},
		"a flag of deploy.yaml": {"--secure-port=6443", "--event-ttl=3h", nil, nil, ""},
		"a setting": {"conf maxPods: 9", "conf maxPods: 8", nil, []string{"error preflight.service-config"},
			"maxPods: 8"},
		"it does not run": {own, "state=failed enabled=enabled applied=\nunit kube-scheduler\n", nil,
			[]string{"error preflight.service-stopped"}, ""},
		"the first kubelet of a control plane": {own, "state=failed enabled=enabled applied=\nunit kubelet\n" +
			"unit kube-proxy\n", func(in *Input) {
			f := in.Fact(nodestest.Master().Name)
			f.TheirKubelet, f.TheirUnits = false, []string{"kube-scheduler.service"}
		}, nil, ""},
		"a kubelet that came after the import": {"conf maxPods: 9", "conf maxPods: 8", func(in *Input) {
			f := in.Fact(nodestest.Master().Name)
			f.TheirKubelet, f.TheirUnits = false, []string{"kube-scheduler.service"}
		}, []string{"error preflight.service-config"}, "maxPods: 8"},
		"a control plane without a kubelet that stands": {own, "state=failed enabled=enabled applied=\n" +
			"unit kube-scheduler\n", func(in *Input) {
			f := in.Fact(nodestest.Master().Name)
			f.TheirKubelet, f.TheirUnits = false, []string{"kube-scheduler.service"}
		}, []string{"error preflight.service-stopped"}, ""},
		"a drop-in that starts it": {"unit kube-scheduler\n", "unit kube-scheduler\ndropin /etc/x.conf\n",
			nil, []string{"error preflight.service-dropin"}, "/etc/x.conf"},
		"a program that starts it": {"unit kube-scheduler\n", "unit kube-scheduler\nmain 7\n", nil,
			[]string{"error preflight.service-unseen"}, ""},
		"variables that its unit sets": {"arg --secure-port=6443\n", "arg --secure-port=6443\nvar HTTPS_PROXY\n" +
			"var GOGC\n", nil, []string{"error preflight.service-env"}, "HTTPS_PROXY, GOGC"},
		"swap that its unit turns off": {"unit kubelet\n", "unit kubelet\nswap /etc/fstab\nmain 8\n", nil,
			[]string{"error preflight.service-swap"}, ""},
		"data elsewhere": {"/var/lib/etcd/default.etcd", "/data", nil, []string{"error preflight.service-data"},
			"/data"},
		"another key": {keySum("key"), keySum("other"), nil, []string{"error preflight.service-key"}, "pki/sa.key"},
		"another public key": {"sum service-account-signing-key-file", "pub -----BEGIN PUBLIC KEY-----\nsum " +
			"service-account-signing-key-file", nil, []string{"error import.public-keys"}, ""},
		"nothing encrypted": {"sum encryption-provider-config " + keySum("a:b") + "\n", "", nil,
			[]string{"error preflight.service-key"}, "pki/encryption-config.yaml"},
		"another version": {"kubelet_config.yaml\nconf maxPods: 9\nversion v1.34.2",
			"kubelet_config.yaml\nconf maxPods: 9\nversion v1.33.1", nil, []string{"error preflight.takeover-version"},
			"v1.33.1"},
		"a newer etcd": {"version 3.6.5", "version 3.7.0", nil, []string{"error preflight.takeover-etcd"}, "3.7.0"},
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			for file, text := range map[string]string{"sa.key": "ke\ny\n", "encryption-config.yaml": "a: b\n"} {
				at := filepath.Join(state, "pki", file)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := takingOver(t, checkServices(), master, strings.Replace(own, c.old, c.fresh, 1), func(in *Input) {
				in.StateDir, in.Cluster.Eggo.Driver, in.EtcdData = state, "binary", "/var/lib/etcd/default.etcd"
				in.Owns = func(config.Node) []string { return []string{"/etc/systemd/system/etcd.service"} }
				in.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kube-apiserver",
					Args: map[string]string{"--event-ttl": "3h"}}}
				in.Started = func(_ context.Context, c string, _ config.Node) (map[string]string, string, error) {
					conf := map[string]string{"kubelet": "maxPods: 9\n"}[c]
					return map[string]string{"secure-port": "6443"}, conf, nil
				}
				m := nodestest.Manifest()
				m.Members = append([]bundle.Member{{Kind: bundle.Binary, Name: "etcd", Path: "bin/etcd",
					Version: "3.6.5"}}, m.Members...)
				in.SetBundle("amd64", nodestest.Box{Is: m})
				if c.spoil != nil {
					c.spoil(in)
				}
			})
			if codes := nodestest.Codes(got); !slices.Equal(codes, c.want) {
				t.Errorf("%q, want %q", codes, c.want)
			}
			if c.told != "" && !slices.ContainsFunc(got, func(f event.Finding) bool {
				a := f.Fault.Args
				return slices.Contains([]string{a["flags"], a["settings"], a["files"], a["is"], a["file"],
					a["variables"]}, c.told)
			}) {
				t.Errorf("%+v, want %s", got, c.told)
			}
		})
	}
}
