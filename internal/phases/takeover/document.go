package takeover

import (
	"bytes"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	kyaml "sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// document is a deploy.yaml, in the order of the manual.
type document struct {
	ClusterID string    `yaml:"cluster-id"`
	Username  string    `yaml:"username"`
	Key       string    `yaml:"private-key-path,omitempty"`
	Masters   []machine `yaml:"masters"`
	Nodes     []machine `yaml:"nodes"`
	Service   struct {
		CIDR    string `yaml:"cidr"`
		DNSAddr string `yaml:"dnsaddr,omitempty"`
		DNS     struct {
			Type     string `yaml:"corednstype"`
			Replicas int    `yaml:"replicas,omitempty"`
		} `yaml:"dns"`
	} `yaml:"service"`
	Network struct {
		PodCIDR string `yaml:"podcidr"`
		Plugin  string `yaml:"plugin"`
	} `yaml:"network"`
	Endpoint        string      `yaml:"apiserver-endpoint"`
	SANs            *sans       `yaml:"apiserver-cert-sans,omitempty"`
	Domain          string      `yaml:"dns-domain"`
	Runtime         string      `yaml:"runtime"`
	RuntimeEndpoint string      `yaml:"runtime-endpoint,omitempty"`
	ExtraArgs       []component `yaml:"config-extra-args,omitempty"`
	Source          source      `yaml:"package-src"`
	Eggo            own         `yaml:"eggo"`
}

type machine struct {
	Name string `yaml:"name"`
	IP   string `yaml:"ip"`
	Port int    `yaml:"port"`
	Arch string `yaml:"arch"`
}

type sans struct {
	Names []string `yaml:"dnsnames,omitempty"`
	IPs   []string `yaml:"ips,omitempty"`
}

type component struct {
	Name string            `yaml:"name"`
	Args map[string]string `yaml:"extra-args"`
}

type source struct {
	Type string `yaml:"type"`
	X86  string `yaml:"x86src,omitempty"`
	ARM  string `yaml:"armsrc,omitempty"`
}

type own struct {
	Driver       string   `yaml:"driver"`
	Imported     bool     `yaml:"imported"`
	PasswordFrom string   `yaml:"password-from,omitempty"`
	SudoPassword string   `yaml:"sudo-password-from,omitempty"`
	DNSUpstreams []string `yaml:"dns-upstreams,omitempty"`
}

// networks are what kubeadm-config says of the cluster.
type networks struct {
	Pods, Services, Domain, Endpoint, Version, Name string
	SANs                                            []string
	ExternalEtcd                                    bool
}

func (t *taking) networks() networks {
	var c struct {
		ControlPlaneEndpoint, KubernetesVersion, ClusterName string

		Networking struct{ DNSDomain, PodSubnet, ServiceSubnet string }
		APIServer  struct{ CertSANs []string }
		Etcd       struct{ External *struct{ Endpoints []string } }
	}
	if kyaml.Unmarshal([]byte(t.Config), &c) != nil {
		return networks{}
	}
	n := networks{c.Networking.PodSubnet, c.Networking.ServiceSubnet, c.Networking.DNSDomain, c.ControlPlaneEndpoint,
		c.KubernetesVersion, c.ClusterName, c.APIServer.CertSANs, c.Etcd.External != nil}
	for value, usual := range map[*string]string{&n.Domain: "cluster.local", &n.Services: "10.96.0.0/12",
		&n.Name: "kubernetes"} {
		if *value == "" {
			*value = usual
		}
	}
	return n
}

// document is the cluster as deploy.yaml has it, but for config-extra-args.
func (t *taking) document() *document {
	n := t.networks()
	if n.Version == "" {
		t.refuse("", "import.not-kubeadm")
		return nil
	}
	if m := bundle.Minor(n.Version); m < config.OldestKubeadm || m > bundle.NewestMinor {
		t.refuse("", "import.version", "version", event.Clean(n.Version), "from",
			"v1."+strconv.Itoa(config.OldestKubeadm), "to", "v1."+strconv.Itoa(bundle.NewestMinor))
	}
	if n.ExternalEtcd {
		t.refuse("", "import.external-etcd")
	}
	for _, subnet := range []string{n.Pods, n.Services} {
		if strings.Contains(subnet, ",") {
			t.refuse("", "import.dual-stack", "subnets", event.Clean(subnet))
		}
	}
	if n.Pods == "" {
		t.refuse("", "import.no-pods")
	}
	d := &document{ClusterID: t.want.Name, Username: t.want.User, Key: t.want.Key, Domain: n.Domain}
	d.Eggo = own{Driver: config.DriverKubeadm, Imported: true, PasswordFrom: t.want.PasswordFrom,
		SudoPassword: t.want.SudoPW}
	d.Service.CIDR, d.Network.PodCIDR = n.Services, n.Pods
	t.machines(d)
	d.Source.Type = "tar.gz"
	for _, m := range append(slices.Clone(d.Masters), d.Nodes...) {
		switch m.Arch {
		case "amd64":
			d.Source.X86 = t.want.Bundles[m.Arch]
		case "arm64":
			d.Source.ARM = t.want.Bundles[m.Arch]
		}
	}
	d.Endpoint = n.Endpoint
	if d.Endpoint == "" && len(d.Masters) > 0 {
		d.Endpoint = d.Masters[0].IP
	}
	if _, _, err := net.SplitHostPort(d.Endpoint); err != nil && d.Endpoint != "" {
		d.Endpoint = net.JoinHostPort(d.Endpoint, "6443") // as kubeadm takes it
	}
	t.sans(d, n.SANs)
	t.dns(d)
	t.plugin(d)
	return d
}

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// machines are the nodes of the cluster with their roles.
func (t *taking) machines(d *document) {
	for _, n := range t.Nodes {
		name := event.Clean(n.Name)
		m := machine{Name: name, IP: internalIP(n), Port: t.want.Port, Arch: n.Status.NodeInfo.Architecture}
		if m.IP == "" {
			t.refuse("", "import.no-address", "node", name)
		}
		_, master := n.Labels[controlPlaneLabel]
		closed := slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool { return x.Key == controlPlaneLabel })
		if master {
			d.Masters = append(d.Masters, m)
		}
		if !master || !closed {
			d.Nodes = append(d.Nodes, m)
		}
		t.runtime(d, n)
	}
	if len(d.Masters) == 0 {
		t.refuse("", "import.no-control-plane")
	}
}

// runtime is the container runtime of a node: that of all of them.
func (t *taking) runtime(d *document, n corev1.Node) {
	kind, _, _ := strings.Cut(n.Status.NodeInfo.ContainerRuntimeVersion, "://")
	if kind == "iSulad" {
		kind = "isulad"
	}
	switch {
	case !slices.Contains([]string{"containerd", "docker", "isulad"}, kind):
		t.refuse("", "import.runtime", "node", event.Clean(n.Name), "runtime", event.Clean(kind))
	case d.Runtime == "":
		d.Runtime = kind
	case d.Runtime != kind:
		t.refuse("", "import.runtime-differs", "node", event.Clean(n.Name), "runtime", event.Clean(kind), "other",
			d.Runtime)
	}
	socket := n.Annotations["kubeadm.alpha.kubernetes.io/cri-socket"]
	usual := []string{"", "unix:///run/containerd/containerd.sock", "unix:///var/run/containerd/containerd.sock",
		"/run/containerd/containerd.sock", "/var/run/containerd/containerd.sock", "unix:///run/cri-dockerd.sock",
		"unix:///var/run/cri-dockerd.sock", "unix:///var/run/isulad.sock", "unix:///run/isulad.sock"}
	if !slices.Contains(usual, socket) {
		t.refuse("", "import.socket", "node", event.Clean(n.Name), "socket", event.Clean(socket))
	}
}

// sans are the names that the API servers' certificates have beside those that Eggo gives them.
func (t *taking) sans(d *document, names []string) {
	var s sans
	for _, n := range names {
		switch {
		case net.ParseIP(n) != nil:
			s.IPs = append(s.IPs, n)
		case n != "":
			s.Names = append(s.Names, n)
		}
	}
	if len(s.IPs)+len(s.Names) > 0 {
		d.SANs = &s
	}
}

// dns is CoreDNS: where it forwards to is kept, other changes of its configuration are named.
func (t *taking) dns(d *document) {
	d.Service.DNS.Type, d.Service.DNS.Replicas, d.Service.DNSAddr = "pod", t.DNS.Replicas, t.DNS.Address
	if t.DNS.Address == "" {
		t.warn("", "import.no-dns")
	}
	upstreams, others := corefile(t.DNS.Corefile)
	d.Eggo.DNSUpstreams = upstreams
	if len(others) > 0 {
		t.warn("", "import.corefile", "lines", strings.Join(others, "; "))
	}
}

// plugin is the network plugin, by the name of its DaemonSet.
func (t *taking) plugin(d *document) {
	for name, plugin := range map[string]string{"kube-flannel-ds": "flannel", "calico-node": "calico", "canal": "canal",
		"cilium": "cilium", "kube-router": "kube-router", "weave-net": "weave"} {
		if slices.Contains(t.DaemonSets, name) {
			d.Network.Plugin = plugin
		}
	}
	if d.Network.Plugin == "" {
		t.refuse("", "import.plugin", "known", "flannel, calico, canal, cilium, kube-router, weave")
	}
}

// render writes the document down.
func (t *taking) render(d *document) []byte {
	if d == nil {
		return nil
	}
	for _, name := range sorted(t.extra) {
		d.ExtraArgs = append(d.ExtraArgs, component{name, t.extra[name]})
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(d) != nil { // a struct of texts: it never fails
		return nil
	}
	return b.Bytes()
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
