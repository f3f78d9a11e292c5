package takeover

import (
	"bytes"

	"sigs.k8s.io/yaml"
)

// Where kubeadm has the files of a control plane.
const (
	PKIDir      = "/etc/kubernetes/pki"
	ManifestDir = "/etc/kubernetes/manifests"
	AdminConf   = "/etc/kubernetes/admin.conf"
)

// Secrets are the files of a control plane's pki that the control host needs. Without one of them certificates can be
// neither renewed nor issued for new nodes.
func Secrets() []string {
	return []string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key",
		"sa.key"}
}

// pki are the files that go to the state directory. All control planes have the same.
func (t *taking) pki() map[string][]byte {
	out := map[string][]byte{}
	for _, s := range t.Servers {
		for _, name := range Secrets() {
			data := s.PKI[name]
			switch {
			case len(bytes.TrimSpace(data)) == 0:
				t.refuse(s.Node, "import.no-key", "file", PKIDir+"/"+name)
			case out[name] == nil:
				out[name] = data
			case !bytes.Equal(bytes.TrimSpace(out[name]), bytes.TrimSpace(data)):
				t.refuse(s.Node, "import.other-key", "file", PKIDir+"/"+name, "other", t.Servers[0].Node)
			}
		}
		t.encryption(s, out)
	}
	if out[encryptionName] == nil {
		out[encryptionName] = []byte(plainSecrets)
	}
	return out
}

// encryptionName is the configuration of secrets at rest in the state directory.
const encryptionName = "encryption-config.yaml"

// plainSecrets is that of a cluster whose secrets are not encrypted. It stays so: an API server that encrypts them
// beside others that do not know the key would hide them from these.
const plainSecrets = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - identity: {}
`

// encryption takes over the configuration of secrets at rest: without its keys the Secrets of the cluster are lost.
func (t *taking) encryption(s Server, out map[string][]byte) {
	file := EncryptionFile(s.Manifests[apiServer+".yaml"])
	if file == "" {
		return
	}
	var c struct {
		Kind      string
		Resources []struct{ Providers []map[string]any }
	}
	if len(s.Encryption) == 0 || yaml.Unmarshal(s.Encryption, &c) != nil || c.Kind != "EncryptionConfiguration" {
		t.refuse(s.Node, "import.encryption", "file", file)
		return
	}
	for _, r := range c.Resources {
		for _, p := range r.Providers {
			if _, is := p["kms"]; is {
				t.refuse(s.Node, "import.encryption-kms", "file", file)
				return
			}
		}
	}
	if was := out[encryptionName]; was != nil && !bytes.Equal(was, s.Encryption) {
		t.refuse(s.Node, "import.other-key", "file", file, "other", t.Servers[0].Node)
		return
	}
	out[encryptionName] = s.Encryption
}
