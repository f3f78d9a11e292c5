package binary

import "testing"

// What a kubelet serves with is searched for where it has it from: ours, or the one that it asked the cluster for.
func TestWhereANodeHasItsCertificates(t *testing.T) {
	for more, want := range map[string]map[string]string{
		"": {"nodes/m1/kubelet": "/etc/kubernetes/pki/kubelet.crt", "kubelet-serving": "",
			"coredns": ""},
		"enable-kubelet-serving: true\n": {"nodes/m1/kubelet": "",
			"kubelet-serving": "/var/lib/kubelet/pki/kubelet-server-current.pem"},
		"service: {dns: {corednstype: binary}}\n": {"coredns": "/etc/eggo/coredns/kubeconfig"},
	} {
		r := made(t, more)
		n := r.Cluster.Nodes[0]
		for name, file := range want {
			got := ""
			for _, p := range r.Certificates(n) {
				if p.Name == name || p.Own == name {
					got = p.File
				}
			}
			if got != file {
				t.Errorf("%q: %s is at %q, want %q", more, name, got, file)
			}
		}
	}
}
