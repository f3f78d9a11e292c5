package takeover

import (
	"bytes"
	"errors"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
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

// PublicKeys is the file with the keys that verify the tokens of service accounts, in a control plane's pki.
const PublicKeys = "sa.pub"

// publicKeys refuses keys beside that of sa.key: tokens that they verify would be valid no longer.
func (t *taking) publicKeys(s Server) {
	if public := s.PKI[PublicKeys]; len(public) > 0 && len(s.PKI["sa.key"]) > 0 &&
		!pki.IsPublic(s.PKI["sa.key"], public) {
		t.refuse(s.Node, "import.public-keys", "file", PKIDir+"/"+PublicKeys)
	}
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
		t.publicKeys(s)
		t.encryption(s, out)
	}
	theirs := func(s Server) bool { return !slices.Contains(s.Ours, apiServer) }
	if out[encryptionName] == nil && slices.ContainsFunc(t.Servers, theirs) {
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

// plain says whether a configuration of secrets at rest encrypts nothing.
func plain(text []byte) bool {
	c, err := encryptionOf(text)
	return err == nil && !slices.ContainsFunc(c.providers(), func(name string) bool { return name != "identity" })
}

// encryptionConfig is a configuration of secrets at rest.
type encryptionConfig struct {
	Kind      string
	Resources []struct{ Providers []map[string]any }
}

func encryptionOf(text []byte) (c encryptionConfig, err error) {
	err = yaml.Unmarshal(text, &c)
	if err == nil && (len(text) == 0 || c.Kind != "EncryptionConfiguration") {
		err = errors.New("not an EncryptionConfiguration")
	}
	return c, err
}

// providers are the names of all.
func (c encryptionConfig) providers() []string {
	var out []string
	for _, r := range c.Resources {
		for _, p := range r.Providers {
			out = append(out, sorted(p)...)
		}
	}
	return out
}

// encryption takes over the configuration of secrets at rest: without its keys the Secrets of the cluster are lost.
func (t *taking) encryption(s Server, out map[string][]byte) {
	file := EncryptionFile(s.Manifests[apiServer+".yaml"])
	if file == "" {
		return
	}
	c, err := encryptionOf(s.Encryption)
	if err != nil {
		t.refuse(s.Node, "import.encryption", "file", file)
		return
	}
	if slices.Contains(c.providers(), "kms") {
		t.refuse(s.Node, "import.encryption-kms", "file", file)
		return
	}
	if was := out[encryptionName]; was != nil && !bytes.Equal(was, s.Encryption) {
		t.refuse(s.Node, "import.other-key", "file", file, "other", t.Servers[0].Node)
		return
	}
	out[encryptionName] = s.Encryption
}
