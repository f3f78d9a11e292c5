// Package takeover understands a cluster that kubeadm has made: from what its API server says and what lies on its
// control planes follow the deploy.yaml that describes it, the CAs and keys that the control host needs, and what of it
// Eggo cannot keep; and what of the services of the original eggo would be lost when ours take their places. It asks no
// node and no API server, and imports no other package of phases.
package takeover

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Cluster is what was read of one.
type Cluster struct {
	Config     string // ClusterConfiguration, of the ConfigMap kubeadm-config
	Proxy      string // KubeProxyConfiguration, of the ConfigMap kube-proxy
	Kubelet    string // KubeletConfiguration, of the ConfigMap kubelet-config
	Nodes      []corev1.Node
	DaemonSets []string // their names
	DNS        DNS
	Servers    []Server
}

// DNS is CoreDNS as it runs in the cluster.
type DNS struct {
	Address  string // of the Service kube-dns; "" when there is none
	Replicas int
	Corefile string
}

// Server is what lies on a control plane.
type Server struct {
	Node       string
	Manifests  map[string][]byte // static pods by the names of their files
	PKI        map[string][]byte // CAs and keys by their names in the state directory
	Encryption []byte            // the configuration of secrets at rest; nil when there is none
	Ours       []string          // components whose static pods are ours: their manifests are not read
}

// The components whose manifests kubeadm makes.
const (
	etcd       = "etcd"
	apiServer  = "kube-apiserver"
	controller = "kube-controller-manager"
	scheduler  = "kube-scheduler"
	proxy      = "kube-proxy"
	kubelet    = "kubelet"
)

// EncryptionFlag names the file with the configuration of secrets at rest.
const EncryptionFlag = "--encryption-provider-config"

// Wanted is what nobody can read from the cluster.
type Wanted struct {
	Name                 string // cluster-id
	User, Key            string
	PasswordFrom, SudoPW string            // where they come from, as deploy.yaml has it
	Port                 int               // of SSH
	Bundles              map[string]string // by architecture
}

// Taken is what a cluster comes to.
type Taken struct {
	Text     []byte            // deploy.yaml
	PKI      map[string][]byte // files of the state directory's pki
	Findings []event.Finding   // an error among them: the cluster cannot be imported
}

// Refused says whether the cluster cannot be imported.
func (t *Taken) Refused() bool {
	return slices.ContainsFunc(t.Findings, func(f event.Finding) bool { return f.Severity == event.Error })
}

// taking is the work on one cluster.
type taking struct {
	*Cluster
	want  Wanted
	out   []event.Finding
	extra map[string]map[string]string // config-extra-args by component
}

// Take works out what a cluster comes to.
func (c *Cluster) Take(w Wanted) *Taken {
	t := &taking{Cluster: c, want: w, extra: map[string]map[string]string{}}
	d := t.document()
	if d != nil {
		t.manifests()
		t.proxy()
	}
	t.kubelet()
	files, text := t.pki(), t.render(d)
	t.loads(text)
	return &Taken{Text: text, PKI: files, Findings: t.out}
}

// loads refuses what deploy.yaml cannot have together, by the key: nobody has seen the file yet.
func (t *taking) loads(text []byte) {
	if (&Taken{Findings: t.out}).Refused() {
		return
	}
	_, problems := config.Load(text, "deploy.yaml")
	for _, p := range problems {
		if p.Severity == event.Error {
			t.refuse("", "import.rejected", "key", event.Clean(p.Key), "value", event.Clean(p.Args["value"]),
				"why", p.Code)
		}
	}
}

func (t *taking) find(sev event.Severity, node, code string, kv ...string) {
	f := event.NewFault(event.ClassPreflight, code, nil, kv...)
	f.Node = node
	t.out = append(t.out, event.Finding{Host: node, Severity: sev, Fault: *f})
}

func (t *taking) refuse(node, code string, kv ...string) { t.find(event.Error, node, code, kv...) }
func (t *taking) warn(node, code string, kv ...string)   { t.find(event.Warning, node, code, kv...) }

// keep has a flag in config-extra-args.
func (t *taking) keep(component, flag, value string) {
	if t.extra[component] == nil {
		t.extra[component] = map[string]string{}
	}
	t.extra[component][flag] = value
}
