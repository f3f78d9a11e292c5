package takeover

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// aKey is a key of service accounts, with its public one.
func aKey(t *testing.T) (private, public []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
}

const encrypted = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" +
	"- resources: [secrets]\n  providers:\n  - secretbox: {keys: [{name: a, secret: c2VjcmV0}]}\n  - identity: {}\n"

// everywhere changes the manifest of a component on all control planes.
func everywhere(component, old, fresh string) func(c *Cluster) {
	return func(c *Cluster) {
		for _, s := range c.Servers {
			text := string(s.Manifests[component+".yaml"])
			s.Manifests[component+".yaml"] = []byte(strings.Replace(text, old, fresh, 1))
		}
	}
}

// extraArgs says what config-extra-args of a deploy.yaml have.
func extraArgs(t *testing.T, text []byte) func(string, KubeletFlag) bool {
	t.Helper()
	c, problems := config.Load(text, "deploy.yaml")
	if c == nil {
		t.Fatal(problems)
	}
	return func(component string, flag KubeletFlag) bool {
		name := flag.Name
		if component != etcd {
			name = "--" + name
		}
		return slices.ContainsFunc(c.ExtraArgs, func(e config.ExtraArgs) bool {
			value, is := e.Args[name]
			return is && e.Component == component && value == flag.Value
		})
	}
}

// encrypts lets API servers read a configuration of secrets at rest.
func encrypts(text string) func(c *Cluster) {
	return func(c *Cluster) {
		const flag = "    - --allow-privileged=true\n"
		everywhere(apiServer, flag, flag+"    - "+EncryptionFlag+"=/etc/kubernetes/enc.yaml\n")(c)
		for i := range c.Servers {
			c.Servers[i].Encryption = []byte(text)
		}
	}
}

// What somebody has changed after the import is found, and what was there before is not.
func TestChangesSinceAnImport(t *testing.T) {
	private, public := aKey(t)
	other, otherPublic := aKey(t)
	const flag = "    - --allow-privileged=true\n"
	for name, x := range map[string]struct {
		before, after func(c *Cluster)
		want          []string // a code and what it says
		serving       bool
	}{
		"nothing": {},
		"flags, settings and keys that were there": {before: func(c *Cluster) {
			encrypts(encrypted)(c)
			everywhere(apiServer, flag, flag+"    - --event-ttl=2h\n")(c)
			everywhere(etcd, "    - --snapshot-count=10000\n", "    - --snapshot-count=5000\n")(c)
			c.Kubelet += "maxPods: 90\n"
			c.Proxy = strings.Replace(c.Proxy, `mode: ""`, "mode: ipvs", 1)
		}},
		"flags": {after: func(c *Cluster) {
			everywhere(apiServer, flag, flag+"    - --oidc-issuer-url=https://x\n    - --event-ttl=2h\n")(c)
			everywhere(etcd, "    - --snapshot-count=10000\n", "    - --snapshot-count=5000\n")(c)
		}, want: []string{"import.lost-flags ETCD_SNAPSHOT_COUNT=5000",
			"import.lost-flags --event-ttl=2h, --oidc-issuer-url=https://x"}},
		"another value": {before: func(c *Cluster) {
			c.Kubelet += "maxPods: 90\n"
		}, after: func(c *Cluster) {
			c.Kubelet = strings.Replace(c.Kubelet, "maxPods: 90", "maxPods: 150", 1)
		}, want: []string{"import.lost-settings --max-pods=150"}},
		"a setting without a flag": {after: func(c *Cluster) {
			c.Kubelet += "memorySwap: {swapBehavior: LimitedSwap}\n"
		}, want: []string{"import.lost-fields memorySwap.swapBehavior: LimitedSwap"}},
		"server certificates of kubelets": {after: func(c *Cluster) { c.Kubelet += "serverTLSBootstrap: true\n" },
			want: []string{"import.lost-fields serverTLSBootstrap: true"}},
		"server certificates that deploy.yaml has": {after: func(c *Cluster) {
			c.Kubelet += "serverTLSBootstrap: true\n"
		}, serving: true},
		"verbosity that was there, and taints": {before: func(c *Cluster) {
			c.Kubelet = strings.Replace(c.Kubelet, "verbosity: 0", "verbosity: 3", 1) +
				"registerWithTaints: [{key: a, effect: NoSchedule}]\n"
			c.Proxy = strings.Replace(c.Proxy, "verbosity: 0", "verbosity: 4", 1)
		}},
		"verbosity": {after: func(c *Cluster) {
			c.Kubelet = strings.Replace(c.Kubelet, "verbosity: 0", "verbosity: 3", 1)
			c.Proxy = strings.Replace(c.Proxy, "verbosity: 0", "verbosity: 4", 1)
		}, want: []string{"import.lost-settings --v=4", "import.lost-settings --v=3"}},
		"etcd of one node is ours, and its API server is not": {after: func(c *Cluster) {
			c.Servers[0].Ours = []string{etcd}
			delete(c.Servers[0].Manifests, "etcd.yaml")
			everywhere(apiServer, flag, flag+"    - --event-ttl=2h\n")(c)
		}, want: []string{"import.lost-flags --event-ttl=2h"}},
		"IPVS": {after: func(c *Cluster) {
			c.Proxy = strings.Replace(c.Proxy, `mode: ""`, "mode: ipvs", 1)
		}, want: []string{"import.lost-settings --proxy-mode=ipvs"}},
		"no kube-proxy": {after: func(c *Cluster) { c.Proxy = "" }, want: []string{"import.without-proxy "}},
		"a proxy": {after: with(controller, "    image:", "    env:\n    - {name: HTTPS_PROXY, value: "+
			"http://u:secret@x}\n    image:"), want: []string{"import.lost-environment HTTPS_PROXY"}},
		"a part of a pod": {after: with(scheduler, "  hostNetwork: true\n", "  hostNetwork: true\n  hostPID: true\n"),
			want: []string{"import.pod spec.hostPID=true"}},
		"encryption": {after: encrypts(encrypted), want: []string{"import.changed-key /etc/kubernetes/enc.yaml",
			"import.changed-key /etc/kubernetes/enc.yaml"}},
		"encryption without": {after: encrypts(""), want: []string{"import.encryption /etc/kubernetes/enc.yaml",
			"import.encryption /etc/kubernetes/enc.yaml"}},
		"another key of encryption": {before: encrypts(encrypted), after: func(c *Cluster) {
			c.Servers[1].Encryption = bytes.Replace(c.Servers[1].Encryption, []byte("c2VjcmV0"), []byte("bmV3"), 1)
		}, want: []string{"import.changed-key /etc/kubernetes/enc.yaml"}},
		"no encryption any more": {before: encrypts(encrypted), after: func(c *Cluster) {
			everywhere(apiServer, "    - "+EncryptionFlag+"=/etc/kubernetes/enc.yaml\n", "")(c)
			for i := range c.Servers {
				c.Servers[i].Encryption = nil
			}
		}, want: []string{"import.encryption-off pki/encryption-config.yaml",
			"import.encryption-off pki/encryption-config.yaml"}},
		"no encryption, said in other words": {before: encrypts(strings.Replace(encrypted,
			"  - secretbox: {keys: [{name: a, secret: c2VjcmV0}]}\n", "", 1)), after: func(c *Cluster) {
			everywhere(apiServer, "    - "+EncryptionFlag+"=/etc/kubernetes/enc.yaml\n", "")(c)
			for i := range c.Servers {
				c.Servers[i].Encryption = nil
			}
		}},
		"the key of service accounts": {after: func(c *Cluster) {
			c.Servers[0].PKI["sa.key"], c.Servers[0].PKI["sa.pub"] = other, otherPublic
		}, want: []string{"import.changed-key /etc/kubernetes/pki/sa.key"}},
		"an old public key": {after: func(c *Cluster) {
			c.Servers[1].PKI["sa.pub"] = append(bytes.Clone(otherPublic), public...)
		}, want: []string{"import.public-keys /etc/kubernetes/pki/sa.pub"}},
		"what is ours": {after: func(c *Cluster) {
			everywhere(apiServer, flag, flag+"    - --event-ttl=2h\n")(c)
			for i := range c.Servers {
				c.Servers[i].Ours = []string{apiServer}
				c.Servers[i].PKI["sa.key"] = other
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := second(t)
			for _, s := range c.Servers {
				s.PKI["sa.key"], s.PKI["sa.pub"] = private, public
			}
			if x.before != nil {
				x.before(c)
			}
			taken := c.Take(wanted())
			if taken.Refused() {
				t.Fatal(found(taken))
			}
			has := extraArgs(t, taken.Text)
			if x.after != nil {
				x.after(c)
			}
			lost, err := Drift{Cluster: c, Has: has, Serving: x.serving, Kept: func(name string) ([]byte, error) {
				return taken.PKI[name], nil
			}}.Lost()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range lost {
				a := f.Fault.Args
				got = append(got, f.Fault.Code+" "+a["flags"]+a["settings"]+a["variables"]+a["parts"]+a["file"])
				if a["file"] == "" && f.Fault.Code == "import.encryption-off" {
					got[len(got)-1] += a["kept"]
				}
			}
			all, want := strings.Join(got, "\n"), strings.Join(x.want, "\n")
			if all != want || strings.Contains(all, "secret@") {
				t.Errorf("got\n%s\nwant\n%s", all, want)
			}
		})
	}
	gone := errors.New("gone")
	c := cluster(t)
	_, err := Drift{Cluster: c, Has: func(string, KubeletFlag) bool { return true },
		Kept: func(string) ([]byte, error) { return nil, gone }}.Lost()
	if !errors.Is(err, gone) {
		t.Error(err)
	}
}
